"""Layers that multiply by a matrix or look up its rows."""

from __future__ import annotations

import math
from typing import Any

from .. import core as mx
from .module import Module
from .quantized import QQLinear, QuantizedEmbedding, QuantizedLinear


def uniform(size: int, shape: tuple[int, ...]) -> mx.array:
    """Weights between -1 / sqrt(size) and 1 / sqrt(size), which keep the scale of a sum over `size` inputs."""
    bound = math.sqrt(1.0 / size)
    return mx.random.uniform(-bound, bound, shape)


class Identity(Module):
    """Returns its argument; constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __call__(self, x: mx.array) -> mx.array:
        return x


class Linear(Module):
    """x @ weight.T + bias, with a weight of (output_dims, input_dims)."""

    def __init__(self, input_dims: int, output_dims: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = uniform(input_dims, (output_dims, input_dims))
        if bias:
            self.bias = uniform(input_dims, (output_dims,))

    def _extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return f"input_dims={columns}, output_dims={rows}, bias={'bias' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        weight = self["weight"].T
        return mx.addmm(self["bias"], x, weight) if "bias" in self else x @ weight

    def to_quantized(self, group_size: int | None = None, bits: int | None = None, mode: str = "affine",
                     quantize_input: bool = False) -> QuantizedLinear | QQLinear:
        """The layer with packed weights. With `quantize_input` (modes nvfp4 and mxfp8), its input is rounded as
        well."""
        if not quantize_input:
            return QuantizedLinear.from_linear(self, group_size, bits, mode)
        if mode not in ("nvfp4", "mxfp8"):
            raise ValueError(f"to_quantized: inputs are quantized in the modes nvfp4 and mxfp8, not in {mode}")
        return QQLinear.from_linear(self, group_size, bits, mode)


class Bilinear(Module):
    """The product of x1 and x2 through a weight of (output_dims, input2_dims, input1_dims)."""

    def __init__(self, input1_dims: int, input2_dims: int, output_dims: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = uniform(input1_dims, (output_dims, input2_dims, input1_dims))
        if bias:
            self.bias = uniform(input1_dims, (output_dims,))

    def _extra_repr(self) -> str:
        outputs, second, first = self.weight.shape
        return f"input1_dims={first}, input2_dims={second}, output_dims={outputs}, bias={'bias' in self}"

    def __call__(self, x1: mx.array, x2: mx.array) -> mx.array:
        outputs, second, first = self.weight.shape
        # One product for all outputs, (..., outputs * second), then one per row.
        products = (x1 @ self.weight.reshape(outputs * second, first).T).reshape(*x1.shape[:-1], outputs, second)
        y = (products @ x2[..., None]).squeeze(-1)
        return y + self.bias if "bias" in self else y


class Embedding(Module):
    """Row x of a table of `num_embeddings` rows of `dims`."""

    def __init__(self, num_embeddings: int, dims: int) -> None:
        super().__init__()
        self.weight = mx.random.normal((num_embeddings, dims), scale=math.sqrt(1 / dims))

    def _extra_repr(self) -> str:
        rows, columns = self.weight.shape
        return f"{rows}, {columns}"

    def __call__(self, x: mx.array) -> mx.array:
        return self["weight"][x]

    def as_linear(self, x: mx.array) -> mx.array:
        """x times the table: the scores of its rows, for models whose output shares the embedding."""
        return x @ self["weight"].T

    def to_quantized(self, group_size: int | None = None, bits: int | None = None, mode: str = "affine",
                     quantize_input: bool = False) -> QuantizedEmbedding:
        """The layer with a packed table. Raises ValueError with `quantize_input`."""
        if quantize_input:
            raise ValueError("to_quantized: an embedding's input are numbers of rows, which are not quantized")
        return QuantizedEmbedding.from_embedding(self, group_size, bits, mode)
