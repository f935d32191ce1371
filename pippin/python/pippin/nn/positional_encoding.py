"""Positions of sequence elements in a form for layers."""

from __future__ import annotations

import math

from .. import core as mx
from .module import Module


class RoPE(Module):
    """Rotates pairs of the first `dims` features of x (..., length, features) by angles that grow with the position.

    Pairs are features i and i + dims / 2, or adjacent features if `traditional`; positions start at `offset`, one
    number, or one per element of the first axis."""

    def __init__(self, dims: int, traditional: bool = False, base: float = 10000, scale: float = 1.0) -> None:
        super().__init__()
        self.dims, self.traditional, self.base, self.scale = dims, traditional, base, scale

    def _extra_repr(self) -> str:
        return f"{self.dims}, traditional={self.traditional}"

    def __call__(self, x: mx.array, offset: int | mx.array = 0) -> mx.array:
        return mx.fast.rope(x, self.dims, traditional=self.traditional, base=self.base, scale=self.scale,
                            offset=offset)


class SinusoidalPositionalEncoding(Module):
    """Sines and cosines of x times dims / 2 frequencies, from max_freq down to min_freq.

    Sines come first, or cosines if `cos_first`; all are scaled by `scale`, by default sqrt(2 / dims).
    With `full_turns`, frequencies count turns instead of radians."""

    def __init__(self, dims: int, min_freq: float = 0.0001, max_freq: float = 1, scale: float | None = None,
                 cos_first: bool = False, full_turns: bool = False) -> None:
        super().__init__()
        if dims <= 0 or dims % 2 != 0:
            raise ValueError(f"SinusoidalPositionalEncoding: dims is {dims}; it must be positive and even")
        half = dims // 2
        low, high = math.log(min_freq), math.log(max_freq)
        falling = 1 - mx.arange(half) / max(half - 1, 1)
        # Not a parameter: its name begins with "_".
        self._frequencies = mx.exp(low + (high - low) * falling) * (2 * math.pi if full_turns else 1)
        self.scale = math.sqrt(2 / dims) if scale is None else scale
        self.cos_first = cos_first

    def __call__(self, x: mx.array) -> mx.array:
        angles = x[..., None] * self._frequencies
        parts = [mx.sin(angles), mx.cos(angles)]
        y = mx.concatenate(parts[::-1] if self.cos_first else parts, axis=-1)
        return y if self.scale == 1 else y * self.scale


class ALiBi(Module):
    """Adds biases to attention scores (batch, heads, queries, keys) that decrease with the distance, differently by
    head."""

    @staticmethod
    def create_alibi_matrix(q_sequence_length: int, k_sequence_length: int, num_heads: int, offset: int,
                            dtype: mx.Dtype = mx.float32) -> mx.array:
        """(1, heads, queries, keys): queries are those from `offset` to q_sequence_length."""
        queries, keys = mx.arange(offset, q_sequence_length), mx.arange(k_sequence_length)
        distance = mx.abs(queries[:, None] - keys[None, :])
        return (-distance[None, None] * ALiBi.create_alibi_slope(num_heads, dtype)).astype(dtype)

    @staticmethod
    def create_alibi_slope(num_heads: int, dtype: mx.Dtype) -> mx.array:
        """(heads, 1, 1): powers of one number; if the heads are not a power of two, the rest take values between
        those."""

        def powers(heads: int) -> list[float]:
            first = 2.0 ** (-8.0 / heads)
            return [first ** (i + 1) for i in range(heads)]

        whole = 1 << (num_heads.bit_length() - 1)
        slopes = powers(whole) + powers(2 * whole)[::2][:num_heads - whole]
        return mx.array(slopes, dtype=dtype)[:, None, None]

    def __call__(self, attention_scores: mx.array, offset: int = 0, mask: mx.array | None = None) -> mx.array:
        _, heads, queries, keys = attention_scores.shape
        bias = self.create_alibi_matrix(queries + offset, keys, heads, offset, attention_scores.dtype)
        return attention_scores + (bias if mask is None else bias + mask)
