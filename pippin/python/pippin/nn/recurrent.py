"""Recurrent layers over x (..., length, features); they return the hidden state after every element."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import core as mx
from .activations import tanh
from .module import Module


class _Recurrent(Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    def _uniform(self, *shape: int) -> mx.array:
        bound = 1 / math.sqrt(self.hidden_size)
        return mx.random.uniform(-bound, bound, shape)

    @staticmethod
    def _project(x: mx.array, weight: mx.array, bias: mx.array | None) -> mx.array:
        return x @ weight.T if bias is None else mx.addmm(bias, x, weight.T)

    def _sizes(self, weight: mx.array) -> str:
        return f"input_dims={weight.shape[1]}, hidden_size={self.hidden_size}"


class RNN(_Recurrent):
    """h = nonlinearity(Wxh x + Whh h + bias), tanh by default."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True,
                 nonlinearity: Callable[[mx.array], mx.array] | None = None) -> None:
        super().__init__(hidden_size)
        self.nonlinearity = nonlinearity or tanh
        if not callable(self.nonlinearity):
            raise ValueError(f"RNN: the nonlinearity {nonlinearity!r} cannot be called")
        self.Wxh = self._uniform(hidden_size, input_size)
        self.Whh = self._uniform(hidden_size, hidden_size)
        self.bias = self._uniform(hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return f"{self._sizes(self.Wxh)}, nonlinearity={self.nonlinearity}, bias={self.bias is not None}"

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        x = self._project(x, self.Wxh, self.bias)
        states = []
        for i in range(x.shape[-2]):
            now = x[..., i, :]
            hidden = self.nonlinearity(now if hidden is None else mx.addmm(now, hidden, self.Whh.T))
            states.append(hidden)
        return mx.stack(states, axis=-2)


class GRU(_Recurrent):
    """h = (1 - z) n + z h with gates r and z, and n = tanh(Wxn x + bn + r (Whn h + bhn))."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(hidden_size)
        self.Wx = self._uniform(3 * hidden_size, input_size)
        self.Wh = self._uniform(3 * hidden_size, hidden_size)
        self.b = self._uniform(3 * hidden_size) if bias else None
        self.bhn = self._uniform(hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return f"{self._sizes(self.Wx)}, bias={self.b is not None}"

    def __call__(self, x: mx.array, hidden: mx.array | None = None) -> mx.array:
        x = self._project(x, self.Wx, self.b)
        gates = 2 * self.hidden_size
        states = []
        for i in range(x.shape[-2]):
            now, inner = x[..., i, :], self.bhn
            new = now[..., gates:]
            now = now[..., :gates]
            if hidden is not None:
                before = hidden @ self.Wh.T
                now = now + before[..., :gates]
                inner = before[..., gates:] if inner is None else before[..., gates:] + inner
            r, z = mx.split(mx.sigmoid(now), 2, axis=-1)
            new = mx.tanh(new if inner is None else new + r * inner)
            hidden = (1 - z) * new if hidden is None else (1 - z) * new + z * hidden
            states.append(hidden)
        return mx.stack(states, axis=-2)


class LSTM(_Recurrent):
    """Cells c = f c + i g and h = o tanh(c) with gates i, f, o and g = tanh(...). Returns all h and all c."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__(hidden_size)
        self.Wx = self._uniform(4 * hidden_size, input_size)
        self.Wh = self._uniform(4 * hidden_size, hidden_size)
        self.bias = self._uniform(4 * hidden_size) if bias else None

    def _extra_repr(self) -> str:
        return f"{self._sizes(self.Wx)}, bias={self.bias is not None}"

    def __call__(self, x: mx.array, hidden: mx.array | None = None, cell: mx.array | None = None) -> Any:
        x = self._project(x, self.Wx, self.bias)
        states, cells = [], []
        for index in range(x.shape[-2]):
            now = x[..., index, :]
            if hidden is not None:
                now = mx.addmm(now, hidden, self.Wh.T)
            i, f, g, o = mx.split(now, 4, axis=-1)
            new = mx.sigmoid(i) * mx.tanh(g)
            cell = new if cell is None else mx.sigmoid(f) * cell + new
            hidden = mx.sigmoid(o) * mx.tanh(cell)
            states.append(hidden)
            cells.append(cell)
        return mx.stack(states, axis=-2), mx.stack(cells, axis=-2)
