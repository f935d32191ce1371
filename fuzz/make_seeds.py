#!/usr/bin/env python3
"""Writes the seeds of the container formats into fuzz/corpus: python3 fuzz/make_seeds.py"""
import gzip
import io
import json
import pathlib
import struct
import zipfile

from form_seeds import FORM_SEEDS
from sound_seeds import SOUND_SEEDS
from tabular_seeds import TABULAR
from wire import array_type, description, doubles, feature, field, number, size_range, translated, varint

CORPUS = pathlib.Path(__file__).parent / "corpus"


def counted(text):
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text)) + text


def sequence(arrays, version=1, tokens=(7, 8), count=None, behind=b""):
    """A saved sequence; the target fills in its size and checksum."""
    out = b"PIPPINSQ" + struct.pack("<IQ64sqIQ", version, 0, b"d" * 64, 4, 1, len(tokens))
    out += struct.pack(f"<{len(tokens)}iQ", *tokens, len(arrays) if count is None else count)
    for name, numbers, content in arrays:
        out += counted(name) + struct.pack("<5Q", *numbers) + content
    return out + behind + bytes(8)


def cache_file(tokens=(5, 6, 7), first=1, rest=0, parts=(), content=240, version=1, count=None):
    """The header of a prompt cache file; the target fills in its size and checksum."""
    after = struct.pack("<64sqQ", b"a" * 64, first, len(tokens) if count is None else count)
    after += struct.pack(f"<{len(tokens)}i", *tokens)
    after += struct.pack("<QQ", 3, len(parts)) + b"".join(struct.pack("<QQ", *p) for p in parts)
    after += struct.pack("<QQQ", content, 1234, 0)
    return b"PIPPINPC" + struct.pack("<IIQQ", version, rest, 0, 32 + len(after) + content) + after


RANGED = array_type([4, 2], field(31, field(1, size_range(1, -1)) + field(1, size_range(2, 2))))
ENUMERATED = array_type([2], field(21, field(1, field(1, varint(1))) + field(1, field(1, varint(2)))) +
                        field(41, 7))
IMAGE = field(1, 8) + field(2, 4) + field(3, 20) + field(
    31, field(1, size_range(1, 9)) + field(2, size_range(1, -1)))
FEATURES = [
    feature("x", 5, RANGED), feature("e", 5, ENUMERATED, True), feature("i", 4, IMAGE),
    feature("d", 6, field(2, b"")), feature("s", 3, b""), feature("q", 7, field(1, b""))
]

# ---- coremldata.bin ----


def coreml_data(kind, version, message, target="generic"):
    return (struct.pack("<II", kind, 5) + bytes(20) + counted(target) + struct.pack("<I", version) +
            bytes(28) + counted(message) + struct.pack("<QQ", kind, 0))


FUNCTIONS = field(20, field(1, "a") + field(2, FEATURES[0]) + field(3, FEATURES[0])) + field(21, "a")

# ---- models ----


def tensor_type(shape, attributes=b""):
    return field(1, field(1, 11) + field(2, len(shape)) + b"".join(
        field(3, field(1, field(1, n))) for n in shape) + attributes)


def value(data_type, content, doc=""):
    return (field(1, doc) if doc else b"") + field(2, data_type) + field(3, content)


FLOAT = value(tensor_type([1]), field(1, field(1, field(1, struct.pack("<f", 1.5)))), "a float")
BLOB = field(2, tensor_type([16])) + field(5, field(1, "@model_path/weights/0-weight.bin") + field(2, 64))
ATTRIBUTED = tensor_type([2], field(4, field(1, "key") + field(2, FLOAT)))


def program(operation):
    block = field(3, operation) + field(2, "y")
    function = (field(1, field(1, "x") + field(2, ATTRIBUTED)) + field(2, "CoreML8") +
                field(3, field(1, "CoreML8") + field(2, block)) +
                field(4, field(1, "weight") + field(2, BLOB)))
    return field(1, 1) + field(2, field(1, "main") + field(2, function)) + field(3, "doc")


def named(name, kind):
    return field(1, name) + field(2, kind)


def model(kind, content):
    ends = [feature("x", 5, array_type([2]))], [feature("y", 5, array_type([2]))]
    return field(1, 9) + field(2, description(*ends)) + field(kind, content)


