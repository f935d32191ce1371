"""What texts without a seed are drawn from: Python's `random`, and once pippin.core.random.seed() is called what
that began, as in MLX."""

from __future__ import annotations

import random

_begun: random.Random | None = None


def begin(seed: int) -> None:
    """From now on numbers come of this seed."""
    global _begun
    _begun = random.Random(seed)


def draw() -> int:
    """The next number of 64 bits."""
    return random.getrandbits(64) if _begun is None else _begun.getrandbits(64)
