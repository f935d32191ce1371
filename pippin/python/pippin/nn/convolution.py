"""Convolutions over 1 to 3 axes, and transposed ones. Layout is channels-last: x is (batch, places..., channels)."""

from __future__ import annotations

import math
from typing import Any

from .. import core as mx
from .linear import uniform
from .module import Module

Size = int | tuple[int, ...]


class _Convolution(Module):
    """The base class: a weight of (out_channels, kernel..., in_channels / groups), a bias, and the kernel's
    movement."""

    _dims: int

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size, padding: Size,
                 dilation: Size, groups: int, bias: bool) -> None:
        super().__init__()
        if groups <= 0 or in_channels % groups != 0:
            raise ValueError(f"{type(self).__name__}: {in_channels} channels cannot be {groups} groups")
        kernel = self._each(kernel_size)
        self.weight = uniform(in_channels * math.prod(kernel), (out_channels, *kernel, in_channels // groups))
        if bias:
            self.bias = mx.zeros((out_channels,))
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def _each(self, size: Size) -> tuple[int, ...]:
        sizes = (size,) * self._dims if isinstance(size, int) else tuple(size)
        if len(sizes) != self._dims:
            raise ValueError(f"{type(self).__name__}: {size} are {len(sizes)} sizes for {self._dims} axes")
        return sizes

    def _extra_repr(self) -> str:
        kernel = self.weight.shape[1:-1]
        more = f", output_padding={self.output_padding}" if hasattr(self, "output_padding") else ""
        return (f"{self.weight.shape[-1] * self.groups}, {self.weight.shape[0]}, "
                f"kernel_size={kernel[0] if self._dims == 1 else kernel}, stride={self.stride}, "
                f"padding={self.padding}, dilation={self.dilation}{more}, groups={self.groups}, "
                f"bias={'bias' in self}")

    def _arguments(self) -> tuple[Any, ...]:
        return (self.stride, self.padding, self.dilation, self.groups)

    def __call__(self, x: mx.array) -> mx.array:
        y = self._operation(x, self["weight"], *self._arguments())
        return y + self["bias"] if "bias" in self else y

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        raise NotImplementedError


class Conv1d(_Convolution):
    """Convolves x (batch, length, in_channels) with a weight (out_channels, kernel_size, in_channels / groups). Raises
    ValueError if groups do not divide the channels."""

    _dims = 1

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
                 dilation: int = 1, groups: int = 1, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv1d(x, weight, *how)


class Conv2d(_Convolution):
    """Convolves x (batch, height, width, in_channels) with a weight (out_channels, kernel..., in_channels / groups).
    Raises ValueError if groups do not divide the channels."""

    _dims = 2

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 dilation: Size = 1, groups: int = 1, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv2d(x, weight, *how)


class Conv3d(_Convolution):
    """Convolves x (batch, depth, height, width, in_channels) with a weight (out_channels, kernel..., in_channels)."""

    _dims = 3

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 dilation: Size = 1, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 1, bias)

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv3d(x, weight, *how)


class _Transposed(_Convolution):
    """A transposed convolution: strides enlarge the result, as does `output_padding` at one side."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, padding: Size = 0,
                 dilation: Size = 1, output_padding: Size = 0, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 1, bias)
        self.output_padding = output_padding

    def _arguments(self) -> tuple[Any, ...]:
        return (self.stride, self.padding, self.dilation, self.output_padding)


class ConvTranspose1d(_Transposed):
    """The transposed convolution of x (batch, length, in_channels): (length - 1) * stride - 2 * padding + dilation *
    (kernel_size - 1) + output_padding + 1 places."""

    _dims = 1

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv_transpose1d(x, weight, *how)


class ConvTranspose2d(_Transposed):
    """The transposed convolution of x (batch, height, width, in_channels); sizes as those of ConvTranspose1d."""

    _dims = 2

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv_transpose2d(x, weight, *how)


class ConvTranspose3d(_Transposed):
    """The transposed convolution of x (batch, depth, height, width, in_channels); sizes as those of ConvTranspose1d."""

    _dims = 3

    def _operation(self, x: mx.array, weight: mx.array, *how: Any) -> mx.array:
        return mx.conv_transpose3d(x, weight, *how)
