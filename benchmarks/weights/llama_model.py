"""Small Llamas as NumPy arrays: their checkpoints, what their weights multiply, and the same models with padded sizes."""

import json
import shutil
import struct
from pathlib import Path

import numpy as np

TYPES = {"F32": np.float32, "F16": np.float16}


def read_safetensors(folder):
    data = (Path(folder) / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = np.frombuffer(data[8 + size + begin:8 + size + end], TYPES[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"]).astype(np.float32)
    return tensors


def write_folder(source, tensors, folder):
    """`source` with other weights, in fp32."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in Path(source).iterdir():
        if file.is_file() and file.name != "model.safetensors":
            shutil.copyfile(file, folder / file.name)
            (folder / file.name).chmod(0o644)
    header, offset = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [offset, offset + values.size * 4]}
        offset += values.size * 4
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(np.ascontiguousarray(values, np.float32).tobytes())


class Llama:
    def __init__(self, folder):
        self.config = json.loads((Path(folder) / "config.json").read_text())
        self.tensors = read_safetensors(folder)
        self.heads = self.config["num_attention_heads"]
        self.kv_heads = self.config["num_key_value_heads"]
        self.head_size = self.config.get("head_dim") or self.config["hidden_size"] // self.heads
        self.layers = self.config["num_hidden_layers"]

    def norm(self, x, name):
        scale = 1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + self.config["rms_norm_eps"])
        return x * scale * self.tensors[name]

    def rotate(self, x):
        half = self.head_size // 2
        angle = np.arange(x.shape[0])[:, None] * self.config["rope_theta"] ** (-np.arange(half) / half)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def logits(self, ids, see=lambda name, inputs: None):
        """`see` gets the inputs of each matrix, by its name."""
        def times(x, name):
            see(name, x)
            return x @ self.tensors[name].T

        count = len(ids)
        mask = np.triu(np.full((count, count), -np.inf), 1)
        h = self.tensors["model.embed_tokens.weight"][ids].astype(np.float64)
        for layer in range(self.layers):
            at = f"model.layers.{layer}."
            x = self.norm(h, at + "input_layernorm.weight")
            q, k, v = (times(x, f"{at}self_attn.{which}_proj.weight").reshape(count, -1, self.head_size)
                       for which in "qkv")
            q, k = self.rotate(q), self.rotate(k)
            k, v = (np.repeat(one, self.heads // self.kv_heads, 1) for one in (k, v))
            scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.head_size) + mask
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            mixed = np.einsum("hqk,khd->qhd", scores, v).reshape(count, -1)
            h = h + times(mixed, at + "self_attn.o_proj.weight")
            x = self.norm(h, at + "post_attention_layernorm.weight")
            gate, up = times(x, at + "mlp.gate_proj.weight"), times(x, at + "mlp.up_proj.weight")
            h = h + times(gate / (1 + np.exp(-gate)) * up, at + "mlp.down_proj.weight")
        x = self.norm(h, "model.norm.weight")
        return times(x, "model.embed_tokens.weight")


def pad(values, rows, columns):
    return np.pad(values, ((0, rows - values.shape[0]), (0, columns - values.shape[1])))


def padded(model, multiple):
    """The same function with all sizes that products sum over rounded up, by zeros; and its config."""
    def up(size):
        return -(-size // multiple) * multiple

    config, old = dict(model.config), model.config
    width, wide = up(old["hidden_size"]), up(old["intermediate_size"])
    if width == old["hidden_size"] and wide == old["intermediate_size"]:
        return model.tensors, config
    # More heads of zeros, as many times the groups of heads that share keys.
    sharing = model.heads // model.kv_heads
    kv_heads = model.kv_heads
    while kv_heads * sharing * model.head_size % multiple:
        kv_heads += 1
    queries, keys = kv_heads * sharing * model.head_size, kv_heads * model.head_size
    rows = {"q_proj": queries, "k_proj": keys, "v_proj": keys, "o_proj": width, "gate_proj": wide, "up_proj": wide,
            "down_proj": width}
    columns = {"o_proj": queries, "down_proj": wide}
    tensors = {}
    for name, values in model.tensors.items():
        kind = name.split(".")[-2]
        if values.ndim == 1:
            # A norm's mean now has more terms.
            tensors[name] = np.pad(values, (0, width - len(values))) * np.float32(np.sqrt(old["hidden_size"] / width))
        else:
            tensors[name] = pad(values, rows.get(kind, len(values)), columns.get(kind, width))
    config.update(hidden_size=width, intermediate_size=wide, num_attention_heads=kv_heads * sharing,
                  num_key_value_heads=kv_heads, head_dim=model.head_size,
                  rms_norm_eps=old["rms_norm_eps"] * old["hidden_size"] / width)
    return tensors, config
