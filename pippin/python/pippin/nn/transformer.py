"""Attention, and the original encoder–decoder transformer."""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import core as mx
from .activations import relu
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = Callable[[mx.array], mx.array]


class MultiHeadAttention(Module):
    """Attention of queries (batch, n, ...) to keys and values (batch, m, ...) in several heads, each projected first.

    An additive mask has to broadcast to (batch, heads, n, m)."""

    def __init__(self, dims: int, num_heads: int, query_input_dims: int | None = None,
                 key_input_dims: int | None = None, value_input_dims: int | None = None,
                 value_dims: int | None = None, value_output_dims: int | None = None, bias: bool = False) -> None:
        super().__init__()
        if dims % num_heads != 0:
            raise ValueError(f"MultiHeadAttention: {dims} features cannot be {num_heads} heads")
        key_input_dims = key_input_dims or dims
        value_dims = value_dims or dims
        self.num_heads = num_heads
        self.query_proj = Linear(query_input_dims or dims, dims, bias=bias)
        self.key_proj = Linear(key_input_dims, dims, bias=bias)
        self.value_proj = Linear(value_input_dims or key_input_dims, value_dims, bias=bias)
        self.out_proj = Linear(value_dims, value_output_dims or dims, bias=bias)

    def _heads(self, x: mx.array) -> mx.array:
        return mx.unflatten(x, -1, (self.num_heads, -1)).transpose(0, 2, 1, 3)

    def __call__(self, queries: mx.array, keys: mx.array, values: mx.array, mask: Any = None) -> mx.array:
        q, k, v = (self._heads(project(x)) for project, x in ((self.query_proj, queries), (self.key_proj, keys),
                                                              (self.value_proj, values)))
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.shape[-1]), mask=mask)
        return self.out_proj(y.transpose(0, 2, 1, 3).flatten(-2, -1))

    @staticmethod
    def create_additive_causal_mask(N: int, dtype: mx.Dtype = mx.float32) -> mx.array:
        """(N, N): 0 up to the diagonal, the smallest number of the type above it."""
        places = mx.arange(N)
        return (places[:, None] < places[None, :]).astype(dtype) * mx.finfo(dtype).min


class _Layer(Module):
    """The base of encoder and decoder layers: residual blocks with norms before or after, and the last of them."""

    def __init__(self, dims: int, mlp_dims: int | None, activation: Activation, norm_first: bool) -> None:
        super().__init__()
        hidden = mlp_dims or dims * 4
        self.linear1 = Linear(dims, hidden)
        self.linear2 = Linear(hidden, dims)
        self.activation, self.norm_first = activation, norm_first

    def _residual(self, x: mx.array, norm: Module, block: Callable[[mx.array], mx.array]) -> mx.array:
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _mlp(self, dropout: Module) -> Callable[[mx.array], mx.array]:
        return lambda x: self.linear2(dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network: (batch, length, dims) to the same shape."""

    def __init__(self, dims: int, num_heads: int, mlp_dims: int | None = None, dropout: float = 0.0,
                 activation: Activation = relu, norm_first: bool = True) -> None:
        super().__init__(dims, mlp_dims, activation, norm_first)
        self.attention = MultiHeadAttention(dims, num_heads)
        self.ln1, self.ln2 = LayerNorm(dims), LayerNorm(dims)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def __call__(self, x: mx.array, mask: Any) -> mx.array:
        x = self._residual(x, self.ln1, lambda y: self.dropout1(self.attention(y, y, y, mask)))
        return self._residual(x, self.ln2, self._mlp(self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result and a feed-forward network: (batch, length, dims) to the same
    shape."""

    def __init__(self, dims: int, num_heads: int, mlp_dims: int | None = None, dropout: float = 0.0,
                 activation: Activation = relu, norm_first: bool = True) -> None:
        super().__init__(dims, mlp_dims, activation, norm_first)
        self.self_attention = MultiHeadAttention(dims, num_heads)
        self.cross_attention = MultiHeadAttention(dims, num_heads)
        self.ln1, self.ln2, self.ln3 = LayerNorm(dims), LayerNorm(dims), LayerNorm(dims)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)

    def __call__(self, x: mx.array, memory: mx.array, x_mask: Any, memory_mask: Any) -> mx.array:
        x = self._residual(x, self.ln1, lambda y: self.dropout1(self.self_attention(y, y, y, x_mask)))
        x = self._residual(x, self.ln2, lambda y: self.dropout2(self.cross_attention(y, memory, memory, memory_mask)))
        return self._residual(x, self.ln3, self._mlp(self.dropout3))


class TransformerEncoder(Module):
    """Layers, then a norm. `checkpoint`, which saves memory in training, has no effect here."""

    def __init__(self, num_layers: int, dims: int, num_heads: int, mlp_dims: int | None = None, dropout: float = 0.0,
                 activation: Activation = relu, norm_first: bool = True, checkpoint: bool = False) -> None:
        super().__init__()
        self.layers = [TransformerEncoderLayer(dims, num_heads, mlp_dims, dropout, activation, norm_first)
                       for _ in range(num_layers)]
        self.ln = LayerNorm(dims)
        self.checkpoint = checkpoint

    def __call__(self, x: mx.array, mask: Any) -> mx.array:
        for layer in self.layers:
            x = layer(x, mask)
        return self.ln(x)


class TransformerDecoder(Module):
    """Several decoder layers and a norm: (batch, length, dims) to the same shape."""

    def __init__(self, num_layers: int, dims: int, num_heads: int, mlp_dims: int | None = None, dropout: float = 0.0,
                 activation: Activation = relu, norm_first: bool = True, checkpoint: bool = False) -> None:
        super().__init__()
        self.layers = [TransformerDecoderLayer(dims, num_heads, mlp_dims, dropout, activation, norm_first)
                       for _ in range(num_layers)]
        self.ln = LayerNorm(dims)
        self.checkpoint = checkpoint

    def __call__(self, x: mx.array, memory: mx.array, x_mask: Any, memory_mask: Any) -> mx.array:
        for layer in self.layers:
            x = layer(x, memory, x_mask, memory_mask)
        return self.ln(x)


class Transformer(Module):
    """An encoder that reads `src` and a decoder that writes `tgt`; either may be a custom module."""

    def __init__(self, dims: int = 512, num_heads: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 mlp_dims: int | None = None, dropout: float = 0.0, activation: Activation = relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, norm_first: bool = True,
                 checkpoint: bool = False) -> None:
        super().__init__()
        common = (dims, num_heads, mlp_dims, dropout, activation, norm_first, checkpoint)
        self.encoder = TransformerEncoder(num_encoder_layers, *common) if custom_encoder is None else custom_encoder
        self.decoder = TransformerDecoder(num_decoder_layers, *common) if custom_decoder is None else custom_decoder

    def __call__(self, src: mx.array, tgt: mx.array, src_mask: Any, tgt_mask: Any, memory_mask: Any) -> mx.array:
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)
