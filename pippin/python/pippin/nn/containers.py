"""Modules that consist of other modules."""

from __future__ import annotations

from typing import Any

from .module import Module


class Sequential(Module):
    """Calls modules, or any functions, in turn, each with the result of the one before."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        self.layers = list(modules)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x
