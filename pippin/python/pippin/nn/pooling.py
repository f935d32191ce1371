"""Pooling over 1 to 3 axes: the maximum or the mean of each window. x is (batch, places..., channels)."""

from __future__ import annotations

from typing import Any

from .. import core as mx
from .module import Module

Size = int | tuple[int, ...]


def _windows(x: mx.array, size: tuple[int, ...], stride: tuple[int, ...]) -> mx.array:
    """(batch, places..., window..., channels): a view if windows do not overlap, else with overlapping strides."""
    batch, *places, channels = x.shape
    dims = len(places)
    if size == stride and all(place % one == 0 for place, one in zip(places, size)):
        split = [part for place, one in zip(places, size) for part in (place // one, one)]
        order = [0, *range(1, 2 * dims, 2), *range(2, 2 * dims + 1, 2), 2 * dims + 1]
        return x.reshape(batch, *split, channels).transpose(*order)
    counts = [(place - one) // step + 1 for place, one, step in zip(places, size, stride)]
    steps = [channels]
    for place in reversed(places):
        steps.insert(0, steps[0] * place)
    # steps: of the batch, of each place; channels are contiguous.
    moves = [step * by for step, by in zip(steps[1:], stride)]
    return mx.as_strided(x, (batch, *counts, *size, channels), (steps[0], *moves, *steps[1:], 1))


class _Pool(Module):
    _dims: int
    _outside: float  # the value of the padding

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None:
        super().__init__()
        self._kernel_size = self._each("kernel_size", kernel_size, 1)
        self._stride = self._kernel_size if stride is None else self._each("stride", stride, 1)
        self._padding = self._each("padding", padding, 0)

    def _each(self, name: str, size: Any, least: int) -> tuple[int, ...]:
        sizes = (size,) * self._dims if isinstance(size, int) else size
        if not isinstance(sizes, (tuple, list)) or len(sizes) != self._dims:
            raise ValueError(f"{type(self).__name__}: {name} is {size!r}, not a number or {self._dims} of them")
        if any(not isinstance(one, int) or one < least for one in sizes):
            kind = "positive" if least == 1 else "non-negative"
            raise ValueError(f"{type(self).__name__}: {name} is {size!r}; it must be {kind}")
        return tuple(sizes)

    def _extra_repr(self) -> str:
        return f"kernel_size={self._kernel_size}, stride={self._stride}, padding={self._padding}"

    def _reduce(self, windows: mx.array, axes: tuple[int, ...]) -> mx.array:
        raise NotImplementedError

    def __call__(self, x: mx.array) -> mx.array:
        dims = self._dims
        if x.ndim != dims + 2:
            raise ValueError(f"{type(self).__name__}: the input has {x.ndim} dimensions, not {dims + 2} (batch, "
                             f"{dims} of places, channels)")
        if any(self._padding):
            around = [(0, 0), *((one, one) for one in self._padding), (0, 0)]
            x = mx.pad(x, around, constant_values=self._outside)
        for place, window in zip(x.shape[1:], self._kernel_size):
            if place < window:
                raise ValueError(f"{type(self).__name__}: windows {self._kernel_size} are larger than the padded input "
                                 f"{x.shape}")
        return self._reduce(_windows(x, self._kernel_size, self._stride), tuple(range(-dims - 1, -1)))


class _MaxPool(_Pool):
    _outside = -float("inf")

    def _reduce(self, windows: mx.array, axes: tuple[int, ...]) -> mx.array:
        return mx.max(windows, axis=axes)


class _AvgPool(_Pool):
    """The mean includes the zeros of the padding."""

    _outside = 0

    def _reduce(self, windows: mx.array, axes: tuple[int, ...]) -> mx.array:
        return mx.mean(windows, axis=axes)


class MaxPool1d(_MaxPool):
    """The maximum of windows of x (batch, length, channels): (length + 2 * padding - kernel_size) // stride + 1 places.
    The stride is kernel_size by default. Raises ValueError for windows larger than the padded input."""

    _dims = 1


class MaxPool2d(_MaxPool):
    """The maximum of windows of x (batch, height, width, channels), as MaxPool1d."""

    _dims = 2


class MaxPool3d(_MaxPool):
    """The maximum of windows of x (batch, depth, height, width, channels), as MaxPool1d."""

    _dims = 3


class AvgPool1d(_AvgPool):
    """The mean of windows of x (batch, length, channels), including zeros of the padding; sizes as those of
    MaxPool1d."""

    _dims = 1


class AvgPool2d(_AvgPool):
    """The mean of windows of x (batch, height, width, channels), as AvgPool1d."""

    _dims = 2


class AvgPool3d(_AvgPool):
    """The mean of windows of x (batch, depth, height, width, channels), as AvgPool1d."""

    _dims = 3
