"""Loading models."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _pippin
from .._errors import InvalidArgumentError, NotFoundError, UnsupportedError
from .._pippin import LanguageModel
from .models.cache import PromptCache, sequence_of
from .tokenizer_utils import TokenizerWrapper, as_tokens

__all__ = ["load", "load_config"]


def load(
    path_or_hf_repo: str | os.PathLike[str], tokenizer_config: Mapping[str, Any] | None = None,
    model_config: Mapping[str, Any] | None = None, adapter_path: str | os.PathLike[str] | None = None,
    lazy: bool = False, return_config: bool = False, revision: str | None = None,
    trust_remote_code: bool = False, *, tokenizer: str | os.PathLike[str] = "",
    chat_template: str | os.PathLike[str] = "", context: int = 0, num_threads: int = 0, adapter: str = "",
    mmproj: str | os.PathLike[str] = "", precision: str = "fast", low_memory: bool = False, load_cache: bool = True,
    backend: str = "cpu", compute_units: str = "", cache_type: str = "f16",
    lora: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[str, int, int], object] | None = None,
) -> Any:
    """Loads a model and its tokenizer from a package, a folder, org/name on the Hub, or "demo"; with
    return_config returns its configuration as a third.

    tokenizer_config may have eos_token (one or more tokens that end texts, in addition to the model's own)
    and chat_template (a text). `adapter` names one of a package's adapters; for a checkpoint's folder it is an
    adapter's folder, which is merged. `lora` are adapters' folders or GGUF files that texts add to the model, "[NAME=]PATH[:SCALE]"
    each, and adapter_path is one of them. `mmproj` is a GGUF's vision tower (by default the only one next to it, or
    its repository's), or "none". `context` is at most the model's. `backend`: "cpu", "cuda" or "cuda:1"
    (one of NVIDIA's GPUs), "auto" (a GPU that can be used, else the CPU), or "coreml" on a Mac,
    where `compute_units` are all, cpuAndNeuralEngine, cpuAndGPU or cpuOnly. `cache_type`: "f16", "q8" (keys and values in
    about half the memory) or "q4" (a quarter). `progress` is called with a repository's name, the bytes done and the
    total. Models' own code is never run, so trust_remote_code has no effect, and weights
    are always mapped. Raises NotFoundError, InvalidFileError, NetworkError, and UnsupportedError for models and options
    that Pippin lacks, by name.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo.mlpackage", context=256)
    >>> model.context
    256
    """
    name = os.fspath(path_or_hf_repo)
    if revision and not os.path.exists(name):
        name += f"@{revision}"
    if model_config:
        raise UnsupportedError("load: model_config is not taken; a model is what its files say")
    adapters = [os.fspath(one) for one in lora]
    if adapter_path is not None:
        adapters.append(os.fspath(adapter_path))
    model = LanguageModel(
        name, tokenizer=os.fspath(tokenizer), chat_template=os.fspath(chat_template), context=context,
        num_threads=num_threads, adapter=adapter, mmproj=os.fspath(mmproj), precision=precision, low_memory=low_memory,
        load_cache=load_cache, backend=backend, compute_units=compute_units, cache_type=cache_type, lora=adapters,
        progress=progress)
    wrapper = TokenizerWrapper(model, **_tokenizer_options(dict(tokenizer_config or {})))
    return (model, wrapper, load_config(name)) if return_config else (model, wrapper)


def _logits(model: LanguageModel, inputs: Any, cache: Any) -> Any:
    """model(inputs, cache)"""
    import numpy

    rows = [as_tokens(row) for row in inputs]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise InvalidArgumentError("inputs: rows of tokens have one length, above 0")
    # mlx-lm's caches are lists with one item per layer.
    if isinstance(cache, (list, tuple)) and len(cache) == 1 and isinstance(cache[0], PromptCache):
        cache = cache[0]
    sequence = None if cache is None else sequence_of(cache, "cache", model)
    if sequence is not None and len(rows) > 1:
        raise UnsupportedError("cache: it is of one row; several rows go on from none")
    result = numpy.stack([model._all_logits(row, sequence) for row in rows])
    if not type(inputs).__module__.startswith(("pippin.core", "mlx.")):
        return result
    from .. import core

    return core.array(result)


def _tokenizer_options(given: dict[str, Any]) -> dict[str, Any]:
    given.pop("trust_remote_code", None)
    options: dict[str, Any] = {}
    if "eos_token" in given:
        eos = given.pop("eos_token")
        options["eos_tokens"] = [eos] if isinstance(eos, str) else list(eos)
    if "chat_template" in given:
        options["chat_template"] = given.pop("chat_template")
    if given:
        raise UnsupportedError(f"load: tokenizer_config: {', '.join(sorted(given))}: only eos_token and chat_template "
                               "are taken; the model's own files say the rest")
    return options


def load_config(model: str | os.PathLike[str]) -> dict[str, Any]:
    """A model's config.json; for a package, its metadata.

    >>> from pippin.lm.utils import load_config
    >>> load_config("demo.mlpackage")["user_defined"]["pippin.family"]
    'stateful'
    """
    name = os.fspath(model)
    if name == "demo":
        return {}
    folder = Path(_pippin._resolve_model(name))
    if (folder / "config.json").is_file():
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return config
    try:
        metadata = _pippin._inspect(str(folder), mil=False, values=False)["metadata"]
    except (NotFoundError, KeyError):
        return {}
    return dict(metadata)
