"""Functions of arrays, and modules, as Core ML packages."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, NamedTuple

from . import core as mx
from .core import _core  # what is not shown: placeholders, and the writing
from .utils import tree_flatten

__all__ = ["TensorSpec", "export"]


class TensorSpec(NamedTuple):
    """An input or a state of a package: its name, its shape and its type."""

    name: str
    shape: tuple[int, ...]
    dtype: mx.Dtype = mx.float32


Specs = Iterable[TensorSpec | tuple[Any, ...]] | dict[str, mx.array]


def _specs(given: Specs | None, what: str, dtype: mx.Dtype) -> list[TensorSpec]:
    if isinstance(given, dict):
        given = [TensorSpec(name, one.shape, one.dtype) for name, one in given.items()]
    specs = [one if isinstance(one, TensorSpec) else TensorSpec(*one, *(() if len(one) > 2 else (dtype,)))
             for one in given or ()]
    names = [spec.name for spec in specs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"export: two {what} are called {twice!r}")
    return specs


def _named(result: Any, names: list[str] | None) -> list[tuple[str, mx.array]]:
    """The arrays of what a function gave, by the given names, by those of a dict, or by their places."""
    if isinstance(result, dict):
        pairs = tree_flatten(result)
        pairs = [(name.replace(".", "_"), value) for name, value in pairs]
    elif isinstance(result, (list, tuple)):
        values = [value for _, value in tree_flatten(result)]
        pairs = [(f"output_{i}", value) for i, value in enumerate(values)]
    else:
        pairs = [("output", result)]
    if names is not None:
        if len(names) != len(pairs):
            raise ValueError(f"export: {len(names)} names for {len(pairs)} outputs")
        pairs = [(name, value) for name, (_, value) in zip(names, pairs)]
    for name, value in pairs:
        if not isinstance(value, mx.array):
            raise ValueError(f"export: the output {name} is a {type(value).__name__}, no array")
    return pairs


def export(function: Callable[..., Any], inputs: Specs, states: Specs | None = None, *,
           path: str | os.PathLike[str], outputs: list[str] | None = None) -> None:
    """Writes a package with what a function, or a module, computes of its inputs.

    >>> import tempfile, pippin
    >>> from pippin import core as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pippin.export(lambda x: mx.softmax(2 * x), [("x", (1, 4))], path=folder + "/soft.mlpackage")
    ...     pippin.Model(folder + "/soft.mlpackage").predict({"x": [[0, 0, 0, 0]]})["output"].tolist()
    [[0.25, 0.25, 0.25, 0.25]]

    `inputs` are TensorSpecs or tuples (name, shape, dtype=float32), or a dict of arrays whose types and shapes count.
    The function is called once with arrays that have no values, in that order, then the states: what it does with
    them is recorded, everything else that it uses becomes a constant. It gives an array, a list or tuple of them
    (output_0, ...) or a dict; `outputs` names them otherwise.

    `states` (float16 unless said) begin as zeros and are kept from one prediction to the next: the function writes
    them in place, state[...] = new.

    The package appears complete or not at all. Raises UnsupportedError for what Core ML has no operation for, by name,
    ValueError where the function looks at the values of its inputs."""
    input_specs = _specs(inputs, "inputs", mx.float32)
    state_specs = _specs(states, "states", mx.float16)
    arguments = [_core._placeholder(spec.shape, spec.dtype) for spec in input_specs]
    before = [_core._placeholder(spec.shape, spec.dtype) for spec in state_specs]
    # Objects of their own: the function makes others of them, by writing.
    after = [mx.array(state) for state in before]
    named = _named(function(*arguments, *after), outputs)
    _core._export_package(
        os.fspath(path), [(spec.name, one) for spec, one in zip(input_specs, arguments)], named,
        [(spec.name, one, changed) for spec, one, changed in zip(state_specs, before, after)])
