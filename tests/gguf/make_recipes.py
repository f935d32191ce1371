#!/usr/bin/env python3
"""Writes recipes of the files that llama.cpp's converter makes from the golden checkpoints: metadata, and for each
tensor the source of its rows.

    make_recipes.py GGUF_FOLDER DATA OUT

GGUF_FOLDER has NAME.gguf, converted with --outtype f32 by llama.cpp's convert_hf_to_gguf.py from DATA/*/NAME (the
vocabulary may be any); gguf-py reads them. OUT/NAME.json has, for tests/gguf_architectures_test.cpp:

    golden      the folder below DATA
    overrides   members of config.json that the format has no place for, as the file has them
    metadata    [key, type, value]
    tensors     [name, shape, CRC-32 of the values or null, function, runs]

A run is [tensor, row, count, step] and with the function "times" a factor: rows of the checkpoint's tensor, of as many
elements as the file's tensor has, as one vector or element by element. Functions: "" (as they are), "plus" (one more),
"decay" (-exp), "times", "turned" (the matrices of the checkpoint's tensor are transposed first), "swapped" (those of the
result are transposed after), "columns" (both), "literal" (the runs are the values).
"""

import json
import sys
import zlib
from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFValueType

TYPES = {GGUFValueType.UINT32: "u32", GGUFValueType.INT32: "i32", GGUFValueType.FLOAT32: "f32",
         GGUFValueType.BOOL: "bool", GGUFValueType.STRING: "text", GGUFValueType.UINT64: "u64"}
# Metadata that a file lacks and llama.cpp's converter assumes.
OVERRIDES = {
    "gemma2": {"query_pre_attn_scalar": 16}, "gemma2_real_caps": {"query_pre_attn_scalar": 16},
    "gemma3": {"query_pre_attn_scalar": 16, "sliding_window_pattern": 6},
    "mistral_sw": {"sliding_window": None}, "mixtral_sw5": {"sliding_window": None},
    "qwen2_sw": {"use_sliding_window": False}, "qwen2_tied_layertypes": {"use_sliding_window": False},
    "qwen3_bias_sw": {"use_sliding_window": False}, "starcoder2": {"sliding_window": None},
    "smollm3_list": {"no_rope_layers": None, "no_rope_layer_interval": 4},
    "olmoe_clip": {"clip_qkv": None, "norm_topk_prob": False}, "lfm2_moe": {"routed_scaling_factor": 1.0},
    "granite_swa": {"layer_rope_theta": None}, "granitemoe_swa": {"layer_rope_theta": None},
    "bamba": {"partial_rotary_factor": 1.0}, "gpt_neox_serial": {"rope_theta": 10000, "rotary_emb_base": 10000},
    "falcon_11b": {"rope_theta": 10000.0}, "cwm": {"sliding_window": None},
    "llama4_text": {"attention_chunk_size": 8192, "floor_scale": 8192, "attn_scale": 0.1},
    "minicpm3": {"scale_emb": 12, "dim_model_base": 256},
    "phimoe": {"rope_scaling": {
        "rope_type": "longrope", "short_factor": [1.0, 1.1, 1.4, 2.0], "long_factor": [1.0, 2.5, 5.0, 8.0],
        "short_mscale": 1.1338934, "long_mscale": 1.1338934, "original_max_position_embeddings": 128}},
}


# Metadata that the converter omits or writes incorrectly.
ADDED = {"glm": [["chatglm.attention.key_length", "u32", 16], ["chatglm.context_length", "u32", 512],
                 ["chatglm.rope.dimension_count", "u32", 8]],
         "mistral4": [["mistral4.attention.temperature_scale", "f32", 0.3]]}
# Their ropes are not in the file.
LEFT_OUT = ("gemma3_default_pattern", "gemma3_ropescale")


