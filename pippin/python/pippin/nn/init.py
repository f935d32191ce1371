"""Initializers of weights: each function returns a function that returns an array of its argument's shape."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import core as mx

__all__ = ["constant", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity", "normal", "orthogonal",
           "sparse", "uniform"]

Initializer = Callable[..., mx.array]


def constant(value: float, dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a): every element is `value`."""
    return lambda a: mx.full(a.shape, value, dtype=dtype)


def normal(mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a): normal, with this mean and standard deviation."""
    return lambda a: mx.random.normal(a.shape, dtype, mean, std)


def uniform(low: float = 0.0, high: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a): uniform in [low, high)."""
    return lambda a: mx.random.uniform(low, high, a.shape, dtype)


def identity(dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a): the identity matrix. Raises ValueError if `a` is not a square matrix."""
    def initializer(arr: mx.array) -> mx.array:
        if arr.ndim != 2 or arr.shape[0] != arr.shape[1]:
            raise ValueError(f"identity: {arr.shape} is not a square matrix")
        return mx.eye(arr.shape[0], dtype=dtype)

    return initializer


def _fans(a: Any, mode: str = "both") -> float:
    """The number of inputs of an output ("fan_in"), of outputs of an input, or their mean, for a weight of (outputs,
    places..., inputs)."""
    if a.ndim < 2:
        raise ValueError(f"glorot and he: a weight has at least 2 dimensions, not {a.ndim}")
    places = math.prod(a.shape[1:-1])
    fans: dict[str, float] = {"fan_in": a.shape[-1] * places, "fan_out": a.shape[0] * places}
    if mode == "both":
        return sum(fans.values()) / 2
    if mode not in fans:
        raise ValueError(f"he: the mode is {mode!r}, not fan_in or fan_out")
    return fans[mode]


def glorot_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a, gain=1): normal, with standard deviation gain / sqrt(mean of inputs and outputs)."""

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        return mx.random.normal(a.shape, dtype, scale=gain / math.sqrt(_fans(a)))

    return initializer


def glorot_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a, gain=1): uniform, with the standard deviation of glorot_normal."""

    def initializer(a: mx.array, gain: float = 1.0) -> mx.array:
        bound = gain * math.sqrt(3 / _fans(a))
        return mx.random.uniform(-bound, bound, a.shape, dtype)

    return initializer


def he_normal(dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a, mode="fan_in", gain=1): normal, with standard deviation gain / sqrt(inputs, or outputs)."""

    def initializer(a: mx.array, mode: str = "fan_in", gain: float = 1.0) -> mx.array:
        return mx.random.normal(a.shape, dtype, scale=gain / math.sqrt(_fans(a, mode)))

    return initializer


def he_uniform(dtype: mx.Dtype = mx.float32) -> Initializer:
    """initializer(a, mode="fan_in", gain=1): uniform, with the standard deviation of he_normal."""

    def initializer(a: mx.array, mode: str = "fan_in", gain: float = 1.0) -> mx.array:
        bound = gain * math.sqrt(3 / _fans(a, mode))
        return mx.random.uniform(-bound, bound, a.shape, dtype)

    return initializer


def sparse(sparsity: float, mean: float = 0.0, std: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """A normal matrix with this fraction (rounded up) of zeros in each row."""

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError(f"sparse: {a.shape} is not a matrix")
        # The ranks of random numbers: each row has those below `zeros` in random columns.
        order = mx.argsort(mx.argsort(mx.random.uniform(shape=a.shape), axis=1), axis=1)
        zeros = math.ceil(sparsity * a.shape[1])
        values = mx.random.normal(a.shape, dtype, mean, std)
        return mx.where(order < zeros, mx.zeros(a.shape, dtype=dtype), values)

    return initializer


def orthogonal(gain: float = 1.0, dtype: mx.Dtype = mx.float32) -> Initializer:
    """A random matrix with orthogonal rows (or columns, if there are fewer) of length `gain`."""

    def initializer(a: mx.array) -> mx.array:
        if a.ndim != 2:
            raise ValueError(f"orthogonal: a 2D array is needed, not a {a.ndim}D array")
        count, length = min(a.shape), max(a.shape)
        rows: list[mx.array] = []
        for row in mx.random.normal((count, length)):
            # Orthogonalizes twice: the second time removes the rounding errors of the first.
            for _ in range(2 if rows else 0):
                before = mx.stack(rows)
                row = row - (before @ row) @ before
            rows.append(row / mx.sqrt(mx.sum(mx.square(row))))
            mx.eval(rows[-1])
        matrix = gain * mx.stack(rows)
        return (matrix if a.shape[0] == count else matrix.T).astype(dtype)

    return initializer
