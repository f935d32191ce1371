"""How tokens are chosen.

>>> from pippin.lm.sample_utils import make_sampler
>>> sampler = make_sampler(temp=0.8, top_p=0.9, seed=1)
>>> sampler.temperature
0.8
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _pippin

__all__ = ["make_logits_processors", "make_sampler"]


def make_sampler(
    temp: float = 0.0, top_p: float = 0.0, min_p: float = 0.0, min_tokens_to_keep: int = 1, top_k: int = 0,
    xtc_probability: float = 0.0, xtc_threshold: float = 0.0, xtc_special_tokens: Sequence[int] = (),
    seed: int | None = None,
) -> _pippin.Sampler:
    """What chooses a token by log probabilities: the most likely one with temp=0. Filters look at the
    probabilities before the temperature does; 0 switches one off. With a seed each text comes again;
    without, seeds are of Python's `random`. Called with an array [rows, vocabulary] it gives a token
    for each row.

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
    """What changes logits before a token is chosen, in this order. Penalties look at so many of the
    last tokens, of the prompt and of the text; None or 0: at all. Each can be called as
    processor(tokens, logits), too.

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
