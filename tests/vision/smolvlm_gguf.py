"""Writes a SmolVLM with random weights as a Hugging Face folder and as llama.cpp's two files, and a picture.

    smolvlm_gguf.py FOLDER [SHAPE]      writes FOLDER/model, FOLDER/model-f16.gguf, FOLDER/mmproj-model-f16.gguf and
                                        FOLDER/picture.png, of 2 x 2 tiles; SHAPE: tiny, or 256m, SmolVLM-256M's
"""

import json
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speech"))
from smolvlm_folder import write_png
from whisper_folder import byte_characters


@dataclass
class Shape:
    width: int = 64  # of the language model
    inner: int = 96
    heads: int = 4
    keys: int = 2
    layers: int = 2
    vocabulary: int = 320
    sight: int = 48  # of the vision tower
    sight_inner: int = 96
    sight_heads: int = 4
    sight_layers: int = 2
    tile: int = 32
    patch: int = 4
    scale: int = 2

    @property
    def rows(self):  # of a tile
        return (self.tile // self.patch // self.scale) ** 2


SHAPES = {"tiny": Shape(), "256m": Shape(576, 1536, 9, 3, 30, 49280, 768, 3072, 12, 12, 512, 16, 4)}
SPECIAL = ["<s>", "</s>", "<image>", "<fake_token_around_image>", "<global-img>",
           *(f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5))]
NEWLINE = chr(0x10A)  # of byte-level BPE
CONTEXT = 8192
TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


def tokens(shape):
    known = [*byte_characters(), 2 * NEWLINE, *SPECIAL]
    return known + [f"<unused_{i}>" for i in range(shape.vocabulary - len(known))]


