"""GGUF files: Llamas and importance matrices written, types of tensors read (version 3, ggml's docs/gguf.md)."""

import json
import struct
from pathlib import Path

import numpy as np

U32, F32, STRING, ARRAY = 4, 6, 8, 9
# ggml's types: name, elements and bytes of a block.
BLOCKS = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
          7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
          12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 16: ("IQ2_XXS", 256, 66),
          17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18),
          21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 29: ("IQ1_M", 256, 56)}
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def gguf_name(name):
    if not name.startswith("model.layers."):
        return {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}[name]
    layer, rest = name[len("model.layers."):].split(".", 1)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def encoded(value):
    if isinstance(value, str):
        return STRING, text(value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    kind = encoded(value[0])[0]
    return ARRAY, struct.pack("<IQ", kind, len(value)) + b"".join(encoded(one)[1] for one in value)


def write(path, metadata, tensors):
    """`tensors` are fp32."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = encoded(value)
        head += text(key) + struct.pack("<I", kind) + data
    offset, body = 0, b""
    for name, values in tensors.items():
        head += text(name) + struct.pack("<I", values.ndim) + struct.pack(f"<{values.ndim}Q", *reversed(values.shape))
        head += struct.pack("<IQ", 0, offset)
        data = np.ascontiguousarray(values, np.float32).tobytes()
        data += bytes(-len(data) % 32)
        body += data
        offset += len(data)
    Path(path).write_bytes(head + bytes(-len(head) % 32) + body)


def write_llama(path, tensors, config, folder):
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_size = config.get("head_dim") or config["hidden_size"] // heads
    vocabulary = json.loads((Path(folder) / "tokenizer.json").read_text())
    pieces = dict(vocabulary["model"]["vocab"])
    pieces.update({one["content"]: one["id"] for one in vocabulary.get("added_tokens", [])})
    by_id = {number: piece for piece, number in pieces.items()}
    metadata = {
        "general.architecture": "llama", "general.name": Path(folder).name,
        "llama.context_length": config["max_position_embeddings"], "llama.embedding_length": config["hidden_size"],
        "llama.block_count": config["num_hidden_layers"], "llama.feed_forward_length": config["intermediate_size"],
        "llama.attention.head_count": heads, "llama.attention.head_count_kv": kv_heads,
        "llama.attention.key_length": head_size, "llama.attention.value_length": head_size,
        "llama.rope.dimension_count": head_size, "llama.rope.freq_base": float(config["rope_theta"]),
        "llama.attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "llama.vocab_size": config["vocab_size"],
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [by_id.get(i, f"<unused{i}>") for i in range(config["vocab_size"])],
        "tokenizer.ggml.scores": [float(-i) for i in range(config["vocab_size"])],
        "tokenizer.ggml.bos_token_id": config["bos_token_id"], "tokenizer.ggml.eos_token_id": config["eos_token_id"],
    }
    written = {}
    for name, values in tensors.items():
        for which, count in (("q_proj", heads), ("k_proj", kv_heads)):
            if which in name:  # pairs of neighbours instead of halves are rotated
                values = values.reshape(count, 2, head_size // 2, -1).swapaxes(1, 2).reshape(values.shape)
        written[gguf_name(name)] = values
    write(path, metadata, written)


def write_imatrix(path, sums, counts):
    """`sums` has the sum of the squares of each input of a matrix."""
    tensors = {}
    for name, values in sums.items():
        tensors[f"{gguf_name(name)}.in_sum2"] = values.astype(np.float32)[None]
        tensors[f"{gguf_name(name)}.counts"] = np.array([[counts[name]]], np.float32)
    write(path, {"general.type": "imatrix", "imatrix.datasets": ["calibration"], "imatrix.chunk_count": 1,
                 "imatrix.chunk_size": 512}, tensors)


def tensor_types(path):
    """The type of each tensor of a file."""
    data = memoryview(Path(path).read_bytes())
    at = 8

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def take_text():
        nonlocal at
        size = take("Q")
        at += size
        return bytes(data[at - size:at]).decode()

    def skip(kind):
        nonlocal at
        if kind == STRING:
            take_text()
        elif kind == ARRAY:
            item, count = take("I"), take("Q")
            for _ in range(count):
                skip(item)
        else:
            at += {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}[kind]

    tensors, entries = take("Q"), take("Q")
    for _ in range(entries):
        take_text()
        skip(take("I"))
    types = {}
    for _ in range(tensors):
        name = take_text()
        for _ in range(take("I")):
            take("Q")
        types[name] = BLOCKS[take("I")]
        take("Q")
    return types
