"""Losses: the distance of predictions from targets. Forward only; `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

import math

from .. import core as mx

__all__ = [
    "binary_cross_entropy", "cosine_similarity_loss", "cross_entropy", "gaussian_nll_loss", "hinge_loss", "huber_loss",
    "kl_div_loss", "l1_loss", "log_cosh_loss", "margin_ranking_loss", "mse_loss", "nll_loss", "smooth_l1_loss",
    "triplet_loss",
]


def _reduced(loss: mx.array, reduction: str) -> mx.array:
    if reduction == "none":
        return loss
    if reduction == "mean":
        return mx.mean(loss)
    if reduction == "sum":
        return mx.sum(loss)
    raise ValueError(f"loss: the reduction is {reduction!r}, not none, mean or sum")


def _same_shape(name: str, **arrays: mx.array) -> None:
    if len({array.shape for array in arrays.values()}) > 1:
        raise ValueError(f"{name}: " + ", ".join(f"{key} of {array.shape}" for key, array in arrays.items())
                         + " have to have one shape")


def _weighted(name: str, loss: mx.array, weights: mx.array | None) -> mx.array:
    if weights is None:
        return loss
    _same_shape(name, loss=loss, weights=weights)
    return loss * weights


def _chosen(x: mx.array, index: mx.array, axis: int) -> mx.array:
    return mx.take_along_axis(x, mx.expand_dims(index, axis), axis).squeeze(axis)


def cross_entropy(logits: mx.array, targets: mx.array, weights: mx.array | None = None, axis: int = -1,
                  label_smoothing: float = 0.0, reduction: str = "none") -> mx.array:
    """Of logits along `axis`; targets are class indices, or probabilities if `targets` has as many dimensions."""
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"cross_entropy: label_smoothing is {label_smoothing}, which is not in [0, 1)")
    expected = list(logits.shape)
    as_classes = targets.ndim != logits.ndim
    if as_classes:
        del expected[axis]
    if tuple(expected) != tuple(targets.shape):
        raise ValueError(f"cross_entropy: targets of {targets.shape} do not belong to logits of {logits.shape}")
    # Subtracts the largest element: large ones would lose their differences to rounding.
    logits = logits - mx.max(logits, axis=axis, keepdims=True)
    score = _chosen(logits, targets, axis) if as_classes else mx.sum(logits * targets, axis=axis)
    if label_smoothing > 0:
        score = (1 - label_smoothing) * score + label_smoothing * mx.mean(logits, axis=axis)
    loss = mx.logsumexp(logits, axis=axis) - score
    return _reduced(_weighted("cross_entropy", loss, weights), reduction)


def binary_cross_entropy(inputs: mx.array, targets: mx.array, weights: mx.array | None = None,
                         with_logits: bool = True, reduction: str = "mean") -> mx.array:
    """Of logits, or of probabilities, whose logarithms are clamped at -100."""
    _same_shape("binary_cross_entropy", inputs=inputs, targets=targets)
    if with_logits:
        loss = mx.logaddexp(0.0, inputs) - inputs * targets
    else:
        yes, no = (mx.maximum(mx.log(share), -100) for share in (inputs, 1 - inputs))
        loss = -(targets * yes + (1 - targets) * no)
    return _reduced(_weighted("binary_cross_entropy", loss, weights), reduction)


def l1_loss(predictions: mx.array, targets: mx.array, reduction: str = "mean") -> mx.array:
    """|predictions - targets|. Raises ValueError for different shapes."""
    _same_shape("l1_loss", predictions=predictions, targets=targets)
    return _reduced(mx.abs(predictions - targets), reduction)


def mse_loss(predictions: mx.array, targets: mx.array, reduction: str = "mean") -> mx.array:
    """(predictions - targets)². Raises ValueError for different shapes."""
    _same_shape("mse_loss", predictions=predictions, targets=targets)
    return _reduced(mx.square(predictions - targets), reduction)


def nll_loss(inputs: mx.array, targets: mx.array, axis: int = -1, reduction: str = "none") -> mx.array:
    """Of log probabilities and class indices."""
    return _reduced(-_chosen(inputs, targets, axis), reduction)


def gaussian_nll_loss(inputs: mx.array, targets: mx.array, vars: mx.array, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> mx.array:
    """Of normal distributions with means `inputs` and variances `vars` (at least eps). `full` adds the constant."""
    _same_shape("gaussian_nll_loss", inputs=inputs, targets=targets, vars=vars)
    variance = mx.maximum(vars, eps)
    loss = 0.5 * (mx.log(variance) + mx.square(targets - inputs) / variance)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def kl_div_loss(inputs: mx.array, targets: mx.array, axis: int = -1, reduction: str = "none") -> mx.array:
    """Of log probabilities, both."""
    return _reduced(mx.sum(mx.exp(targets) * (targets - inputs), axis=axis), reduction)


def smooth_l1_loss(predictions: mx.array, targets: mx.array, beta: float = 1.0, reduction: str = "mean") -> mx.array:
    """Quadratic below beta, linear above."""
    _same_shape("smooth_l1_loss", predictions=predictions, targets=targets)
    distance = mx.abs(predictions - targets)
    return _reduced(mx.where(distance < beta, 0.5 * mx.square(distance) / beta, distance - 0.5 * beta), reduction)


def triplet_loss(anchors: mx.array, positives: mx.array, negatives: mx.array, axis: int = -1, p: int = 2,
                 margin: float = 1.0, eps: float = 1e-6, reduction: str = "none") -> mx.array:
    """How much closer (in the p-norm) positives must be than negatives, with at least the margin."""

    def distance(others: mx.array) -> mx.array:
        return mx.power(mx.sum(mx.power(mx.abs(anchors - others), p), axis=axis) + eps, 1.0 / p)

    return _reduced(mx.maximum(distance(positives) - distance(negatives) + margin, 0), reduction)


def hinge_loss(inputs: mx.array, targets: mx.array, reduction: str = "none") -> mx.array:
    """Targets are -1 or 1."""
    return _reduced(mx.maximum(1 - inputs * targets, 0), reduction)


def huber_loss(inputs: mx.array, targets: mx.array, delta: float = 1.0, reduction: str = "none") -> mx.array:
    """Quadratic up to delta, linear above."""
    distance = mx.abs(inputs - targets)
    near = mx.minimum(distance, delta)
    return _reduced(0.5 * mx.square(near) + delta * (distance - near), reduction)


def log_cosh_loss(inputs: mx.array, targets: mx.array, reduction: str = "none") -> mx.array:
    """log(cosh(inputs - targets))"""
    errors = inputs - targets
    return _reduced(mx.logaddexp(errors, -errors) - math.log(2), reduction)


def cosine_similarity_loss(x1: mx.array, x2: mx.array, axis: int = 1, eps: float = 1e-8,
                           reduction: str = "none") -> mx.array:
    """The cosine between x1 and x2 along an axis."""
    norms = mx.linalg.norm(x1, axis=axis) * mx.linalg.norm(x2, axis=axis)
    return _reduced(mx.sum(x1 * x2, axis=axis) / mx.maximum(norms, eps), reduction)


def margin_ranking_loss(inputs1: mx.array, inputs2: mx.array, targets: mx.array, margin: float = 0.0,
                        reduction: str = "none") -> mx.array:
    """Targets are 1 if inputs1 should be larger, -1 if inputs2 should."""
    _same_shape("margin_ranking_loss", inputs1=inputs1, inputs2=inputs2, targets=targets)
    return _reduced(mx.maximum(0, margin - targets * (inputs1 - inputs2)), reduction)
