"""Exports functions of arrays, and modules, as Core ML packages."""

from __future__ import annotations

import os
from operator import index
from typing import Any, Callable, Iterable, NamedTuple

from . import core as mx
from .core import _core  # the private part: the writer
from .utils import tree_flatten

__all__ = ["ExportedFunction", "SizeRange", "TensorSpec", "export"]


class SizeRange(NamedTuple):
    """A size that callers choose, from `lower` to `upper` (None: any). Sizes with the same name are equal."""

    lower: int
    upper: int | None = None
    name: str = ""


Shape = tuple[int | SizeRange, ...]


class TensorSpec(NamedTuple):
    """An input or a state of a package: its name, its shape and its type.

    An input's shape may contain SizeRanges, or be a list of shapes to choose from; the first is the default."""

    name: str
    shape: Shape | list[tuple[int, ...]]
    dtype: mx.Dtype = mx.float32


Specs = Iterable[TensorSpec | tuple[Any, ...]] | dict[str, mx.array]


class ExportedFunction(NamedTuple):
    """One of several functions of a package, with the arguments of export() for it."""

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
    """The sizes of an input (ranges as tuples) and the list of its shapes; one of the two is empty."""
    if isinstance(spec.shape, list) and spec.shape and not isinstance(spec.shape[0], (int, SizeRange)):
        shapes: list[Any] = spec.shape
        return [], [[index(size) for size in shape] for shape in shapes]
    sizes: tuple[Any, ...] = tuple(spec.shape)
    return [(size.lower, -1 if size.upper is None else size.upper, size.name) if isinstance(size, SizeRange)
            else index(size) for size in sizes], []


def _recorded(name: str, given: ExportedFunction) -> tuple[Any, ...]:
    """A function in the form that the writer takes."""
    inputs = _specs(given.inputs, "inputs", mx.float32)
    states = _specs(given.states, "states", mx.float16)
    for state in states:
        if state.dtype != mx.float16:
            raise ValueError(f"export: state {state.name} is of {state.dtype}; states are float16")
        if any(not isinstance(size, int) for size in state.shape):
            raise ValueError(f"export: state {state.name} of shape {state.shape}; states have one shape")

    def body(arguments: list[mx.array], before: list[mx.array]) -> tuple[Any, list[mx.array]]:
        # New objects, because the function replaces their values by writing to them.
        after = [mx.array(state) for state in before]
        return _named(given.function(*arguments, *after), given.outputs), after

    return (name, [(spec.name, spec.dtype, *_sizes(spec)) for spec in inputs],
            [(spec.name, _sizes(spec)[0]) for spec in states], body)


def _named(result: Any, names: list[str] | None) -> list[tuple[str, mx.array]]:
    """The arrays that a function returned, named by the given names, by the keys of a dict, or by index."""
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
    """Writes a package that computes a function, or a module, of its inputs.

    >>> import tempfile, pippin
    >>> from pippin import core as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/soft.mlpackage"
    ...     pippin.export(lambda x: mx.softmax(2 * x), [("x", (1, pippin.SizeRange(1, 8)))], path=path)
    ...     pippin.Model(path).predict({"x": [[0, 0, 0, 0]]})["output"].tolist()
    [[0.25, 0.25, 0.25, 0.25]]

    `inputs` are TensorSpecs or tuples (name, shape, dtype=float32), or a dict of arrays, of which only types and
    shapes are used. The function is called with arrays without values, in that order, followed by the states.
    Operations on them are recorded; everything else that it uses becomes a constant. It returns an array, a list or
    tuple of arrays (output_0, ...) or a dict; `outputs` gives other names.

    If a shape has SizeRanges, or is a list of shapes, the function is called for several sizes. Computations with
    `x.shape` become part of the package; operations that would freeze a size are rejected by name.

    `states` (float16) are initially zero and kept between predictions: the function writes them in place,
    state[...] = new.

    A dict of ExportedFunctions, instead of a function and its inputs, makes a package with several functions, of which
    the first is the default; equal weights are stored once.

    The package is written completely or not at all. Raises UnsupportedError, with the name, for operations that
    Core ML does not have, and ValueError if the function reads the values of its inputs."""
    given: Any = function
    functions: dict[str, ExportedFunction] = given
    if type(given) is not dict:  # modules are dicts of their own types
        functions = {"main": ExportedFunction(given, inputs or (), states, outputs)}
    elif inputs is not None or states is not None or outputs is not None:
        raise ValueError("export: several functions have inputs, states and outputs of their own")
    _core._export_package(os.fspath(path), [_recorded(name, one) for name, one in functions.items()])
