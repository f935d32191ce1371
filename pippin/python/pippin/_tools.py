"""The program's commands for models, with the names of its options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _pippin

__all__ = [
    "Calibrated", "Compressed", "Converted", "Pulled", "Verified", "calibrate", "compress", "convert", "inspect", "pull",
    "verify",
]

Path = str | os.PathLike[str]
Progress = Callable[[int, int], object]


@dataclass
class Converted:
    """A package, or a folder of packages, written by pippin.convert()."""

    path: str
    architecture: str
    context: int
    parameters: int
    packages: int
    bytes: int
    seconds: float
    compression: dict[str, Any] | None = None  # sizes and errors, in total and per weight


@dataclass
class Compressed:
    """A package with smaller weights, written by pippin.compress()."""

    path: str
    bytes: int
    seconds: float
    compression: dict[str, Any] = field(default_factory=dict)


@dataclass
class Verified:
    """How well a package agrees with the model that it was made from: the result of pippin.verify()."""

    date: str  # of the comparison, in UTC: "2026-11-30T18:00:00Z"
    tokens: int
    mean_kl: float
    max_kl: float
    top1: float
    perplexity: float
    source_perplexity: float
    greedy_tokens: int
    first_difference: int  # of the greedy texts; -1: none
    step_difference: float
    source_step_difference: float
    prefill_difference: float
    source_prefill_difference: float
    holds: bool  # within all limits
    parts: list[dict[str, Any]]
    broken: list[str]  # the limits that are exceeded
    texts: int = 0  # of a corpus
    failed: int = 0  # those that could not be compared
    first_failure: str = ""


@dataclass
class Calibrated:
    """Statistics of a model's inputs on a corpus: the result of pippin.calibrate()."""

    output: str
    texts: int
    tokens: int
    parts: int  # files of the folder


@dataclass
class Pulled:
    """A repository's files on this machine: the result of pippin.pull()."""

    repo: str
    revision: str
    commit: str
    path: str
    bytes: int
    received: int
    seconds: float
    packages: list[str]
    files: list[dict[str, Any]]
    tokenizer: dict[str, str] | None = None


def convert(source: Path, output: Path, *, progress: Progress | None = None, **options: Any) -> Converted:
    """Converts a checkpoint (a Hugging Face folder, or org/name on the Hub) to a package, or a folder of
    packages. Options are those of `pippin convert`, with underscores: quantize="int4", per="block:32",
    context=4096, family="anemll", adapter=["NAME=DIR"] (or {NAME: DIR}), except_=["*lm_head*"] ...
    progress(done, total) is called with bytes of weights; an exception from it ends the work. The output is
    written completely or not at all. Raises NotFoundError, InvalidFileError, NetworkError, UnsupportedError for an
    architecture that Pippin lacks, and InvalidArgumentError for unknown options and values out of range.

    >>> made = pippin.convert("checkpoint", "made.mlpackage", quantize="int8", context=128)
    >>> made.packages, made.context, made.compression is not None
    (1, 128, True)
    """
    _as_words(options)
    return Converted(**_pippin._convert(source, output, progress, options))


def compress(package: Path, output: Path, *, progress: Progress | None = None, **options: Any) -> Compressed:
    """Quantizes, palettizes or prunes the weights of a package. Options are those of `pippin compress`,
    in the form that convert() takes. Raises NotFoundError, InvalidFileError, UnsupportedError, and
    InvalidArgumentError for unknown options and values out of range.

    >>> smaller = pippin.compress("demo.mlpackage", "smaller.mlpackage", palettize=4)
    >>> smaller.bytes < pippin.compress("demo.mlpackage", "small.mlpackage", quantize="int8").bytes
    True
    """
    _as_words(options)
    return Compressed(**_pippin._compress(package, output, progress, options))


def inspect(package: Path, *, mil: bool = False, values: bool = False) -> Any:
    """Describes a package: a dict of its functions, inputs, outputs, states, weights and metadata; for a
    GGUF its weights, its metadata and how it runs. With mil=True returns the text of the program, with
    values=True including the elements of weights. Raises NotFoundError, InvalidFileError.

    >>> pippin.inspect("demo.mlpackage")["default_function"]
    'main'
    >>> pippin.inspect("demo.mlpackage", mil=True).startswith("program(")
    True
    """
    return _pippin._inspect(package, mil, values)


def verify(model: Path, against: Path, *, progress: Progress | None = None, **options: Any) -> Verified:
    """Compares a package with the model that it was made from, on `text`, a file, or `ids`, a list;
    models of speech on `sound`, a recording. `corpus`, a file of texts, is shared by all processes with the
    same folder `output`. Limits (max_kl=0.01, min_top1=99, same_greedy=True ...) and other options are those of `pippin
    verify`; `broken` lists the limits that are exceeded. Raises NotFoundError, InvalidFileError,
    UnsupportedError, and InvalidArgumentError for unknown options and ids.

    >>> agreement = pippin.verify("demo.mlpackage", "checkpoint", ids=[401, 433, 259, 413], max_kl=0.01)
    >>> agreement.holds, agreement.broken
    (True, [])
    """
    return Verified(**_pippin._verify(model, against, progress, options))


def calibrate(
    model: Path, corpus: Path, output: Path, *, progress: Progress | None = None, **options: Any
) -> Calibrated:
    """Gathers statistics of the inputs of a model's weights on a corpus, a file with a text on each line or, as
    .jsonl, objects with "text". All processes with the same folder `output` share the work; convert() and compress()
    take the folder as `calibrate`. Options are those of `pippin calibrate`: shard, window, threads. Raises
    NotFoundError, InvalidFileError, UnsupportedError, and InvalidArgumentError for unknown options and for
    texts of fewer than 256 tokens.

    >>> with open("texts.txt", "w") as file:
    ...     _ = file.write("Once upon a time there was a little girl who liked to play in the park.\\n" * 20)
    >>> pippin.calibrate("checkpoint", "texts.txt", "statistics").texts
    20
    """
    return Calibrated(**_pippin._calibrate(model, corpus, output, progress, options))


def pull(repo: str, *files: str, progress: Progress | None = None, **options: Any) -> Pulled:
    """Downloads a model from the Hugging Face Hub into its cache, unless it is there already. Options are
    those of `pippin pull`: revision, include, exclude, local_dir, cache_dir, token, max_workers. Raises NotFoundError for an unknown
    repository or file, NetworkError, InputOutputError, and InvalidArgumentError for unknown options.

    >>> pippin.pull("HuggingFaceTB/SmolLM2-135M-Instruct").path  # doctest: +SKIP
    '/home/me/.cache/huggingface/hub/models--HuggingFaceTB--SmolLM2-135M-Instruct/snapshots/...'
    """
    return Pulled(**_pippin._pull(repo, progress, {"files": list(files), **options}))


def _as_words(options: dict[str, Any]) -> None:
    """Converts paths and values of some options to the form of the command line."""
    for name, value in options.items():
        if isinstance(value, os.PathLike):
            options[name] = os.fspath(value)
    adapters = options.get("adapter")
    if isinstance(adapters, Mapping):
        options["adapter"] = [f"{name}={os.fspath(path)}" for name, path in adapters.items()]
    for name in ("chunks", "max_chunk_mb"):
        if isinstance(options.get(name), (int, float)):
            options[name] = str(options[name])
    lengths = options.get("query_lengths")
    if isinstance(lengths, int):
        options["query_lengths"] = [lengths]
    elif isinstance(lengths, Sequence):
        options["query_lengths"] = list(lengths)
