"""Writes a model as a Hugging Face folder, and reads such a folder back."""

import json
import os
import shutil
from pathlib import Path

import safetensors_file
from llama import Config, Llama
from template import CHAT_TEMPLATE, END, PAD, SPECIAL, START
from tokenizer import Tokenizer

CARD = Path(__file__).with_name("model-card.md")


def write_json(path, content):
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def export(folder, model, tokenizer):
    """Written next to the folder and then renamed, so that a reader never sees half a model."""
    folder = Path(folder)
    new, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    bos, eos, pad = (tokenizer.ids[token] for token in (START, END, PAD))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", **model.config.to_dict(),
        "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "attention_dropout": 0.0,
        "rope_scaling": None, "tie_word_embeddings": True, "use_cache": True, "initializer_range": 0.02,
        "pretraining_tp": 1, "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad, "torch_dtype": "float16",
    }
    write_json(new / "config.json", config)
    write_json(new / "generation_config.json", {
        "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad, "do_sample": False, "max_new_tokens": 256,
    })
    write_json(new / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": START, "eos_token": END, "pad_token": PAD,
        "unk_token": None, "add_bos_token": False, "add_eos_token": False, "add_prefix_space": False,
        "clean_up_tokenization_spaces": False, "model_max_length": model.config.max_position_embeddings,
        "added_tokens_decoder": {str(index): {
            "content": token, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False,
            "special": True} for index, token in enumerate(SPECIAL)},
        "chat_template": CHAT_TEMPLATE,
    })
    tokenizer.save(new / "tokenizer.json")
    safetensors_file.write(new / "model.safetensors", model.state_dict())
    if CARD.exists():
        shutil.copy(CARD, new / "README.md")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        os.rename(folder, old)
    os.rename(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def load(folder):
    folder = Path(folder)
    config = Config.from_dict(json.loads((folder / "config.json").read_text()))
    model = Llama(config)
    model.load_state_dict(safetensors_file.read(folder / "model.safetensors"))
    return model.eval(), Tokenizer.load(folder / "tokenizer.json")
