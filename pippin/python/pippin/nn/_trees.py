"""Walks through modules: dicts whose values may be dicts and lists of modules and arrays.

A module that contains itself is a ValueError that names the path."""

from __future__ import annotations

from typing import Any, Callable

from .. import core as mx


def _is_module(value: Any) -> bool:
    from .module import Module

    return isinstance(value, Module)


class _Path:
    """The position of a walk: the enclosing containers and their names."""

    def __init__(self) -> None:
        self.around: set[int] = set()
        self.names: list[str] = []

    def into(self, container: Any, name: str) -> None:
        if id(container) in self.around:
            place = ".".join(self.names[1:]) or "the module itself"
            raise ValueError(f"{name} of {place} is a {type(container).__name__} that it lies inside itself: modules "
                             "have to be a tree")
        self.around.add(id(container))
        self.names.append(name)

    def out_of(self, container: Any) -> None:
        self.around.discard(id(container))
        self.names.pop()


def select(root: Any, keep: Callable[[Any, str, Any], bool], change: Callable[[Any], Any],
           is_leaf: Callable[[Any, str, Any], bool]) -> Any:
    """The tree of the values that `keep` accepts, below `root`. List items that are not kept become {}, to keep
    indices."""
    path = _Path()

    def below(module: Any, key: str, value: Any) -> Any:
        if is_leaf(module, key, value):
            return change(value)
        if not isinstance(value, (dict, list)):
            raise RuntimeError(f"{key}: a {type(value).__name__} is neither a leaf nor a module, dict or list")
        path.into(value, key.rpartition(".")[2])
        result: Any
        if _is_module(value):
            result = inside(value)
        elif isinstance(value, dict):
            result = {name: within(module, f"{key}.{name}", one) for name, one in value.items()}
        else:
            result = [within(module, f"{key}.{i}", one) for i, one in enumerate(value)]
        path.out_of(value)
        return result

    def within(module: Any, key: str, value: Any) -> Any:
        return below(module, key, value) if keep(module, key, value) else {}

    def inside(module: Any) -> dict[str, Any]:
        return {key: below(module, key, value) for key, value in module.items() if keep(module, key, value)}

    path.into(root, "")
    return inside(root)


def visit(root: Any, action: Callable[[str, Any], Any]) -> None:
    """Calls action(path, module) for every module, from `root` down; the walk sees changes that an action makes
    below."""
    path = _Path()

    def below(name: str, value: Any) -> None:
        if not isinstance(value, (dict, list)):
            return
        path.into(value, name)
        if _is_module(value):
            action(".".join(path.names[1:]), value)
        for key, one in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
            below(str(key), one)
        path.out_of(value)

    below("", root)


def _update(target: Any, values: Any, strict: bool, what: str, place: Callable[[Any, Any, str], bool],
            path: str = "") -> None:
    """Walks through `values` and `target` together; `place(old, new, path)` decides whether new replaces old."""
    if isinstance(values, dict):
        items: Any = values.items()
    elif isinstance(values, list):
        items = enumerate(values)
    elif strict:
        raise ValueError(f"{what} {path or 'tree'}: a {type(values).__name__} where a dict or list belongs")
    else:
        return
    for key, new in items:
        here = f"{path}.{key}" if path else f"{key}"
        known = key in target if isinstance(target, dict) else (isinstance(target, list) and isinstance(key, int)
                                                                 and key < len(target))
        if not known:
            if strict:
                size = f", whose list has {len(target)}" if isinstance(target, list) else ""
                raise ValueError(f"{what} {here} is not in the module{size}")
            continue
        if place(target[key], new, here):
            target[key] = new
        elif isinstance(target[key], (dict, list)):
            _update(target[key], new, strict, what, place, here)


def update_parameters(module: Any, parameters: Any, strict: bool) -> None:
    def place(old: Any, new: Any, path: str) -> bool:
        if isinstance(old, mx.array) and strict and not isinstance(new, mx.array):
            raise ValueError(f"parameter {path} is a {type(new).__name__}, no array")
        if not isinstance(old, (mx.array, dict, list)) and strict:
            raise ValueError(f"parameter {path}: the module has a {type(old).__name__} there, no array")
        return isinstance(old, mx.array)

    _update(module, parameters, strict, "parameter", place)


def update_modules(module: Any, modules: Any, strict: bool) -> None:
    def place(old: Any, new: Any, path: str) -> bool:
        if not isinstance(old, (dict, list)) and strict and new != {}:
            raise ValueError(f"module {path} is a {type(new).__name__}: no module to replace")
        return _is_module(old) and _is_module(new)

    _update(module, modules, strict, "module", place)
