"""Functions of arrays, and modules, as Core ML packages."""

from __future__ import annotations

import os
from operator import index
from typing import Any, Callable, Iterable, NamedTuple

from . import core as mx
from .core import _core  # what is not shown: the writing
from .utils import tree_flatten

__all__ = ["ExportedFunction", "SizeRange", "TensorSpec", "export"]


class SizeRange(NamedTuple):
    """A size that callers choose, from `lower` to `upper` (None: any). Those of one name are the same."""

    lower: int
    upper: int | None = None
    name: str = ""


Shape = tuple[int | SizeRange, ...]


class TensorSpec(NamedTuple):
    """An input or a state of a package: its name, its shape and its type.

    An input's shape may have SizeRanges, or be a list of shapes, of which callers choose; the first is the default."""

    name: str
    shape: Shape | list[tuple[int, ...]]
    dtype: mx.Dtype = mx.float32


Specs = Iterable[TensorSpec | tuple[Any, ...]] | dict[str, mx.array]


class ExportedFunction(NamedTuple):
    """One of several functions of a package, with what export() takes for it."""

    function: Callable[..., Any]
    inputs: Specs
    states: Specs | None = None
    outputs: list[str] | None = None


def _specs(given: Specs | None, what: str, dtype: mx.Dtype) -> list[TensorSpec]:
    if isinstance(given, dict):
        given = [TensorSpec(name, one.shape, one.dtype) for name, one in given.items()]
    specs = [one if isinstance(one, TensorSpec) else TensorSpec(*one, *(() if len(one) > 2 else (dtype,)))
             for one in given or ()]
    names = [spec.name for spec in specs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"export: two {what} are called {twice!r}")
    return specs


def _sizes(spec: TensorSpec) -> tuple[list[Any], list[list[int]]]:
    """The sizes of an input, ranges as tuples, and the list of its shapes; one of them is empty."""
    if isinstance(spec.shape, list) and spec.shape and not isinstance(spec.shape[0], (int, SizeRange)):
        shapes: list[Any] = spec.shape
        return [], [[index(size) for size in shape] for shape in shapes]
    sizes: tuple[Any, ...] = tuple(spec.shape)
    return [(size.lower, -1 if size.upper is None else size.upper, size.name) if isinstance(size, SizeRange)
            else index(size) for size in sizes], []


def _recorded(name: str, given: ExportedFunction) -> tuple[Any, ...]:
    """A function as it is exported."""
    inputs = _specs(given.inputs, "inputs", mx.float32)
    states = _specs(given.states, "states", mx.float16)
    for state in states:
        if state.dtype != mx.float16:
            raise ValueError(f"export: state {state.name} is of {state.dtype}; states are float16")
        if any(not isinstance(size, int) for size in state.shape):
            raise ValueError(f"export: state {state.name} of shape {state.shape}; states have one shape")

    def body(arguments: list[mx.array], before: list[mx.array]) -> tuple[Any, list[mx.array]]:
        # Objects of their own: the function makes others of them, by writing.
        after = [mx.array(state) for state in before]
        return _named(given.function(*arguments, *after), given.outputs), after

    return (name, [(spec.name, spec.dtype, *_sizes(spec)) for spec in inputs],
            [(spec.name, _sizes(spec)[0]) for spec in states], body)


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


def export(function: Callable[..., Any] | dict[str, ExportedFunction], inputs: Specs | None = None,
           states: Specs | None = None, *, path: str | os.PathLike[str],
           outputs: list[str] | None = None) -> None:
    """Writes a package with what a function, or a module, computes of its inputs.

    >>> import tempfile, pippin
    >>> from pippin import core as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/soft.mlpackage"
    ...     pippin.export(lambda x: mx.softmax(2 * x), [("x", (1, pippin.SizeRange(1, 8)))], path=path)
    ...     pippin.Model(path).predict({"x": [[0, 0, 0, 0]]})["output"].tolist()
    [[0.25, 0.25, 0.25, 0.25]]

    `inputs` are TensorSpecs or tuples (name, shape, dtype=float32), or a dict of arrays whose types and shapes count.
    The function is called with arrays that have no values, in that order, then the states: what it does with
    them is recorded, everything else that it uses becomes a constant. It gives an array, a list or tuple of them
    (output_0, ...) or a dict; `outputs` names them otherwise.

    Where a shape has SizeRanges, or is a list of shapes, the function is called for several sizes. What it computes of
    `x.shape` is computed in the package; what would be frozen is refused by name.

    `states` (float16) begin as zeros and are kept from one prediction to the next: the function writes them in place,
    state[...] = new.

    A dict of ExportedFunctions, instead of a function and its inputs, is a package with several, the first one the
    default; equal weights lie in it once.

    The package appears complete or not at all. Raises UnsupportedError for what Core ML has no operation for, by name,
    ValueError where the function looks at the values of its inputs."""
    given: Any = function
    functions: dict[str, ExportedFunction] = given
    if type(given) is not dict:  # modules are dicts, too, of their own types
        functions = {"main": ExportedFunction(given, inputs or (), states, outputs)}
    elif inputs is not None or states is not None or outputs is not None:
        raise ValueError("export: several functions have inputs, states and outputs of their own")
    _core._export_package(os.fspath(path), [_recorded(name, one) for name, one in functions.items()])
