"""Perplexity: how well a model predicts a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._errors import InvalidArgumentError
from .._pippin import LanguageModel
from .tokenizer_utils import as_tokens

__all__ = ["eval_ppl", "perplexity"]


def eval_ppl(model: LanguageModel, data: Sequence[Any], batch_size: int = 8) -> tuple[float, float]:
    """The perplexity over rows of tokens, and its standard error. Rows are read one by one, regardless of
    batch_size. Raises InvalidArgumentError if there are no rows, LimitExceededError for rows beyond the context.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> value, error = lm.eval_ppl(model, [tokenizer.encode("Once upon a time there was a fox.")])
    >>> value > 1 and error > 0
    True
    """
    losses: list[float] = []
    for row in data:
        losses += model.losses(as_tokens(row)).tolist()
    return _summary(losses)


def perplexity(model: LanguageModel, tokenizer: Any, text: Any, window: int = 512) -> float:
    """The perplexity of a text, or of tokens, in windows of `window` tokens, at most the model's context.
    Raises InvalidArgumentError for fewer than two tokens.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> known, strange = "Once upon a time there was a fox.", "fox a was there time a upon Once."
    >>> lm.perplexity(model, tokenizer, known) < lm.perplexity(model, tokenizer, strange)
    True
    """
    tokens = tokenizer.encode(text) if isinstance(text, str) else as_tokens(text)
    size = min(int(window), model.context)
    if size < 2:
        raise InvalidArgumentError(f"window: {size} tokens leave none to foresee, 2 at least do")
    rows = [tokens[first:first + size] for first in range(0, len(tokens), size)]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        raise InvalidArgumentError(f"text: {len(tokens)} tokens leave none to foresee, 2 at least do")
    return eval_ppl(model, rows)[0]


def _summary(losses: list[float]) -> tuple[float, float]:
    if not losses:
        raise InvalidArgumentError("data: it has no rows")
    mean = math.fsum(losses) / len(losses)
    value = math.exp(mean)
    if len(losses) < 2:
        return value, math.nan
    variance = math.fsum((loss - mean) ** 2 for loss in losses) / (len(losses) - 1)
    return value, value * math.sqrt(variance / len(losses))
