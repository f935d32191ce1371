"""Dropout: noise in training, nothing otherwise."""

from __future__ import annotations

from .. import core as mx
from .module import Module


class Dropout(Module):
    """Sets elements to 0 with probability p while training, and scales the others by 1 / (1 - p)."""

    _spatial_dims = 0  # one draw decides for all elements along these axes before the last

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"{type(self).__name__}: p is {p}, which is not in [0, 1)")
        self._kept = 1 - p

    def _extra_repr(self) -> str:
        return f"p={1 - self._kept}"

    def __call__(self, x: mx.array) -> mx.array:
        dims = self._spatial_dims
        if dims and x.ndim not in (dims + 1, dims + 2):
            raise ValueError(f"{type(self).__name__}: the input has {x.ndim} dimensions, not {dims + 1} or {dims + 2}")
        if self._kept == 1 or not self.training:
            return x
        shape = list(x.shape)
        for axis in range(-1 - dims, -1):
            shape[axis] = 1
        return mx.random.bernoulli(self._kept, shape) * x * (1 / self._kept)


class Dropout2d(Dropout):
    """Dropout of whole channels of images (..., height, width, channels)."""

    _spatial_dims = 2


class Dropout3d(Dropout):
    """Dropout of whole channels of volumes (..., depth, height, width, channels)."""

    _spatial_dims = 3
