"""Activations as functions and as modules."""

from __future__ import annotations

import math

from .. import core as mx
from .module import Module


def sigmoid(x: mx.array) -> mx.array:
    """1 / (1 + exp(-x)), element by element."""
    return mx.sigmoid(x)


def tanh(x: mx.array) -> mx.array:
    """The hyperbolic tangent, element by element."""
    return mx.tanh(x)


def relu(x: mx.array) -> mx.array:
    """max(x, 0)"""
    return mx.maximum(x, 0)


def relu2(x: mx.array) -> mx.array:
    """The square of relu(x)."""
    return mx.square(relu(x))


def relu6(x: mx.array) -> mx.array:
    """x, clamped to [0, 6]."""
    return mx.minimum(relu(x), 6.0)


def leaky_relu(x: mx.array, negative_slope: float = 0.01) -> mx.array:
    """max(x, negative_slope * x)"""
    return mx.maximum(negative_slope * x, x)


def prelu(x: mx.array, alpha: mx.array) -> mx.array:
    """x, times alpha if it is negative."""
    return relu(x) + alpha * mx.minimum(0, x)


def elu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """x if it is positive, otherwise alpha * (exp(x) - 1)."""
    return mx.where(x > 0, x, alpha * (mx.exp(x) - 1))


def celu(x: mx.array, alpha: float = 1.0) -> mx.array:
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)"""
    return mx.maximum(x, 0.0) + alpha * (mx.exp(mx.minimum(x, 0.0) / alpha) - 1)


def selu(x: mx.array) -> mx.array:
    """elu() with alpha 1.67326, times 1.0507 (Klambauer et al., 2017)."""
    return 1.0507 * elu(x, 1.67326)


def silu(x: mx.array) -> mx.array:
    """x * sigmoid(x), also called swish."""
    return x * mx.sigmoid(x)


def gelu(x: mx.array) -> mx.array:
    """x times the cumulative distribution function of the normal distribution."""
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def gelu_approx(x: mx.array) -> mx.array:
    """gelu with the tanh approximation, as in GPT-2."""
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_fast_approx(x: mx.array) -> mx.array:
    """gelu with the sigmoid approximation."""
    return x * mx.sigmoid(1.702 * x)


def glu(x: mx.array, axis: int = -1) -> mx.array:
    """The first half along `axis` times the sigmoid of the second."""
    values, gate = mx.split(x, 2, axis=axis)
    return values * mx.sigmoid(gate)


def softmax(x: mx.array, axis: int = -1) -> mx.array:
    """exp(x) / sum(exp(x)) along `axis`."""
    return mx.softmax(x, axis=axis)


def softmin(x: mx.array, axis: int = -1) -> mx.array:
    """softmax(-x) along `axis`."""
    return mx.softmax(-x, axis=axis)


def log_softmax(x: mx.array, axis: int = -1) -> mx.array:
    """The logarithm of softmax(x) along `axis`."""
    # Subtracts the largest element: large ones would lose their differences to rounding.
    x = x - mx.max(x, axis=axis, keepdims=True)
    return x - mx.logsumexp(x, axis=axis, keepdims=True)


def softplus(x: mx.array) -> mx.array:
    """log(1 + exp(x))"""
    return mx.logaddexp(x, 0)


def log_sigmoid(x: mx.array) -> mx.array:
    """The logarithm of sigmoid(x)."""
    return -softplus(-x)


def softsign(x: mx.array) -> mx.array:
    """x / (1 + |x|)"""
    return x / (1 + mx.abs(x))


def softshrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """x, moved toward 0 by lambd; 0 if it would cross 0."""
    return mx.where(mx.abs(x) > lambd, x - mx.sign(x) * lambd, 0)


def hard_shrink(x: mx.array, lambd: float = 0.5) -> mx.array:
    """x, or 0 if its magnitude is at most lambd."""
    return mx.where(mx.abs(x) > lambd, x, 0)


def hard_tanh(x: mx.array, min_val: float = -1.0, max_val: float = 1.0) -> mx.array:
    """x, clamped to [min_val, max_val]."""
    return mx.minimum(mx.maximum(x, min_val), max_val)


def hardswish(x: mx.array) -> mx.array:
    """x * relu6(x + 3) / 6"""
    return x * relu6(x + 3) / 6


def mish(x: mx.array) -> mx.array:
    """x * tanh(softplus(x))"""
    return x * mx.tanh(softplus(x))


def step(x: mx.array, threshold: float = 0.0) -> mx.array:
    """1 from the threshold on, 0 below, as integers."""
    return mx.where(x >= threshold, 1, 0)


class Sigmoid(Module):
    """sigmoid() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return sigmoid(x)


class Tanh(Module):
    """tanh() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return tanh(x)


class ReLU(Module):
    """relu() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return relu(x)


class ReLU2(Module):
    """relu2() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return relu2(x)


class ReLU6(Module):
    """relu6() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return relu6(x)


class LeakyReLU(Module):
    """leaky_relu() as a module."""

    def __init__(self, negative_slope: float = 1e-2) -> None:
        super().__init__()
        self._negative_slope = negative_slope

    def __call__(self, x: mx.array) -> mx.array:
        return leaky_relu(x, self._negative_slope)


class PReLU(Module):
    """prelu with `num_parameters` factors, which are parameters."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.weight = mx.full([num_parameters], init)

    def __call__(self, x: mx.array) -> mx.array:
        return prelu(x, self.weight)


class ELU(Module):
    """elu() as a module."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return elu(x, self._alpha)


class CELU(Module):
    """celu() as a module."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self._alpha = alpha

    def __call__(self, x: mx.array) -> mx.array:
        return celu(x, self._alpha)


class SELU(Module):
    """selu() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return selu(x)


class SiLU(Module):
    """silu() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return silu(x)


class GELU(Module):
    """gelu, or an approximation: "precise" (also called "tanh") or "fast"."""

    _FORMS = {"none": gelu, "precise": gelu_approx, "tanh": gelu_approx, "fast": gelu_fast_approx}

    def __init__(self, approx: str = "none") -> None:
        super().__init__()
        if approx not in self._FORMS:
            raise ValueError(f"GELU: approx is {approx!r}, not one of {', '.join(self._FORMS)}")
        self._approx = approx

    def __call__(self, x: mx.array) -> mx.array:
        return self._FORMS[self._approx](x)


class GLU(Module):
    """glu() as a module."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def __call__(self, x: mx.array) -> mx.array:
        return glu(x, self.axis)


class Softmax(Module):
    """softmax() along the last axis, as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return softmax(x)


class Softmin(Module):
    """softmin() along the last axis, as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return softmin(x)


class LogSoftmax(Module):
    """log_softmax() along the last axis, as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return log_softmax(x)


class Softplus(Module):
    """softplus() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return softplus(x)


class LogSigmoid(Module):
    """log_sigmoid() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return log_sigmoid(x)


class Softsign(Module):
    """softsign() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return softsign(x)


class Softshrink(Module):
    """softshrink() as a module."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return softshrink(x, self.lambd)


class HardShrink(Module):
    """hard_shrink() as a module."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def __call__(self, x: mx.array) -> mx.array:
        return hard_shrink(x, self.lambd)


class HardTanh(Module):
    """hard_tanh() to [-1, 1], as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return hard_tanh(x)


class Hardswish(Module):
    """hardswish() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return hardswish(x)


class Mish(Module):
    """mish() as a module."""

    def __call__(self, x: mx.array) -> mx.array:
        return mish(x)


class Step(Module):
    """step() as a module."""

    def __init__(self, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, x: mx.array) -> mx.array:
        return step(x, self.threshold)