RELU = (field(1, "relu") + field(2, field(1, "x") + field(2, field(1, field(1, "x")))) +
        field(3, named("y", tensor_type([2]))) + field(5, field(1, "name") + field(2, FLOAT)))
STAGE = model(502, program(RELU))
PIPELINE = field(1, STAGE) + field(1, STAGE) + field(2, "first") + field(2, "second")

# ---- other kinds of models ----

DOUBLES = field(1, bytes([2])) + field(2, 65600)
GLM = field(1, doubles(1, [1, -2])) + doubles(2, [0.5]) + field(3, 1)
REGRESSOR = translated(300, [feature("x", 5, DOUBLES)], [feature("y", 2, b"")], GLM, field(11, "y"))
CLASSIFIER = translated(400, [feature("a", 2, b""), feature("b", 1, b"")],
                        [feature("y", 1, b""), feature("p", 6, field(1, b""))],
                        GLM + field(101, field(1, varint(-3) + varint(7))), field(11, "y") + field(12, "p"))
NMS = (field(1, field(1, 1)) + field(100, field(1, "cat") + field(1, "dog")) + number(110, 0.5) + number(111, 0.25) +
       field(200, "s") + field(201, "b") + field(202, "iou") + field(210, "t") + field(211, "c"))
SUPPRESSION = translated(610, [feature("s", 5, field(2, 65600)), feature("b", 5, field(2, 65600))],
                         [feature("t", 5, field(2, 65600)), feature("c", 5, field(2, 65600))], NMS)

# ---- metadata.json ----

ARRAY = {"name": "x", "type": "MultiArray", "dataType": "Float16", "shape": "[4, 2]", "isOptional": "1",
         "shapeRange": "[[1, -1], [2, 2]]", "shortDescription": "in"}
METADATA = [{
    "specificationVersion": 9, "modelType": {"name": "MLModelType_mlProgram"}, "version": "1",
    "userDefinedMetadata": {"key": "value"}, "defaultFunctionName": "f",
    "functions": [{"name": "f", "inputSchema": [ARRAY],
                   "outputSchema": [{"name": "y", "type": "Dictionary", "keyType": "String"}],
                   "stateSchema": [{"name": "s", "type": "State", "dataType": "Float16", "shape": "[8]"}]}]}]
IMAGES = [{
    "specificationVersion": "7",
    "inputSchema": [{"name": "i", "type": "Image", "width": "8", "height": "4", "colorspace": "RGB",
                     "enumeratedSizes": "[[8, 4], [16, 8]]"},
                    {"name": "g", "type": "Image", "colorspace": "Grayscale", "sizeRange": "[[1, 9], [1, -1]]"}],
    "outputSchema": [{"name": "y", "type": "MultiArray", "dataType": "Int32", "enumeratedShapes": "[[1], [2]]"}]}]

# ---- Manifest.json ----

MANIFEST = {"fileFormatVersion": "1.0.0", "rootModelIdentifier": "A", "itemInfoEntries": {
    "A": {"path": "com.apple.CoreML/model.mlmodel", "name": "model.mlmodel", "author": "", "description": ""},
    "B": {"path": "com.apple.CoreML/weights"}, "C": {"path": "../../x"}, "D": {"path": "/etc/passwd"}}}

# ---- npy ----


def npy(header, data, version=1):
    head = header.encode()
    size = struct.pack("<H" if version == 1 else "<I", len(head))
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + data


def header(dtype, order, shape):
    return f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n"


# ---- GGUF ----


def gguf(pairs, tensors, data, version=3, counts=None):
    """`pairs`: key, type number, bytes of the value. `tensors`: name, sizes, type number, offset."""
    count_tensors, count_pairs = counts or (len(tensors), len(pairs))
    head = b"GGUF" + struct.pack("<IQQ", version, count_tensors, count_pairs)
    for key, kind, value in pairs:
        head += counted(key) + struct.pack("<I", kind) + value
    for name, sizes, kind, offset in tensors:
        head += counted(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset)
    return head + bytes(-len(head) % 32) + data


# ---- GGML files of whisper.cpp ----

