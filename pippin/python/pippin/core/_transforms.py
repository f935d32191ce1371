"""Functions that transform functions."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .._pippin import _load_core

_core: Any = _load_core()
_F = TypeVar("_F", bound=Callable[..., Any])

__all__ = ["checkpoint", "custom_function", "vmap"]


def checkpoint(fun: _F) -> _F:
    """Returns the function itself: nothing is kept for derivatives."""
    return fun


class custom_function:
    """The function; its derivatives are never used."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._function = f
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def vjp(self, f: _F) -> _F:
        """Returns `f`; it is never called."""
        return f

    def jvp(self, f: _F) -> _F:
        """Returns `f`; it is never called."""
        return f

    def vmap(self, f: _F) -> _F:
        """Returns `f`; it is never called."""
        return f


def _axes_for(tree: Any, axes: Any, what: str) -> list[Any]:
    """The axis of each array of a tree, in order: `axes` is one axis for all, or a tree of the same structure."""
    if isinstance(tree, _core.array):
        if axes is not None and not isinstance(axes, int):
            raise ValueError(f"[vmap] {what} has to name an axis for each array, not {axes!r}.")
        if axes is not None and not -tree.ndim <= axes < tree.ndim:
            raise ValueError(f"[vmap] {what} names axis {axes} of an array of shape {tree.shape}.")
        return [axes]
    if isinstance(tree, dict):
        if isinstance(axes, dict):
            return [one for key in tree for one in _axes_for(tree[key], axes[key], what)]
        return [one for key in tree for one in _axes_for(tree[key], axes, what)]
    if isinstance(tree, (list, tuple)):
        if isinstance(axes, (list, tuple)):
            if len(axes) != len(tree):
                raise ValueError(f"[vmap] {what} has {len(axes)} entries for {len(tree)} values.")
            return [one for each, axis in zip(tree, axes) for one in _axes_for(each, axis, what)]
        return [one for each in tree for one in _axes_for(each, axes, what)]
    return []


def _map(tree: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _map(value, function) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [_map(each, function) for each in tree]
        return tree._make(items) if hasattr(tree, "_make") else type(tree)(items)
    return function(tree) if isinstance(tree, _core.array) else tree


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []

    def keep(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    _map(tree, keep)
    return found


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Calls `fun` for each index of the mapped axes in turn and stacks the results."""

    @functools.wraps(fun)
    def mapped(*args: Any) -> Any:
        if len(args) == 1 and isinstance(in_axes, dict):
            axes = _axes_for(args[0], in_axes, "in_axes")
        else:
            axes = _axes_for(args, in_axes, "in_axes")
        arrays = _leaves(args)
        sizes = {leaf.shape[axis] for leaf, axis in zip(arrays, axes) if axis is not None}
        if not sizes:
            raise ValueError("[vmap] At least one of in_axes has to name an axis.")
        if len(sizes) > 1:
            raise ValueError(f"[vmap] The mapped axes have the sizes {sorted(sizes)}.")

        def at(index: int) -> Any:
            rest = iter(axes)

            def pick(leaf: Any) -> Any:
                axis = next(rest)
                # A new object, because the function may assign to its elements.
                return _core.array(leaf) if axis is None else _core.take(leaf, index, axis)

            return fun(*_map(args, pick))

        results = [at(index) for index in range(sizes.pop())]
        if not results:
            raise ValueError("[vmap] The mapped axes have no elements.")
        columns = list(zip(*(_leaves(one) for one in results)))
        # The axis of a single result may be given as a list of one.
        is_one = isinstance(results[0], _core.array) and isinstance(out_axes, (list, tuple)) and len(out_axes) == 1
        places = _places(results[0], out_axes[0] if is_one else out_axes)
        stacked = iter(
            column[0] if place is None else _core.stack(list(column), axis=place)
            for column, place in zip(columns, places)
        )
        return _map(results[0], lambda leaf: next(stacked))

    return mapped


def _places(tree: Any, axes: Any) -> list[Any]:
    """As _axes_for(), for axes that will be added."""
    if isinstance(tree, _core.array):
        if axes is not None and (not isinstance(axes, int) or not -tree.ndim - 1 <= axes <= tree.ndim):
            raise ValueError(f"[vmap] out_axes has {axes!r} for a result of shape {tree.shape}.")
        return [axes]
    if isinstance(tree, dict):
        if isinstance(axes, (list, tuple)) or isinstance(axes, dict) and axes.keys() != tree.keys():
            raise ValueError(f"[vmap] out_axes is {axes!r} for results named {sorted(tree)}.")
        return [one for key in tree for one in _places(tree[key], axes[key] if isinstance(axes, dict) else axes)]
    if isinstance(tree, (list, tuple)):
        if isinstance(axes, (list, tuple)):
            if len(axes) != len(tree):
                raise ValueError(f"[vmap] out_axes has {len(axes)} entries for {len(tree)} results.")
            return [one for each, axis in zip(tree, axes) for one in _places(each, axis)]
        return [one for each in tree for one in _places(each, axes)]
    return []
