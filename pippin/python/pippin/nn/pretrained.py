"""Models of Pippin's architectures from a folder in the form of the Hugging Face Hub."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .. import core as mx
from .._pippin import _decoder_options, _gguf_weights
from ..utils import tree_flatten
from . import _weights
from .decoder import Decoder


def _namespace(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _namespace(one) for name, one in value.items()})
    return [_namespace(one) for one in value] if isinstance(value, list) else value


def _root(options: dict[str, Any], weights: dict[str, mx.array]) -> str:
    """The prefix of the names in the file that replaces `base`. Sets the `options` that depend on the file."""
    names = options["names"]
    embedding = f"{names['embedding']}.weight"
    for base, head in options["roots"]:
        if f"{base}.{embedding}" in weights:
            names.update(base=base, head=head)
            break
    if options["tied_without_head"] and f"{names['head']}.weight" in weights:
        options["tied"] = False
    base = names["base"]
    # Checkpoints of the bare model lack the base, or its first part.
    while base and f"{base}.{embedding}" not in weights:
        base = base.partition(".")[2]
    return base + "." if base else ""


def _in_model(options: dict[str, Any], root: str, weights: dict[str, mx.array]) -> dict[str, mx.array]:
    """The weights by the modules' names, without those that no module uses."""
    names = options["names"]
    base = names["base"] + "." if names["base"] else ""
    unused = tuple(options["other_parts"] + [root + name for name in options["unused"]])
    endings = tuple(options["ignored_endings"] + ([names["head"] + ".weight"] if options["tied"] else []))
    return {base + name[len(root):] if name.startswith(root) and not name.startswith(names["head"] + ".") else name: one
            for name, one in weights.items() if not name.endswith(endings) and not (unused and name.startswith(unused))}


def _turned(options: dict[str, Any], named: dict[str, mx.array]) -> dict[str, mx.array]:
    """The weights, with matrices stored as (in, out), as in GPT-2's files, transposed."""
    names = options["names"]
    base = names["base"] + "." if names["base"] else ""
    parts = tuple(f"{base}{names['layers']}.{i}.{layer['names'][part]}." for i, layer in enumerate(options["layers"])
                  for part in ("attention", "mlp") if layer[part]["transposed"])

    def is_turned(name: str) -> bool:
        module = name.removesuffix(".weight")
        return module != name and name.startswith(parts) and f"{module}.scales" not in named

    return {name: mx.contiguous(one.T) if parts and is_turned(name) and one.ndim == 2 else one
            for name, one in named.items()}


def _read_gguf(path: Path, options: dict[str, Any]) -> tuple[Decoder, dict[str, mx.array]]:
    """The model of a GGUF file with its weights: blocks of 32 and more become packed weights, others floats."""
    model = Decoder(_namespace(options))
    shapes = {name: one.shape for name, one in tree_flatten(model.parameters(), destination={}).items()}
    return model, _gguf_weights(path, {name: shape for name, shape in shapes.items() if len(shape) == 2})


def _read_folder(path: Path, options: dict[str, Any]) -> tuple[Decoder, dict[str, mx.array]]:
    weights = _weights.read(path)
    root = _root(options, weights)
    return Decoder(_namespace(options)), _turned(options, _in_model(options, root, weights))


def from_pretrained(path: str | os.PathLike[str], dtype: mx.Dtype | None = None) -> Decoder:
    """Returns the model in a folder, or of a GGUF file, with its weights: modules to inspect, call, modify and export.

    Weights keep the types of the checkpoint unless `dtype` is given (for floats); MLX's quantized folders and GGUF
    blocks become quantized layers. Raises UnsupportedError for models that are not decoders with attention and dense
    feed-forwards."""
    place = Path(path)
    options = _decoder_options(place)
    model, named = (_read_gguf if options["is_gguf"] else _read_folder)(place, options)
    _weights.quantize_as(model, named, {} if options["is_gguf"] else _weights.read_config(place))
    model.load_weights(list(named.items()))
    if dtype is not None:
        model.set_dtype(dtype)
    return model.eval()  # type: ignore[return-value]