GGML_MATRICES = [("encoder.blocks.0.mlp.0.weight", (4, 2), 0, bytes(32)),
                 ("decoder.blocks.0.mlp.0.weight", (4, 2), 1, bytes(16))]


def ggml(tokens, languages=1, positions=50, tensors=GGML_MATRICES, filters=(2, 5), vocabulary=None):
    """`tensors`: name, sizes, type number, bytes."""
    plain = len(tokens) - (tokens[-1:] == ["<|endoftext|>"])
    size = plain + languages + 8 + positions + 1 if vocabulary is None else vocabulary
    out = struct.pack("<I11i", 0x67676d6c, size, positions, 2, 1, 1, 8, 2, 1, 1, filters[0], 1)
    out += struct.pack("<2i", *filters) + struct.pack(f"<{filters[0] * filters[1]}f",
                                                      *(n / 8 for n in range(filters[0] * filters[1])))
    out += struct.pack("<i", len(tokens))
    out += b"".join(struct.pack("<I", len(token)) + token.encode() for token in tokens)
    for name, sizes, kind, data in tensors:
        out += struct.pack(f"<{3 + len(sizes)}i", len(sizes), len(name), kind, *reversed(sizes)) + name.encode() + data
    return out


BYTES_OF_GGML = ["a", "b", "ab", " ", "é"]

GGUF_PAIRS = [("general.name", 8, counted("a")), ("x", 6, struct.pack("<f", 1.5)),
              ("words", 9, struct.pack("<IQ", 8, 2) + counted("b") + counted("c")),
              ("ids", 9, struct.pack("<IQ3i", 5, 3, 1, 2, 3))]


def gguf_value(value):
    """Returns the type number of a value, and its bytes."""
    if isinstance(value, str):
        return 8, counted(value)
    if isinstance(value, bool):
        return 7, bytes([value])
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, bytes):
        return 9, struct.pack("<IQ", 0, len(value)) + value
    if isinstance(value, list):
        kind = gguf_value(value[0])[0]
        return 9, struct.pack("<IQ", kind, len(value)) + b"".join(gguf_value(one)[1] for one in value)
    return 4, struct.pack("<I", value)


def gguf_encoder(architecture, sizes, tokenizer, tensors=()):
    pairs = {"general.architecture": architecture}
    pairs.update({f"{architecture}.{key}": value for key, value in sizes.items()})
    pairs.update({f"tokenizer.ggml.{key}": value for key, value in tokenizer.items()})
    matrices = [(name, (4, 2), 0, 0) for name in ("token_embd.weight", *tensors)]
    return gguf([(key, *gguf_value(value)) for key, value in pairs.items()], matrices, bytes(32))


def gguf_tower(projector, sizes, tensors):
    pairs = {"general.architecture": "clip", "clip.has_vision_encoder": True, "clip.projector_type": projector}
    pairs.update({f"clip.vision.{key}": value for key, value in sizes.items()})
    return gguf([(key, *gguf_value(value)) for key, value in pairs.items()], [(name, (4, 4), 0, 0) for name in tensors],
                bytes(64))


TOWER_SIZES = {"image_size": 8, "patch_size": 2, "embedding_length": 8, "feed_forward_length": 8, "block_count": 2,
               "attention.head_count": 2, "attention.layer_norm_epsilon": 1e-6, "is_deepstack_layers": [False, False],
               "image_mean": [0.5, 0.5, 0.5]}
ENCODER_SIZES = {"embedding_length": 4, "feed_forward_length": 8, "block_count": 1, "attention.head_count": 2,
                 "context_length": 8, "attention.layer_norm_epsilon": 1e-12, "pooling_type": 1}
T5_SIZES = {**ENCODER_SIZES, "attention.key_length": 2, "attention.layer_norm_rms_epsilon": 1e-6,
            "attention.relative_buckets_count": 32, "decoder_block_count": 1}
WORD_PIECES = {"model": "bert", "tokens": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581the", "s", "\u2581Cat"],
               "token_type": [3, 3, 3, 3, 1, 1, 1], "cls_token_id": 2, "seperator_token_id": 3}
