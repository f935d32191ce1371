"""Normalization over features, groups of features, places or batches."""

from __future__ import annotations

from typing import Any

from .. import core as mx
from .module import Module


class _Norm(Module):
    """The base class of norms: eps, and weight * x + bias at the end if they are affine."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        if eps <= 0:
            raise ValueError(f"{type(self).__name__}: eps is {eps}; it must be positive")
        self.eps = eps

    def _make_affine(self, dims: int) -> None:
        self.weight = mx.ones((dims,))
        self.bias = mx.zeros((dims,))

    def _scaled(self, x: mx.array) -> mx.array:
        return self.weight * x + self.bias if "weight" in self else x


class RMSNorm(_Norm):
    """x / sqrt(mean(x^2) + eps) * weight over the last axis."""

    def __init__(self, dims: int, eps: float = 1e-5) -> None:
        super().__init__(eps)
        self.weight = mx.ones((dims,))

    def _extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, self["weight"], self.eps)


class LayerNorm(_Norm):
    """(x - mean) / sqrt(variance + eps) over the last axis, times weight, plus bias."""

    def __init__(self, dims: int, eps: float = 1e-5, affine: bool = True, bias: bool = True) -> None:
        super().__init__(eps)
        if affine:
            self.weight = mx.ones((dims,))
            if bias:
                self.bias = mx.zeros((dims,))
        self.dims = dims

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.layer_norm(x, self.get("weight"), self.get("bias"), self.eps)


def _normed_groups(x: mx.array, groups: int, are_neighbours: bool, eps: float) -> mx.array:
    """(batch, ..., features) with each group of features and all of its places as one row of layer_norm, which sums
    in float32. A group is every `groups`-th feature, or adjacent features."""
    batch, size = x.shape[0], x.shape[-1] // groups
    if are_neighbours:
        split, there, back = (batch, -1, groups, size), (0, 2, 1, 3), (0, 2, 1, 3)
    else:
        split, there, back = (batch, -1, size, groups), (0, 3, 1, 2), (0, 2, 3, 1)
    rows = x.reshape(split).transpose(there)
    y = mx.fast.layer_norm(rows.reshape(batch, groups, -1), None, None, eps)
    return y.reshape(rows.shape).transpose(back).reshape(x.shape)


class InstanceNorm(_Norm):
    """Normalizes each feature of each element of the batch over its places: x is (batch, ..., features)."""

    def __init__(self, dims: int, eps: float = 1e-5, affine: bool = False) -> None:
        super().__init__(eps)
        if affine:
            self._make_affine(dims)
        self.dims = dims

    def _extra_repr(self) -> str:
        return f"{self.dims}, eps={self.eps}, affine={'weight' in self}"

    def __call__(self, x: mx.array) -> mx.array:
        if x.ndim < 3:
            raise ValueError(f"InstanceNorm: the input has {x.ndim} dimensions; (batch, ..., features) has at least 3")
        return self._scaled(_normed_groups(x, self.dims, False, self.eps))


class GroupNorm(_Norm):
    """Normalizes groups of features over the group and all places: x is (batch, ..., features).

    A group is every num_groups-th feature, or adjacent features if `pytorch_compatible`."""

    def __init__(self, num_groups: int, dims: int, eps: float = 1e-5, affine: bool = True,
                 pytorch_compatible: bool = False) -> None:
        super().__init__(eps)
        if num_groups <= 0 or dims <= 0 or dims % num_groups != 0:
            raise ValueError(f"GroupNorm: {dims} features cannot be {num_groups} groups")
        if affine:
            self._make_affine(dims)
        self.num_groups, self.dims, self.pytorch_compatible = num_groups, dims, pytorch_compatible

    def _extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.dims}, eps={self.eps}, affine={'weight' in self}, "
                f"pytorch_compatible={self.pytorch_compatible}")

    def __call__(self, x: mx.array) -> mx.array:
        return self._scaled(_normed_groups(x, self.num_groups, self.pytorch_compatible, self.eps))


class BatchNorm(_Norm):
    """Normalizes features over the batch and all places: x is (batch, features) or (batch, ..., features).

    In training it uses the statistics of the batch and updates running_mean and running_var; otherwise it uses those.
    They are always frozen."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True) -> None:
        super().__init__(eps)
        self.num_features, self.momentum, self.track_running_stats = num_features, momentum, track_running_stats
        if affine:
            self._make_affine(num_features)
        if track_running_stats:
            self.running_mean = mx.zeros((num_features,))
            self.running_var = mx.ones((num_features,))
            self.freeze(keys=["running_mean", "running_var"], recurse=False)

    def unfreeze(self, *args: Any, **kwargs: Any) -> Module:
        """The opposite of freeze(); the running mean and variance stay frozen."""
        super().unfreeze(*args, **kwargs)
        return self.freeze(keys=["running_mean", "running_var"], recurse=False)

    def _extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={'weight' in self}, "
                f"track_running_stats={self.track_running_stats}")

    def _follow(self, name: str, value: mx.array) -> None:
        self[name] = (1 - self.momentum) * self[name] + self.momentum * value

    def __call__(self, x: mx.array) -> mx.array:
        if not 2 <= x.ndim <= 4:
            raise ValueError(f"BatchNorm: the input has {x.ndim} dimensions, not 2, 3 or 4")
        axes = tuple(range(x.ndim - 1))
        if self.training and x.size == x.shape[-1]:
            raise ValueError(f"BatchNorm: an input of {x.shape} has one value for each feature, which has no variance "
                             "to train with")
        if self.training or not self.track_running_stats:
            mean, var = mx.mean(x, axis=axes), mx.var(x, axis=axes)
            if self.training and self.track_running_stats:
                self._follow("running_mean", mean)
                self._follow("running_var", mx.var(x, axis=axes, ddof=1))
        else:
            mean, var = self.running_mean, self.running_var
        return self._scaled((x - mean) * mx.rsqrt(var + self.eps))
