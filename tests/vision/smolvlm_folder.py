"""Writes a tiny SmolVLM with random weights and a vocabulary of words, and pictures.

    smolvlm_folder.py FOLDER      writes FOLDER/model and FOLDER/picture.png, of 40 x 24 pixels
"""

import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speech"))
from whisper_folder import write_safetensors

WIDTH, INNER, HEADS, KEYS, LAYERS, CONTEXT = 32, 56, 4, 2, 2, 256  # of the language model
SIGHT, SIGHT_INNER, TILE, PATCH, SCALE = 24, 40, 16, 4, 2  # of the vision tower
ROWS = (TILE // PATCH // SCALE) ** 2  # of a tile
WORDS = ["<unk>", "<s>", "</s>", "user", "assistant", "what", "is", "this", "and", "that", "red", "blue", "a", "fox"]
SPECIAL = ["<unk>", "<s>", "</s>", "<image>", "<fake_token_around_image>", "<global-img>",
           *(f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4))]
VOCABULARY = {token: id for id, token in enumerate(dict.fromkeys([*WORDS, *SPECIAL]))}
# Parts of contents, as SmolVLM's template takes them; a text is one part.
TEMPLATE = ("<s>{% for m in messages %}{{ m.role }} {% if m.content is string %}{{ m.content }}{% else %}"
            "{% for part in m.content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}"
            "{% endfor %}{% endif %}</s>{% endfor %}{% if add_generation_prompt %}assistant{% endif %}")


def make_weights(random):
    weights = {}

    def linear(name, outputs, inputs, bias=False, scale=2.0):
        weights[name + ".weight"] = random.normal(size=(outputs, inputs)) * scale / np.sqrt(inputs)
        if bias:
            weights[name + ".bias"] = random.normal(size=outputs) * 0.1

    def norm(name, width, bias=False):
        weights[name + ".weight"] = 1 + 0.1 * random.normal(size=width)
        if bias:
            weights[name + ".bias"] = random.normal(size=width) * 0.1

    text, sight, head = "model.text_model", "model.vision_model", WIDTH // HEADS
    linear(text + ".embed_tokens", len(VOCABULARY), WIDTH, scale=WIDTH**0.5)
    for layer in range(LAYERS):
        name = f"{text}.layers.{layer}"
        norm(name + ".input_layernorm", WIDTH)
        norm(name + ".post_attention_layernorm", WIDTH)
        for part, outputs in (("q", HEADS * head), ("k", KEYS * head), ("v", KEYS * head), ("o", WIDTH)):
            linear(f"{name}.self_attn.{part}_proj", outputs, WIDTH)
        linear(name + ".mlp.gate_proj", INNER, WIDTH)
        linear(name + ".mlp.up_proj", INNER, WIDTH)
        linear(name + ".mlp.down_proj", WIDTH, INNER)
    norm(text + ".norm", WIDTH)
    linear("lm_head", len(VOCABULARY), WIDTH)
    linear("model.connector.modality_projection.proj", WIDTH, SIGHT * SCALE**2)
    patches = sight + ".embeddings.patch_embedding"
    weights[patches + ".weight"] = random.normal(size=(SIGHT, 3, PATCH, PATCH)) / 4
    weights[patches + ".bias"] = random.normal(size=SIGHT) * 0.1
    weights[sight + ".embeddings.position_embedding.weight"] = random.normal(size=((TILE // PATCH) ** 2, SIGHT)) * 0.3
    for layer in range(LAYERS):
        name = f"{sight}.encoder.layers.{layer}"
        norm(name + ".layer_norm1", SIGHT, True)
        norm(name + ".layer_norm2", SIGHT, True)
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            linear(f"{name}.self_attn.{part}", SIGHT, SIGHT, True)
        linear(name + ".mlp.fc1", SIGHT_INNER, SIGHT, True)
        linear(name + ".mlp.fc2", SIGHT, SIGHT_INNER, True)
    norm(sight + ".post_layernorm", SIGHT, True)
    return {name: values.astype(np.float32) for name, values in weights.items()}


def config():
    return {
        "architectures": ["SmolVLMForConditionalGeneration"], "model_type": "smolvlm", "scale_factor": SCALE,
        "image_token_id": VOCABULARY["<image>"], "tie_word_embeddings": False,
        "text_config": {
            "model_type": "llama", "vocab_size": len(VOCABULARY), "hidden_size": WIDTH, "intermediate_size": INNER,
            "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KEYS,
            "head_dim": WIDTH // HEADS, "hidden_act": "silu", "rms_norm_eps": 1e-6, "max_position_embeddings": CONTEXT,
            "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "tie_word_embeddings": False},
        "vision_config": {
            "model_type": "smolvlm_vision", "hidden_size": SIGHT, "intermediate_size": SIGHT_INNER, "image_size": TILE,
            "patch_size": PATCH, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "num_channels": 3,
            "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6},
    }


def tokenizer():
    added = [{"id": VOCABULARY[token], "content": token, "special": True, "normalized": False, "lstrip": False,
              "rstrip": False, "single_word": False} for token in SPECIAL]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "<unk>"}}


def preprocessor():
    return {
        "image_processor_type": "SmolVLMImageProcessor", "do_convert_rgb": True, "do_image_splitting": True,
        "do_normalize": True, "do_pad": True, "do_rescale": True, "do_resize": True, "resample": 1,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255,
        "max_image_size": {"longest_edge": TILE}, "size": {"longest_edge": 2 * TILE}}


def write_folder(folder, seed=1):
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "config.json": config(), "tokenizer.json": tokenizer(), "preprocessor_config.json": preprocessor(),
        "processor_config.json": {"processor_class": "SmolVLMProcessor", "image_seq_len": ROWS},
        "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE},
        "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2}}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    write_safetensors(folder / "model.safetensors", make_weights(np.random.default_rng(seed)))


def make_pixels(seed, height=24, width=40):
    """Noise, so that each pixel counts: uint8 [height, width, 3]."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def write_png(path, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]) / "model")
    write_png(Path(sys.argv[1]) / "picture.png", make_pixels(1))
