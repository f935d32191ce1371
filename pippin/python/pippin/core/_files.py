"""Arrays in files: npy, npz, safetensors and, for reading only, GGUF."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from .._pippin import _load_core
from ._refused import refusal

_core: Any = _load_core()

__all__ = ["load", "save", "save_gguf", "save_safetensors", "savez", "savez_compressed"]

save_gguf = refusal("save_gguf", "GGUF files are only read")


def _path(file: Any, suffix: str = "") -> str | None:
    """The path as text, with the suffix for this kind of file; None for an open file."""
    if not isinstance(file, (str, os.PathLike)):
        return None
    name: str = os.fspath(file)
    return name if not suffix or name.endswith(suffix) else name + suffix


@contextlib.contextmanager
def _spool(suffix: str) -> Iterator[str]:
    """A temporary file on disk that stands for an open file."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.join(folder, "arrays" + suffix)


def _write(file: Any, suffix: str, write: Callable[[str], object]) -> None:
    """Calls write(path) and copies the result to an open file."""
    path = _path(file, suffix)
    if path is not None:
        write(path)
        return
    if not hasattr(file, "write"):
        raise ValueError(f"A path or a file to write to is needed, not {type(file).__name__}.")
    with _spool(suffix) as path:
        write(path)
        with open(path, "rb") as source:
            file.write(source.read())


def save(file: Any, arr: Any) -> None:
    """Saves one array as .npy; the suffix is added if it is missing."""
    _write(file, ".npy", lambda path: _core._save_npy(path, arr))


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    arrays = dict(kwargs)
    for i, each in enumerate(args):
        if f"arr_{i}" in arrays:
            raise ValueError(f"[savez] The name arr_{i} is taken by an array without a name.")
        arrays[f"arr_{i}"] = each
    return {name: each if isinstance(each, _core.array) else _core.array(each) for name, each in arrays.items()}


def savez(file: Any, *args: Any, **kwargs: Any) -> None:
    """Saves several arrays as .npz, by their names or as arr_0, arr_1, ..."""
    arrays = _named(args, kwargs)
    _write(file, ".npz", lambda path: _core._save_npz(path, arrays, False))


def savez_compressed(file: Any, *args: Any, **kwargs: Any) -> None:
    """As savez(), but deflated."""
    arrays = _named(args, kwargs)
    _write(file, ".npz", lambda path: _core._save_npz(path, arrays, True))


def save_safetensors(file: Any, arrays: dict[str, Any], metadata: dict[str, str] | None = None) -> None:
    """Saves arrays by name as .safetensors; the suffix is added if it is missing."""
    _write(file, ".safetensors", lambda path: _core._save_safetensors(path, arrays, metadata))


_READERS: dict[str, Callable[[str], Any]] = {
    "npy": lambda path: (_core._load_npy(path), None),
    "npz": lambda path: (_core._load_npz(path), None),
    "safetensors": _core._load_safetensors,
    "gguf": _core._load_gguf,
}


def _read_open(file: Any, kind: str) -> Any:
    data = file.read()
    if isinstance(data, str):
        raise ValueError("[load] The file has to be open for bytes ('rb').")
    name = str(getattr(file, "name", "a file"))
    if kind == "npy":
        return _core._parse_npy(data, name), None
    if kind == "npz":
        return _core._parse_npz(data, name), None
    with _spool("." + kind) as path:
        with open(path, "wb") as copy:
            copy.write(data)
        return _READERS[kind](path)


def load(file: Any, /, format: str | None = None, return_metadata: bool = False, *, stream: Any = None) -> Any:
    """Loads one array (npy) or a dict of arrays (npz, safetensors, gguf); the suffix or `format` gives the kind."""
    path = _path(file)
    name = path if path is not None else str(getattr(file, "name", ""))
    kind = format or name.rpartition(".")[2]
    if kind not in _READERS:
        raise ValueError(f"[load] {name!r} is not an npy, npz, safetensors or gguf file, and no format was given.")
    if path is None and not hasattr(file, "read"):
        raise ValueError(f"[load] A path or a file to read is needed, not {file!r}.")
    if return_metadata and kind in ("npy", "npz"):
        raise ValueError(f"[load] Files of {kind} have no metadata.")
    arrays, metadata = _READERS[kind](path) if path is not None else _read_open(file, kind)
    return (arrays, metadata) if return_metadata else arrays
