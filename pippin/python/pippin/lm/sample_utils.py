"""Samplers and logits processors.

>>> from pippin.lm.sample_utils import make_sampler
>>> sampler = make_sampler(temp=0.8, top_p=0.9, seed=1)
>>> sampler.temperature
0.8
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _pippin, _seeds

__all__ = [
    "apply_min_p", "apply_top_k", "apply_top_p", "apply_xtc", "categorical_sampling", "make_frequency_penalty",
    "make_logits_processors", "make_presence_penalty", "make_repetition_penalty", "make_sampler",
]


def make_sampler(
    temp: float = 0.0, top_p: float = 0.0, min_p: float = 0.0, min_tokens_to_keep: int = 1, top_k: int = 0,
    xtc_probability: float = 0.0, xtc_threshold: float = 0.1, xtc_special_tokens: Sequence[int] = (),
    seed: int | None = None,
) -> _pippin.Sampler:
    """A sampler, which chooses a token by log probabilities: the most likely one with temp=0. Filters apply to the
    probabilities before the temperature does; 0 disables one. With a seed, texts are repeatable; without, seeds
    come from Python's `random`, or from pippin.core.random.seed() once that is called. Called with an array
    [rows, vocabulary], it returns a token for each row.

    >>> from pippin import lm
    >>> lm.make_sampler()(np.log([[0.1, 0.7, 0.2]])).tolist()
    [1]
    """
    return _pippin._make_sampler(
        temp=temp, top_p=top_p, min_p=min_p, min_tokens_to_keep=min_tokens_to_keep, top_k=top_k,
        xtc_probability=xtc_probability, xtc_threshold=xtc_threshold,
        xtc_special_tokens=list(xtc_special_tokens), seed=seed)


def make_logits_processors(
    logit_bias: Mapping[int, float] | None = None, repetition_penalty: float | None = None,
    repetition_context_size: int | None = 20, presence_penalty: float | None = None,
    presence_context_size: int | None = 20, frequency_penalty: float | None = None,
    frequency_context_size: int | None = 20,
) -> list[_pippin.LogitsProcessor]:
    """Processors that change logits before a token is chosen, in this order. Penalties consider the given number
    of last tokens of prompt and text; None or 0: all. Each can also be called as processor(tokens, logits).

    >>> from pippin import lm
    >>> bias, penalty = lm.make_logits_processors(logit_bias={2: 5.0}, repetition_penalty=2.0)
    >>> bias(np.array([0]), np.ones((1, 3), np.float32)).tolist()
    [[1.0, 1.0, 6.0]]
    >>> penalty(np.array([0]), np.ones((1, 3), np.float32)).tolist()
    [[0.5, 1.0, 1.0]]
    """
    return _pippin._make_processors(
        {int(token): float(bias) for token, bias in (logit_bias or {}).items()},
        [(repetition_penalty or 0.0, repetition_context_size or 0),
         (presence_penalty or 0.0, presence_context_size or 0),
         (frequency_penalty or 0.0, frequency_context_size or 0)])


def make_repetition_penalty(penalty: float, context_size: int = 20) -> _pippin.LogitsProcessor:
    """Divides the logits of the last tokens by the penalty, or multiplies those below 0."""
    return _penalty(0, penalty, context_size)


def make_presence_penalty(penalty: float, context_size: int = 20) -> _pippin.LogitsProcessor:
    """Subtracts the penalty from the logit of each of the last tokens."""
    return _penalty(1, penalty, context_size)


def make_frequency_penalty(penalty: float, context_size: int = 20) -> _pippin.LogitsProcessor:
    """Subtracts the penalty from the logits of the last tokens, once per occurrence."""
    return _penalty(2, penalty, context_size)


def _penalty(kind: int, penalty: float, context_size: int) -> _pippin.LogitsProcessor:
    made = _pippin._make_processors(
        {}, [(float(penalty) if each == kind else 0.0, int(context_size)) for each in range(3)])
    # A penalty of 0 changes nothing; nor does a bias of 0.
    return made[0] if made else _pippin._make_processors({0: 0.0}, [])[0]


def apply_top_k(logprobs: Any, top_k: int) -> Any:
    """The log probabilities with all but the `top_k` most likely tokens at -inf.

    >>> from pippin.lm.sample_utils import apply_top_k
    >>> np.isfinite(apply_top_k(np.log([[0.5, 0.3, 0.2]]), 1)).tolist()
    [[True, False, False]]
    """
    values, like = _numbers(logprobs)
    size = values.shape[-1]
    if not isinstance(top_k, int) or not 0 < top_k < size:
        raise ValueError(f"top_k: {top_k} is not a whole number between 1 and {size - 1}")
    return like(_without(values, values.argsort(axis=-1)[..., :-top_k]))


def apply_min_p(logprobs: Any, min_p: float, min_tokens_to_keep: int = 1) -> Any:
    """The log probabilities with tokens at -inf that are less likely than `min_p` times the most likely one; at
    least min_tokens_to_keep tokens stay. Raises ValueError for values out of range."""
    if not 0 <= min_p <= 1:
        raise ValueError(f"min_p: {min_p} is not between 0 and 1")
    if not isinstance(min_tokens_to_keep, int) or min_tokens_to_keep < 1:
        raise ValueError(f"min_tokens_to_keep: {min_tokens_to_keep} is not a whole number above 0")
    values, like = _numbers(logprobs)
    if min_p == 0:
        return like(values)
    dropped = values < values.max(axis=-1, keepdims=True) + math.log(min_p)
    order = values.argsort(axis=-1)
    for row, kept in zip(dropped.reshape(-1, dropped.shape[-1]), order.reshape(-1, order.shape[-1]), strict=True):
        row[kept[-min_tokens_to_keep:]] = False
    values[dropped] = -math.inf
    return like(values)


def apply_top_p(logprobs: Any, top_p: float) -> Any:
    """The log probabilities with all tokens at -inf except the most likely ones whose probabilities sum to
    `top_p`.

    >>> from pippin.lm.sample_utils import apply_top_p
    >>> np.isfinite(apply_top_p(np.log([[0.5, 0.3, 0.2]]), 0.7)).tolist()
    [[True, True, False]]
    """
    import numpy

    values, like = _numbers(logprobs)
    order = values.argsort(axis=-1)
    # The probability of a token and all less likely ones.
    below = numpy.take_along_axis(numpy.exp(values), order, axis=-1).cumsum(axis=-1)
    total = numpy.empty_like(below)
    numpy.put_along_axis(total, order, below, axis=-1)
    values[total <= 1 - top_p] = -math.inf
    return like(values)


def apply_xtc(logits: Any, xtc_probability: float, xtc_threshold: float, xtc_special_tokens: Sequence[int]) -> Any:
    """With probability xtc_probability, the logits with the tokens above the threshold at -inf, except the
    least likely of them. Raises ValueError for a probability outside [0, 1] or a threshold outside [0, 0.5]."""
    import numpy

    if not 0 <= xtc_threshold <= 0.5:
        raise ValueError(f"xtc_threshold: {xtc_threshold} is not between 0 and 0.5")
    if not 0 <= xtc_probability <= 1:
        raise ValueError(f"xtc_probability: {xtc_probability} is not between 0 and 1")
    values, like = _numbers(logits)
    if _seeds.draw() / 2**64 > xtc_probability:
        return like(values)
    probabilities = numpy.exp(values - values.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    above = numpy.where(probabilities > xtc_threshold, probabilities, math.inf)
    dropped = probabilities > above.min(axis=-1, keepdims=True)
    if xtc_special_tokens:
        dropped[..., list(xtc_special_tokens)] = False
    values[dropped] = -math.inf
    return like(values)


def categorical_sampling(logits: Any, temp: float) -> Any:
    """Draws a token for each row by its probability at that temperature."""
    values, like = _numbers(logits)
    return like(make_sampler(temp=temp)(values))


def _without(values: Any, places: Any) -> Any:
    import numpy

    numpy.put_along_axis(values, places, -math.inf, axis=-1)
    return values


def _numbers(given: Any) -> tuple[Any, Any]:
    """A copy as a NumPy array of floats, and a function that converts such an array to the given kind."""
    import numpy

    values = numpy.array(given, dtype=numpy.float32)
    if not type(given).__module__.startswith(("pippin.core", "mlx.")):
        return values, lambda result: result
    from .. import core

    return values, core.array
