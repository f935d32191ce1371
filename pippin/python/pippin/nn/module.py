"""Modules: the building blocks of models.

A module is a dict. Attributes that are arrays, dicts, lists, tuples or modules are its items; all others are ordinary
attributes. Arrays whose names do not begin with "_" are its parameters."""

from __future__ import annotations

import os
import reprlib
import textwrap
from typing import Any, Callable, Iterable

from .. import core as mx
from ..utils import tree_flatten
from . import _trees, _weights

Filter = Callable[["Module", str, Any], bool]


class Module(dict[str, Any]):
    """The base of layers and models: call super().__init__(), then set attributes.

    >>> from pippin import core as mx, nn
    >>> class Twice(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = mx.array(2.0)
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> list(Twice().parameters())
    ['factor']

    A module may occur in another one several times, but not inside itself: walking through it is then a
    ValueError."""

    __call__: Callable[..., Any]

    def __init__(self) -> None:
        self._no_grad: set[str] = set()
        self._training = True

    @property
    def training(self) -> bool:
        """Whether the module is in training mode, as it is initially."""
        return self._training

    @property
    def state(self) -> Module:
        """All items, including those that are not parameters; changes to it change the module."""
        return self

    # Items as attributes. A name is either an item or a plain attribute, whichever was set last.

    def __getattr__(self, key: str) -> Any:
        value = self.get(key)
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")
        return value

    def __setattr__(self, key: str, val: Any) -> None:
        if isinstance(val, (mx.array, dict, list, tuple)):
            self.__dict__.pop(key, None)
            self[key] = val
        else:
            super().__setattr__(key, val)
            self.pop(key, None)

    def __delattr__(self, name: str) -> None:
        if name in self:
            del self[name]
        else:
            super().__delattr__(name)

    def _extra_repr(self) -> str:
        return ""

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}({self._extra_repr()}"]
        for name, child in tree_flatten(self.children(), is_leaf=self.is_module):
            lines.append(textwrap.indent(f"({name}): {child!r}", "  "))
        return "\n".join(lines) + ("\n)" if len(lines) > 1 else ")")

    # Selecting items: filters for filter_and_map().

    @staticmethod
    def is_module(value: Any) -> bool:
        """Whether a value is a module."""
        return isinstance(value, Module)

    @staticmethod
    def valid_child_filter(module: Module, key: str, value: Any) -> bool:
        """Whether an item may hold modules: a module, a dict or a list."""
        return isinstance(value, (dict, list))

    @staticmethod
    def valid_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Whether an item may hold parameters: an array, a dict or a list whose name does not begin with "_"."""
        return isinstance(value, (dict, list, mx.array)) and not key.startswith("_")

    @staticmethod
    def trainable_parameter_filter(module: Module, key: str, value: Any) -> bool:
        """Whether an item may hold parameters that are not frozen."""
        return Module.valid_parameter_filter(module, key, value) and key not in module._no_grad

    def filter_and_map(self, filter_fn: Filter, map_fn: Callable[[Any], Any] | None = None,
                       is_leaf_fn: Filter | None = None) -> dict[str, Any]:
        """The tree of items for which filter_fn(module, name, value) is true, with leaves mapped by map_fn. Items in
        lists
        and dicts of a module have names like "layers.0"."""
        return _trees.select(self, filter_fn, map_fn or (lambda value: value),
                             is_leaf_fn or (lambda module, key, value: not isinstance(value, (dict, list))))

    def parameters(self) -> dict[str, Any]:
        """The tree of all parameters."""
        return self.filter_and_map(self.valid_parameter_filter)

    def trainable_parameters(self) -> dict[str, Any]:
        """The parameters that are not frozen."""
        return self.filter_and_map(self.trainable_parameter_filter)

    def children(self) -> dict[str, Any]:
        """The direct submodules of this one."""
        return self.filter_and_map(self.valid_child_filter,
                                   is_leaf_fn=lambda module, key, value: isinstance(value, Module))

    def leaf_modules(self) -> dict[str, Any]:
        """The modules at any depth that have no submodules."""
        return self.filter_and_map(self.valid_child_filter, is_leaf_fn=lambda module, key, value: isinstance(
            value, Module) and not value._has_modules())

    def _has_modules(self) -> bool:
        return any(isinstance(one, Module) for _, one in tree_flatten(self.children(), is_leaf=self.is_module))

    # Replacing parameters and modules.

    def update(self, parameters: dict[str, Any], strict: bool = True) -> Module:  # type: ignore[override]
        """Takes the arrays of a tree such as parameters(), or of a part of it. Names that the module does not have are
        a
        ValueError, or ignored if not strict."""
        _trees.update_parameters(self, parameters, strict)
        return self

    def apply(self, map_fn: Callable[[mx.array], mx.array], filter_fn: Filter | None = None) -> Module:
        """Replaces each parameter that the filter accepts by map_fn(parameter)."""
        return self.update(self.filter_and_map(filter_fn or Module.valid_parameter_filter, map_fn))

    def update_modules(self, modules: dict[str, Any], strict: bool = True) -> Module:
        """Replaces modules by those of a tree such as children() or leaf_modules()."""
        _trees.update_modules(self, modules, strict)
        return self

    def apply_to_modules(self, apply_fn: Callable[[str, Module], Any]) -> Module:
        """Calls apply_fn(path, module) for every module, from this one (whose path is "") down."""
        _trees.visit(self, apply_fn)
        return self

    def modules(self) -> list[Module]:
        """This module and all modules at any depth."""
        return [module for _, module in self.named_modules()]

    def named_modules(self) -> list[tuple[str, Module]]:
        """(path, module) of this module, whose path is "", and of all modules at any depth."""
        found: list[tuple[str, Module]] = []
        self.apply_to_modules(lambda path, module: found.append((path, module)))
        return found

    def set_dtype(self, dtype: mx.Dtype, predicate: Callable[[mx.Dtype], bool] | None = lambda dtype: mx.issubdtype(
            dtype, mx.floating)) -> None:
        """Converts the parameters whose type the predicate accepts: floats by default."""
        self.apply(lambda x: x.astype(dtype) if predicate is None or predicate(x.dtype) else x)

    # Weights in files.

    def load_weights(self, file_or_weights: str | os.PathLike[str] | Iterable[tuple[str, mx.array]],
                     strict: bool = True) -> Module:
        """Loads weights by name: from an npz, safetensors or GGUF file, from a folder of these (if config.json has
        "quantization", layers whose weights are quantized become quantized first), or of (name, array) pairs. If
        strict, every parameter has to be there, with the shape that it has here, and nothing else (ValueError)."""
        _weights.load(self, file_or_weights, strict)
        return self

    def save_weights(self, file: str | os.PathLike[str]) -> None:
        """Writes the parameters by name; the suffix, .npz or .safetensors, decides the format."""
        _weights.save(self, file)

    # For training only: kept so that programs written for training run here.

    def freeze(self, *, recurse: bool = True, keys: str | list[str] | None = None, strict: bool = False) -> Module:
        """Excludes parameters, all or those with these names, from trainable_parameters()."""

        def freeze_one(module: Module) -> None:
            names = [keys] if isinstance(keys, str) else keys
            if names is None:
                own = module.filter_and_map(lambda m, key, value: not isinstance(value, Module)
                                            and Module.valid_parameter_filter(m, key, value))
                names = [name for name, _ in tree_flatten(own)]
            module._no_grad.update(names)

        return self._to_some(freeze_one, recurse, keys, strict)

    def unfreeze(self, *, recurse: bool = True, keys: str | list[str] | None = None, strict: bool = False) -> Module:
        """The opposite of freeze()."""

        def unfreeze_one(module: Module) -> None:
            if keys is None:
                module._no_grad.clear()
            else:
                module._no_grad.difference_update([keys] if isinstance(keys, str) else keys)

        return self._to_some(unfreeze_one, recurse, keys, strict)

    def _to_some(self, action: Callable[[Module], None], recurse: bool, keys: str | list[str] | None,
                 strict: bool) -> Module:
        modules = self.modules() if recurse else [self]
        if strict:
            for key in [keys] if isinstance(keys, str) else keys or []:
                if not any(key in module for module in modules):
                    raise KeyError(f"{type(self).__name__}: no {key!r} to freeze or unfreeze")
        for module in modules:
            action(module)
        return self

    def _set_training_mode(self, mode: bool) -> None:
        self._training = mode

    def train(self, mode: bool = True) -> Module:
        """Sets the training mode of every module, which dropout and batch normalization read."""
        return self.apply_to_modules(lambda path, module: module._set_training_mode(mode))

    def eval(self) -> Module:
        """Sets the evaluation mode of every module: train(False)."""
        return self.train(False)
