"""Loads and saves a module's weights by name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable

from .. import core as mx
from ..utils import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from .module import Module

_NAMES_SHOWN = 8


def read_config(folder: Path) -> dict[str, Any]:
    file = folder / "config.json"
    if not file.is_file():
        return {}
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{file}: a {type(config).__name__} where an object belongs")
    return config


def _weight_files(folder: Path) -> list[Path]:
    """The files in the index, else all files of the first kind that exists."""
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{index}: no weight_map from names to files ({error})") from None
        if any(not isinstance(name, str) or Path(name).name != name for name in names):
            raise ValueError(f"{index}: weight_map has files that are not in the folder")
        return [folder / name for name in names]
    for pattern in ("model*.safetensors", "*.safetensors", "weights*.npz", "*.npz", "*.gguf"):
        if files := sorted(folder.glob(pattern)):
            return files
    raise FileNotFoundError(f"{folder}: no safetensors, npz or GGUF file in it")


def read(place: Path) -> dict[str, mx.array]:
    """The arrays of a file, or of all weight files in a folder."""
    weights: dict[str, mx.array] = {}
    for file in _weight_files(place) if place.is_dir() else [place]:
        found = mx.load(str(file))
        if not isinstance(found, dict):
            raise ValueError(f"{file}: one array without a name; weights are in npz, safetensors or GGUF files")
        if twice := weights.keys() & found.keys():
            raise ValueError(f"{file}: {min(twice)} is in another file, too")
        weights.update(found)
    return weights


def quantize_as(module: Module, weights: dict[str, mx.array], config: dict[str, Any]) -> None:
    """Quantizes the layers whose weights are quantized, that is, have scales. Shapes determine bits and group size."""
    from .quantized import quantize

    settings = config.get("quantization") or config.get("quantization_config") or {}
    if not isinstance(settings, dict):
        settings = {}

    def parameters(path: str, layer: Any) -> bool | dict[str, Any]:
        scales = weights.get(f"{path}.scales")
        packed = weights.get(f"{path}.weight")
        if scales is None or packed is None or not hasattr(layer, "to_quantized"):
            return False
        size = layer.weight.shape[-1]
        own = settings.get(path)
        mode = (own if isinstance(own, dict) else settings).get("mode", "affine")
        bits, groups = packed.shape[-1] * 32 // size, scales.shape[-1]
        if bits < 1 or groups < 1 or size % groups != 0:
            raise ValueError(f"{path}: packed weights {packed.shape} and scales {scales.shape} do not belong to a "
                             f"layer of {layer.weight.shape}")
        return {"group_size": size // groups, "bits": bits, "mode": mode}

    quantize(module, class_predicate=parameters)


def _listed(names: Iterable[str]) -> str:
    names = sorted(names)
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


def _check(module: Module, weights: dict[str, Any], where: str) -> None:
    own = tree_flatten(module.parameters(), destination={})
    if extra := weights.keys() - own.keys():
        raise ValueError(f"{where}: {len(extra)} parameters are not in the model: {_listed(extra)}")
    if missing := own.keys() - weights.keys():
        raise ValueError(f"{where}: {len(missing)} parameters are missing: {_listed(missing)}")
    for name, old in own.items():
        new = weights[name]
        if not isinstance(new, mx.array):
            raise ValueError(f"{where}: {name} is a {type(new).__name__}, no array")
        if new.shape != old.shape:
            raise ValueError(f"{where}: {name} has shape {new.shape}, the model expects {old.shape}")


def load(module: Module, source: Any, strict: bool) -> None:
    where = "load_weights"
    if isinstance(source, (str, os.PathLike)):
        place = Path(source)
        where = str(place)
        weights: dict[str, Any] = read(place)
        if place.is_dir() or place.suffix == ".gguf":
            quantize_as(module, weights, read_config(place))
    else:
        weights = dict(source)
    if strict:
        _check(module, weights, where)
    if weights:
        module.update(tree_unflatten(weights), strict=False)


def save(module: Module, file: str | os.PathLike[str]) -> None:
    path = os.fspath(file)
    weights = tree_flatten(module.parameters(), destination={})
    if path.endswith(".npz"):
        mx.savez(path, **weights)
    elif path.endswith(".safetensors"):
        mx.save_safetensors(path, weights)
    else:
        raise ValueError(f"{path}: weights are saved as .npz or .safetensors")