def make_weights(shape, random):
    """Name of the folder, name of the file, values; those of one axis are float32, others float16."""
    def matrix(name, own, *dims, scale=1.0):
        count = int(np.prod(dims[1:]))
        values = random.standard_normal(dims, np.float32) * np.float32(scale / np.sqrt(count))
        return name + ".weight", own + ".weight", values.astype(np.float16)

    def vector(name, own, size, around=0.0):
        return name, own, (around + 0.1 * random.standard_normal(size)).astype(np.float32)

    def linear(name, own, outputs, inputs):
        return [matrix(name, own, outputs, inputs), vector(name + ".bias", own + ".bias", outputs)]

    def norm(name, own, size, bias=True):
        both = [vector(name + ".weight", own + ".weight", size, 1.0), vector(name + ".bias", own + ".bias", size)]
        return both if bias else both[:1]

    text, sight, head = "model.text_model", "model.vision_model", shape.width // shape.heads
    yield matrix(text + ".embed_tokens", "token_embd", shape.vocabulary, shape.width, scale=shape.width**0.5)
    for i in range(shape.layers):
        name, own = f"{text}.layers.{i}", f"blk.{i}"
        yield from norm(name + ".input_layernorm", own + ".attn_norm", shape.width, False)
        yield from norm(name + ".post_attention_layernorm", own + ".ffn_norm", shape.width, False)
        yield matrix(name + ".self_attn.q_proj", own + ".attn_q", shape.heads * head, shape.width)
        yield matrix(name + ".self_attn.k_proj", own + ".attn_k", shape.keys * head, shape.width)
        yield matrix(name + ".self_attn.v_proj", own + ".attn_v", shape.keys * head, shape.width)
        yield matrix(name + ".self_attn.o_proj", own + ".attn_output", shape.width, shape.heads * head)
        yield matrix(name + ".mlp.gate_proj", own + ".ffn_gate", shape.inner, shape.width)
        yield matrix(name + ".mlp.up_proj", own + ".ffn_up", shape.inner, shape.width)
        yield matrix(name + ".mlp.down_proj", own + ".ffn_down", shape.width, shape.inner)
    yield from norm(text + ".norm", "output_norm", shape.width, False)
    yield matrix("lm_head", "output", shape.vocabulary, shape.width)
    yield matrix("model.connector.modality_projection.proj", "mm.model.fc", shape.width, shape.sight * shape.scale**2)
    patches = sight + ".embeddings.patch_embedding"
    yield matrix(patches, "v.patch_embd", shape.sight, 3, shape.patch, shape.patch, scale=3.0)
    yield vector(patches + ".bias", "v.patch_embd.bias", shape.sight)
    name, _, values = matrix(sight + ".embeddings.position_embedding", "", (shape.tile // shape.patch) ** 2, shape.sight)
    yield name, "v.position_embd.weight", values.astype(np.float32)
    for i in range(shape.sight_layers):
        name, own = f"{sight}.encoder.layers.{i}", f"v.blk.{i}"
        yield from norm(name + ".layer_norm1", own + ".ln1", shape.sight)
        yield from norm(name + ".layer_norm2", own + ".ln2", shape.sight)
        for part, other in (("q_proj", "attn_q"), ("k_proj", "attn_k"), ("v_proj", "attn_v"), ("out_proj", "attn_out")):
            yield from linear(f"{name}.self_attn.{part}", f"{own}.{other}", shape.sight, shape.sight)
        yield from linear(name + ".mlp.fc1", own + ".ffn_up", shape.sight_inner, shape.sight)
        yield from linear(name + ".mlp.fc2", own + ".ffn_down", shape.sight, shape.sight_inner)
    yield from norm(sight + ".post_layernorm", "v.post_ln", shape.sight)


def config(shape):
    return {
        "architectures": ["SmolVLMForConditionalGeneration"], "model_type": "smolvlm", "scale_factor": shape.scale,
        "image_token_id": tokens(shape).index("<image>"), "tie_word_embeddings": False,
        "text_config": {
            "model_type": "llama", "vocab_size": shape.vocabulary, "hidden_size": shape.width,
            "intermediate_size": shape.inner, "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.keys, "hidden_act": "silu", "rms_norm_eps": 1e-5,
            "max_position_embeddings": CONTEXT, "rope_theta": 100000.0, "tie_word_embeddings": False},
        "vision_config": {
            "model_type": "smolvlm_vision", "hidden_size": shape.sight, "intermediate_size": shape.sight_inner,
            "image_size": shape.tile, "patch_size": shape.patch, "num_hidden_layers": shape.sight_layers,
            "num_attention_heads": shape.sight_heads, "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6},
    }


def write_folder(folder, shape, weights):
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    names = tokens(shape)
    added = [{"id": names.index(token), "content": token, "special": True, "normalized": False, "lstrip": False,
              "rstrip": False, "single_word": False} for token in SPECIAL]
    files = {
        "config.json": config(shape),
        "tokenizer.json": {
            "version": "1.0", "added_tokens": added, "pre_tokenizer": level, "decoder": level,
            "model": {"type": "BPE", "merges": [[NEWLINE, NEWLINE]],
                      "vocab": {token: i for i, token in enumerate(names)}}},
        "tokenizer_config.json": {"eos_token": "</s>", "chat_template": TEMPLATE},
        "processor_config.json": {"processor_class": "SmolVLMProcessor", "image_seq_len": shape.rows},
        "preprocessor_config.json": {
            "image_processor_type": "SmolVLMImageProcessor", "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
            "max_image_size": {"longest_edge": shape.tile}, "size": {"longest_edge": 2 * shape.tile}}}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    header, offset = {}, 0
    for name, _, values in weights:
        header[name] = {"dtype": "F16" if values.dtype == np.float16 else "F32", "shape": list(values.shape),
                        "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, values in weights:
            file.write(values.tobytes())


def gguf_text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf_value(value):
    kinds = {bool: (7, "?"), int: (4, "I"), float: (6, "f")}
    if isinstance(value, str):
        return 8, gguf_text(value)
    if isinstance(value, list):
        if isinstance(value[0], int):  # llama.cpp reads types of tokens as signed numbers
            return 9, struct.pack(f"<IQ{len(value)}i", 5, len(value), *value)
        own = [gguf_value(one) for one in value]
        return 9, struct.pack("<IQ", own[0][0], len(own)) + b"".join(data for _, data in own)
    kind, code = kinds[type(value)]
    return kind, struct.pack("<" + code, value)


def write_gguf(path, metadata, weights):
    def filled(data):
        return data + b"\0" * (-len(data) % 32)

    head = b"GGUF" + struct.pack("<IQQ", 3, len(weights), len(metadata))
    for key, value in metadata.items():
        kind, data = gguf_value(value)
        head += gguf_text(key) + struct.pack("<I", kind) + data
    offset = 0
    for name, values in weights:
        head += gguf_text(name) + struct.pack("<I", values.ndim) + struct.pack(f"<{values.ndim}Q", *values.shape[::-1])
        head += struct.pack("<IQ", 1 if values.dtype == np.float16 else 0, offset)
        offset += (values.nbytes + 31) // 32 * 32
    with path.open("wb") as file:
        file.write(filled(head))
        for _, values in weights:
            file.write(filled(values.tobytes()))


def with_pairs(values, heads):
    """Rows half a head apart next to each other, as llama.cpp rotates them."""
    rows = values.reshape(heads, 2, -1, values.shape[1])
    return np.ascontiguousarray(rows.swapaxes(1, 2)).reshape(values.shape)


def write_language(path, shape, weights):
    names = tokens(shape)
    metadata = {
        "general.architecture": "llama", "general.name": "random", "llama.block_count": shape.layers,
        "llama.context_length": CONTEXT, "llama.embedding_length": shape.width, "llama.feed_forward_length": shape.inner,
        "llama.attention.head_count": shape.heads, "llama.attention.head_count_kv": shape.keys,
        "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 100000.0,
        "llama.rope.dimension_count": shape.width // shape.heads, "llama.vocab_size": shape.vocabulary,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": names,
        # Control, unused and normal tokens.
        "tokenizer.ggml.token_type": [3 if t in SPECIAL else 5 if t.startswith("<unused") else 1 for t in names],
        "tokenizer.ggml.merges": [f"{NEWLINE} {NEWLINE}"], "tokenizer.ggml.bos_token_id": names.index("<s>"),
        "tokenizer.ggml.eos_token_id": names.index("</s>"), "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE}
    own = []
    for _, name, values in weights:
        if not name.startswith(("v.", "mm.")):
            heads = shape.heads if ".attn_q." in name else shape.keys if ".attn_k." in name else 0
            own.append((name, with_pairs(values, heads) if heads else values))
    write_gguf(path, metadata, own)


def write_projector(path, shape, weights):
    metadata = {
        "general.architecture": "clip", "clip.has_vision_encoder": True, "clip.projector_type": "idefics3",
        "clip.use_gelu": True, "clip.vision.image_size": shape.tile, "clip.vision.patch_size": shape.patch,
        "clip.vision.embedding_length": shape.sight, "clip.vision.feed_forward_length": shape.sight_inner,
        "clip.vision.block_count": shape.sight_layers, "clip.vision.attention.head_count": shape.sight_heads,
        "clip.vision.attention.layer_norm_epsilon": 1e-6, "clip.vision.projection_dim": shape.width,
        "clip.vision.projector.scale_factor": shape.scale, "clip.vision.preproc_image_size": 2 * shape.tile,
        "clip.vision.image_mean": [0.5] * 3, "clip.vision.image_std": [0.5] * 3}
    write_gguf(path, metadata, [(name, values) for _, name, values in weights if name.startswith(("v.", "mm."))])


def write_picture(path, shape):
    """Smooth, so that all filters give almost the same smaller picture."""
    side = np.linspace(0, 1, 2 * shape.tile)
    x, y = np.meshgrid(side, side)
    write_png(path, (255 * np.stack([x, y, (1 - x) * y], -1)).round().astype(np.uint8))


def write_all(folder, shape, seed=1):
    weights = list(make_weights(shape, np.random.default_rng(seed)))
    write_folder(folder / "model", shape, weights)
    write_language(folder / "model-f16.gguf", shape, weights)
    write_projector(folder / "mmproj-model-f16.gguf", shape, weights)
    write_picture(folder / "picture.png", shape)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]), SHAPES[sys.argv[2] if len(sys.argv) > 2 else "tiny"])
