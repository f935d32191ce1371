"""Resizing of images and similar arrays: x is (batch, places..., channels), and every place axis is scaled.

Each axis is resized separately: an element of the result is a weighted sum of a few elements of x, given by `_Taps`."""

from __future__ import annotations

import math
from typing import Callable, Iterator

from .. import core as mx
from .module import Module

Kernel = Callable[[mx.array], mx.array]


def _triangle(distance: mx.array) -> mx.array:
    return mx.maximum(1 - distance, 0)


def _cubic(a: float) -> Kernel:
    """Keys' cubic convolution kernel, with slope `a` at distance 1."""

    def kernel(distance: mx.array) -> mx.array:
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = (((distance - 5) * distance + 8) * distance - 4) * a
        return mx.where(distance <= 1, near, mx.where(distance <= 2, far, 0.0))

    return kernel


def _positions(size: int, scale: float, align_corners: bool) -> mx.array:
    """The positions in x of the result's elements: corner centres on corner centres, or symmetric about the middle."""
    count = int(scale * size)
    places = mx.arange(count, dtype=mx.float32)
    if align_corners:
        return places * ((size - 1) / max(count - 1, 1))
    return places / scale - ((count - 1) / scale - size + 1) / 2


def _nearest(size: int, scale: float) -> mx.array:
    count = int(scale * size)
    places = mx.arange(count, dtype=mx.float32)
    if count > size:
        return mx.round((places + 0.5) * (size / count) - 0.5).astype(mx.uint32)
    return mx.floor(places * (size / count)).astype(mx.uint32)


Taps = Iterator[tuple[mx.array, mx.array]]


def _taps(positions: mx.array, size: int, kernel: Kernel, reach: int) -> Taps:
    """(places, weights) of the `reach` elements on either side; the border is repeated outside."""
    first = mx.floor(positions)
    for step in range(1 - reach, reach + 1):
        place = first + step
        yield mx.clip(place, 0, size - 1).astype(mx.uint32), kernel(mx.abs(positions - place))


def _wide_taps(positions: mx.array, size: int, scale: float, kernel: Kernel, reach: int) -> Taps:
    """The same with a kernel as wide as the elements that become one, so that none of x is skipped; outside of x there
    is
    nothing, and the remaining weights are normalized."""
    width = max(1 / scale, 1.0)
    last = math.ceil(reach * width)
    taps = []
    for step in range(-last, last + 1):
        place = mx.floor(positions) + step
        inside = (place >= 0) & (place < size)
        taps.append((place, mx.where(inside, kernel(mx.abs(positions - place) / width), 0.0)))
    total = taps[0][1]
    for _, weight in taps[1:]:
        total = total + weight
    total = mx.where(total > 0, total, 1.0)
    for place, weight in taps:
        yield mx.clip(place, 0, size - 1).astype(mx.uint32), weight / total


def _blend(x: mx.array, axis: int, taps: Taps) -> mx.array:
    shape = [1] * x.ndim
    shape[axis] = -1
    parts = [mx.take(x, place, axis=axis) * weight.reshape(shape) for place, weight in taps]
    y = parts[0]
    for part in parts[1:]:
        y = y + part
    return y


class Upsample(Module):
    """Scales the places of x by `scale_factor`, one number or one for each axis; below 1 it makes x smaller.

    mode: "nearest" repeats, "linear" and "cubic" interpolate. `align_corners` aligns the corners. `antialias` (not with
    align_corners, nor with "nearest") makes every element of x contribute if x becomes smaller; "cubic" then uses
    Pillow's kernel (a = -0.5) instead of OpenCV's (-0.75)."""

    def __init__(self, scale_factor: float | tuple[float, ...], mode: str = "nearest", align_corners: bool = False,
                 antialias: bool = False) -> None:
        super().__init__()
        if mode not in ("nearest", "linear", "cubic"):
            raise ValueError(f"Upsample: mode is {mode!r}, not nearest, linear or cubic")
        if antialias and (mode == "nearest" or align_corners):
            raise ValueError("Upsample: antialias works with linear and cubic, without align_corners")
        several = isinstance(scale_factor, (tuple, list))
        self.scale_factor = tuple(map(float, scale_factor)) if several else float(scale_factor)  # type: ignore
        self.mode, self.align_corners, self.antialias = mode, align_corners, antialias

    def _extra_repr(self) -> str:
        return (f"scale_factor={self.scale_factor}, mode={self.mode!r}, align_corners={self.align_corners}"
                + (", antialias=True" if self.antialias else ""))

    def _axis(self, x: mx.array, axis: int, scale: float) -> mx.array:
        size = x.shape[axis]
        if self.mode == "nearest":
            return mx.take(x, _nearest(size, scale), axis=axis)
        positions = _positions(size, scale, self.align_corners)
        if self.mode == "linear":
            if self.antialias:
                return _blend(x, axis, _wide_taps(positions, size, scale, _triangle, 1))
            return _blend(x, axis, _taps(mx.clip(positions, 0, size - 1), size, _triangle, 1))
        if self.antialias:
            return _blend(x, axis, _wide_taps(positions, size, scale, _cubic(-0.5), 2))
        return _blend(x, axis, _taps(positions, size, _cubic(-0.75), 2))

    def __call__(self, x: mx.array) -> mx.array:
        dims = x.ndim - 2
        if dims <= 0:
            raise ValueError(f"Upsample: the input has {x.ndim} dimensions; (batch, places..., channels) has 3 or more")
        scales = self.scale_factor if isinstance(self.scale_factor, tuple) else (self.scale_factor,) * dims
        if len(scales) != dims:
            raise ValueError(f"Upsample: {len(scales)} scales for an input with {dims} place axes")
        for axis, scale in enumerate(scales, 1):
            x = self._axis(x, axis, scale)
        return x
