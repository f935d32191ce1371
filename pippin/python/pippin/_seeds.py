"""The source of seeds for texts without one: Python's `random`, or the sequence that pippin.core.random.seed() starts,
once
that was called, as in MLX."""

from __future__ import annotations

import random

_begun: random.Random | None = None


def begin(seed: int) -> None:
    """Starts a new sequence from this seed."""
    global _begun
    _begun = random.Random(seed)


def draw() -> int:
    """The next 64-bit number."""
    return random.getrandbits(64) if _begun is None else _begun.getrandbits(64)