def read_safetensors(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        for name, info in json.loads(data[8:8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = info["data_offsets"]
            raw = data[8 + size + begin:8 + size + end]
            if info["dtype"] == "BF16":
                values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
            elif info["dtype"] in ("F32", "F16"):
                values = np.frombuffer(raw, np.float32 if info["dtype"] == "F32" else np.float16).astype(np.float32)
            else:
                continue
            tensors[name] = values.reshape(info["shape"])
    return tensors


def as_matrix(tensor, columns):
    return tensor.reshape(-1, columns) if tensor.size % columns == 0 else None


class Rows:
    """Rows of all tensors by their values."""

    def __init__(self, sources, transposed):
        self.sources, self.transposed, self.tables = sources, transposed, {}

    def table(self, columns):
        if columns not in self.tables:
            table = {}
            for name, tensor in self.sources.items():
                if self.transposed:
                    if tensor.ndim < 2:
                        continue
                    tensor = np.ascontiguousarray(np.swapaxes(tensor, -1, -2))
                matrix = as_matrix(tensor, columns)
                if matrix is None:
                    continue
                for i, row in enumerate(matrix):
                    table.setdefault((row + 0.0).tobytes(), []).append((name, i))
            self.tables[columns] = table
        return self.tables[columns]

    def runs(self, matrix):
        """[tensor, row, count, step] ...; None where a row is in no tensor."""
        table, found = self.table(matrix.shape[1]), []
        for row in matrix:
            places = table.get((row + 0.0).tobytes())
            if not places:
                return None
            place = places[0]
            if found:
                name, last = found[-1]
                near = [p for p in places if p[0] == name and p[1] > last]
                place = near[0] if near else place
            found.append(place)
        return joined(found)


def joined(places):
    runs = []
    for name, row in places:
        if runs:
            run = runs[-1]
            step = row - (run[1] + (run[2] - 1) * run[3])
            if run[0] == name and (run[2] == 1 or step == run[3]) and step > 0:
                run[2], run[3] = run[2] + 1, step
                continue
        runs.append([name, row, 1, 1])
    return runs


def whole_of(values, sources):
    """A source of the same size from which the values are computed, element by element, but for rounding: -exp, or a factor for
    each row."""
    for name, source in sources.items():
        if source.size != values.size or not np.all(np.isfinite(source)):
            continue
        flat, own = values.reshape(-1), source.reshape(-1)
        if name.endswith("A_log") and np.allclose(flat, -np.exp(own), rtol=1e-5):
            return "decay", [[name, 0, values.size, 1]]
        matrix, other = as_matrix(values, values.shape[-1]), as_matrix(source, values.shape[-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = matrix / other
        factor = ratio[:, :1]
        if np.all(np.isfinite(ratio)) and np.allclose(ratio, factor, rtol=1e-4):
            runs = []
            for i, f in enumerate(float(f"{x:.7g}") for x in np.median(ratio, axis=1)):
                if runs and abs(runs[-1][4] - f) < 1e-5 * abs(f):
                    runs[-1][2] += 1
                else:
                    runs.append([name, i, 1, 1, f])
            return "times", runs
    return None, None


def recipe_of(tensor, rows, turned, sources):
    values = tensor.data.astype(np.float32).reshape([int(n) for n in reversed(tensor.shape)])
    last = values.shape[-1]
    for function in ("", "plus"):
        for width in dict.fromkeys([last, values.size, 1] if values.ndim < 3 else [last]):
            runs = rows[function].runs(as_matrix(values, width))
            if runs is not None:
                return function, runs
    if values.ndim > 1:
        swapped = np.ascontiguousarray(np.swapaxes(values, -1, -2))
        for function, table, matrix in (("columns", turned, swapped), ("turned", turned, values),
                                        ("swapped", rows[""], swapped)):
            runs = table.runs(matrix.reshape(-1, matrix.shape[-1]))
            if runs is not None:
                return function, runs
    function, runs = whole_of(values, sources)
    if function is None and values.size <= 64:
        return "literal", [float(x) for x in values.reshape(-1)]
    return function, runs


def main():
    folder, data, out = map(Path, sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.glob("*.gguf")):
        golden = next((g for part in ("architectures", "architectures2", "models2026/text", "models2026/enc")
                       if ((g := data / part / path.stem) / "golden.npz").exists()), None)
        if golden is None or path.stem in LEFT_OUT:
            continue
        reader = GGUFReader(path)
        sources = read_safetensors(golden)
        config = json.loads((golden / "config.json").read_text())
        rows = {"": Rows(sources, False), "plus": Rows({n: t + np.float32(1) for n, t in sources.items()}, False)}
        turned = Rows(sources, True)
        metadata, tensors, missing = [], [], []
        for key, field in reader.fields.items():
            if key.startswith(("GGUF.", "tokenizer.")) or (key.startswith("general.") and key != "general.architecture"):
                continue
            kind = TYPES[field.types[-1]]
            value = field.contents()
            if kind == "f32":
                def plain(x): return x if np.isfinite(x) else ("inf" if x > 0 else "-inf")
                value = [plain(x) for x in value] if isinstance(value, list) else plain(value)
            metadata.append([key, kind, value])
        for tensor in reader.tensors:
            if tensor.tensor_type != 0:
                missing.append(tensor.name)
                continue
            function, runs = recipe_of(tensor, rows, turned, sources)
            if function is None:
                missing.append(tensor.name)
                continue
            exact = function in ("", "plus", "columns", "turned", "swapped")
            crc = f"{zlib.crc32(np.ascontiguousarray(tensor.data.astype(np.float32)).tobytes()):08x}" if exact else None
            tensors.append([tensor.name, [int(n) for n in reversed(tensor.shape)], crc, function, runs])
        if missing:
            print(f"{path.stem}: no recipe for {missing[:4]} ({len(missing)})", file=sys.stderr)
            continue
        added = ADDED.get(path.stem, [])
        recipe = {"golden": str(golden.relative_to(data)), "overrides": OVERRIDES.get(path.stem, {}),
                  "metadata": [pair for pair in metadata if pair[0] not in [a[0] for a in added]] + added,
                  "tensors": tensors}
        (out / f"{path.stem}.json").write_text(json.dumps(recipe, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