UNIGRAM = {"model": "t5", "tokens": ["<pad>", "</s>", "<unk>", "\u2581", "a", "<0x41>"],
           "scores": [0.0, 0.0, 0.0, -1.0, -2.5, -3.0], "token_type": [3, 3, 2, 1, 1, 6],
           "precompiled_charsmap": struct.pack("<II", 4, 0) + b"x\0", "add_bos_token": True, "bos_token_id": 0,
           "add_eos_token": True, "eos_token_id": 1, "remove_extra_whitespaces": True}

# ---- meta.yaml ----

META_YAML = """# ANEMLL
model_info:
  name: anemll-x-ctx512
  version: 0.3.5
  description: |
    Two lines
  parameters:
    context_length: 512
    lut_ffn: none
    lut_lmhead: "6"
    argmax_in_model: true
    lm_head_chunk_sizes: [16, 0x10, 1e3, -1, .5]
    recommended_sampling: {do_sample: yes, temperature: 0.6, top_k: ~}
    functions:
      - infer
      - prefill
"""

# ---- zip ----


def archive(*entries):
    """Entries are (name, content, deflated, Unix mode)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content, deflated, mode in entries:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
            file.writestr(info, content)
    return out.getvalue()


# ---- tokenizer files ----


def piece(text, score, kind=1):
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind))


def sentencepiece(kind, extra=b"", **spec):
    specials = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
    words = [piece(text, -i) for i, text in enumerate(["\u2581", "l", "e", "o", "ll", "el", "\u2581l", "lo"])]
    raw = [piece(f"<0x{i:02X}>", 0, 6) for i in range(256)]
    rules = field(3, 1) + field(4, 1) + extra
    return specials + b"".join(raw + words) + field(2, field(3, kind) + field(35, 1)) + field(3, rules)


SAVED_KEYS = ("keys", (2, 4, 0, 2, 3), bytes(range(12)))  # groups, rows, first, filled, bytes per row
SAVED_REST = ("rest", (1, 1, 0, 1, 5), b"rest.")
def gzipped(content, name):
    out = io.BytesIO()
    with gzip.GzipFile(name, "wb", 9, out, mtime=0) as file:
        file.write(content)
    return out.getvalue()


SEEDS = {
    "tokenizer_files/bpe.model": sentencepiece(2),
    "tokenizer_files/unigram.model": sentencepiece(1),
    "tokenizer_files/charsmap.model": sentencepiece(1, field(2, struct.pack("<II", 4, 1) + b"ab\0")),
    "tokenizer_files/words.model": sentencepiece(3),
    "tokenizer_files/ranks.tiktoken": b"YQ== 0\nYg== 1\nYWI= 2\n",
    "tokenizer_files/merges": b'{"l": 0, "o": 1, "lo": 2, "\xc4\xa0": 3}\0#version: 0.2\nl o\n',
    "coreml_data/features.bin": coreml_data(502, 9, description(FEATURES[:4], FEATURES[4:])),
    "coreml_data/functions.bin": coreml_data(502, 9, FUNCTIONS),
    "coreml_data/pipeline.bin": coreml_data(202, 7, description(FEATURES[:1], FEATURES[:1]),
                                            "generic.model0v7.0.0generic.model1v7.0.0generic"),
    "coreml_data/names.bin": struct.pack("<Q", 2) + counted("first") + counted("second"),
    "coreml_data/whole.bin": struct.pack("<II20xQ4sI28x", 300, 1, 4, b"spec", 1) + REGRESSOR,
    "coreml_data/other.bin": coreml_data(500, 4, b""),
    "mlmodel/pipeline.mlmodel": model(202, PIPELINE),
    "mlmodel/classifier.mlmodel": model(200, field(1, PIPELINE)),
    "mlmodel/features.mlmodel": field(1, 7) + field(2, description(FEATURES[:3], FEATURES[3:])) +
                                field(502, program(RELU)),
    "mlmodel/nested.mlmodel": model(202, field(1, model(201, field(1, PIPELINE)))),
    "mlmodel/other_stage.mlmodel": model(202, field(1, STAGE) + field(1, model(403, b"")) +
                                         field(2, "a") + field(2, "b")),
    "mlmodel/glm_regressor.mlmodel": REGRESSOR,
    "mlmodel/glm_classifier.mlmodel": CLASSIFIER,
    "mlmodel/suppression.mlmodel": translated(
        202, [feature("s", 5, field(2, 65600)), feature("b", 5, field(2, 65600)), feature("iou", 2, b"")],
        [feature("t", 5, field(2, 65600))], field(1, SUPPRESSION)),
    "metadata/functions.json": json.dumps(METADATA, indent=1).encode(),
    "metadata/images.json": json.dumps(IMAGES).encode(),
    "manifest/paths.json": json.dumps(MANIFEST).encode(),
    "manifest/version.json": json.dumps({**MANIFEST, "fileFormatVersion": "1.2.0"}).encode(),
    "manifest/root.json": json.dumps({**MANIFEST, "rootModelIdentifier": "X"}).encode(),
    "yaml/meta.yaml": META_YAML.encode(),
    "yaml/aliases.yaml": b"a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "yaml/deep.yaml": b"[" * 40 + b"]" * 40,
    "yaml/keys.yaml": b"? [1, 2]\n: {3: 4}\n'': 5\n--- \n!!int 6\n",
    "unzip/model.zip": archive(("m.mlmodelc/", b"", False, 0o40755),
                               ("m.mlmodelc/model.mil", b"program(1.0) {}" * 9, True, 0o100644),
                               ("__MACOSX/m", b"x", False, 0)),
    "unzip/leaves.zip": archive(("a/../../x", b"1", False, 0o100644)),
    "unzip/link.zip": archive(("a", b"/etc", False, 0o120777)),
    "unzip/clash.zip": archive(("a", b"1", False, 0), ("a/b", b"2", False, 0), ("./a", b"3", False, 0)),
    "unzip/named.gz": gzipped(b"program(1.0) {}" * 9, "model.mil"),
    "unzip/wrong_size.gz": gzipped(b"abc" * 40, "")[:-4] + b"\1\0\0\0",
    "unzip/empty.gz": gzipped(b"", ""),
    "cache_file/rows": cache_file(),
    "cache_file/rest": cache_file(first=3, rest=1, parts=[(0, 4), (2, 2)], content=99),
    "cache_file/behind_its_tokens": cache_file(first=4),
    "cache_file/no_tokens": cache_file(tokens=(), first=0),
    "cache_file/many_tokens": cache_file(count=1 << 61),
    "cache_file/too_few_tokens": cache_file(count=1 << 10),
    "cache_file/large": cache_file(content=1 << 62),
    "cache_file/version": cache_file(version=2),
    "sequence/whole": sequence([SAVED_KEYS, SAVED_REST]),
    "sequence/later_rows": sequence([("keys", (2, 4, 1, 3, 3), bytes(range(18))), SAVED_REST]),
    "sequence/no_rows": sequence([("keys", (2, 4, 4, 0, 3), b""), SAVED_REST], tokens=()),
    "sequence/rows_past_the_end": sequence([("keys", (2, 4, 3, 2, 3), bytes(12)), SAVED_REST]),
    "sequence/other_arrays": sequence([SAVED_REST, SAVED_KEYS]),
    "sequence/overflow": sequence([("keys", (1 << 33, 4, 0, 1 << 33, 3), b""), SAVED_REST]),
    "sequence/many_arrays": sequence([SAVED_KEYS], count=1 << 60),
    "sequence/behind": sequence([SAVED_KEYS, SAVED_REST], behind=b"more"),
    "sequence/version": sequence([SAVED_KEYS, SAVED_REST], version=2),
    "ggml/several_languages": ggml(BYTES_OF_GGML, 3),
    "ggml/english": ggml([*BYTES_OF_GGML, "<|endoftext|>"], 0),
    "ggml/blocks": ggml(["a"], tensors=[*GGML_MATRICES, ("decoder.ln.bias", (32,), 8, bytes(34)),
                                        ("encoder.conv1.bias", (2, 1), 0, bytes(8))]),
    "ggml/no_tensors": ggml(["a"], tensors=[]),
    "ggml/no_tokens": ggml([], 1),
    "ggml/one_bin": ggml(["a"], filters=(1, 1)),
    "ggml/half_a_second": ggml(["a"], positions=25),
    "ggml/vocabulary": ggml(["a"], vocabulary=51865),
    "gguf/plain": gguf(GGUF_PAIRS, [("w", (4, 2), 0, 0), ("h", (3,), 1, 32)], bytes(40)),
    "gguf/quantized": gguf([], [("a.weight", (32, 2), 2, 0), ("b.weight", (32,), 8, 64)], bytes(128)),
    "gguf/part_of_a_block": gguf([], [("a", (16,), 2, 0)], bytes(18)),
    "gguf/many_tensors": gguf([], [], b"", counts=(1 << 60, 0)),
    "gguf/many_elements": gguf([("ids", 9, struct.pack("<IQ", 5, 1 << 61))], [], b""),
    "gguf/past_the_end": gguf([], [("a", (1 << 40, 1 << 20), 0, 1 << 63)], b""),
    "gguf/twice": gguf([], [("a", (1,), 0, 0), ("a", (1,), 0, 0)], bytes(4)),
    "gguf/version": gguf([], [], b"", version=1),
    "gguf_model/bert": gguf_encoder("bert", ENCODER_SIZES, WORD_PIECES, ["token_types.weight"]),
    "gguf_model/bert_scores": gguf_encoder("bert", {**ENCODER_SIZES, "pooling_type": 4}, UNIGRAM, ["cls.output.weight"]),
    "gguf_model/nomic_bert": gguf_encoder("nomic-bert", {**ENCODER_SIZES, "rope.freq_base": 1000.0}, WORD_PIECES),
    "gguf_model/vision_tower": gguf_tower("qwen3vl_merger", TOWER_SIZES, ["mm.2.weight", "v.position_embd.weight"]),
    "gguf_model/t5": gguf_encoder("t5", T5_SIZES, UNIGRAM, ["enc.blk.0.ffn_gate.weight", "output.weight"]),
    "gguf_model/t5encoder": gguf_encoder("t5encoder", T5_SIZES, UNIGRAM, ["enc.blk.1.attn_rel_b.weight"]),
    "npy/f4.npy": npy(header("<f4", "False", "(2, 3)"), struct.pack("<6f", *range(6))),
    "npy/fortran.npy": npy(header("<i2", "True", "(2, 3)"), struct.pack("<6h", *range(6))),
    "npy/bool_v2.npy": npy(header("|b1", "False", "(3,)"), b"\0\1\2", 2),
    "npy/scalar_v3.npy": npy(header("<f8", "False", "()"), struct.pack("<d", 0.5), 3),
    "npy/half.npy": npy(header("<f2", "False", "(0, 5)"), b""),
    "npy/overflow.npy": npy(header("<u8", "False", "(4294967296, 4294967296, 2)"), b""),
}



def coreml_llm_bundle(values=bytes(range(250, 256)), scales=struct.pack("<2e", 0.5, 2), angles=None, **changed):
    """model_config.json, a table of 2 rows of 3, and angles of 4 positions; the target splits them."""
    config = {"architecture": "gemma4", "hidden_size": 3, "context_length": 4, "sliding_window": 2, "vocab_size": 2,
              "num_hidden_layers": 1, "per_layer_dim": 2, "embed_scale": 1.5, **changed}
    if angles is None:
        angles = npy(header("<f2", "False", "(4, 2)"), struct.pack("<8e", *range(8)))
    parts = b"".join(struct.pack("<H", len(part)) + part for part in (values, scales))
    return json.dumps(config).encode() + b"\0" + parts + angles


SEEDS.update({
    "coreml_llm/plain": coreml_llm_bundle(),
    "coreml_llm/short_table": coreml_llm_bundle(values=bytes(5)),
    "coreml_llm/overflow": coreml_llm_bundle(vocab_size=1 << 24, hidden_size=1 << 24),
    "coreml_llm/infinite_factor": coreml_llm_bundle(embed_scale=1e39),
    "coreml_llm/architecture": coreml_llm_bundle(architecture="qwen3"),
    "coreml_llm/one_axis": coreml_llm_bundle(angles=npy(header("<f4", "False", "(2,)"), bytes(8))),
    "coreml_llm/no_rows": coreml_llm_bundle(angles=npy(header("<f4", "False", "(0, 2)"), b"")),
})
SEEDS.update(TABULAR)
SEEDS.update(SOUND_SEEDS)
SEEDS.update(FORM_SEEDS)
for name, content in SEEDS.items():
    path = CORPUS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
print(f"{len(SEEDS)} seeds")
