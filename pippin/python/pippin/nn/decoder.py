"""Language models as modules: a decoder for all of Pippin's architectures with attention and dense feed-forwards.

Modules have the names of the checkpoint ("model.layers.0.self_attn.q_proj"). The differences between architectures are
options, the same ones that the program uses for its own models (pippin/nn/decoder.h)."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from .. import core as mx
from . import activations
from .cache import FixedCache, KVCache
from .linear import Embedding, Linear
from .module import Module
from .normalization import LayerNorm, RMSNorm

Cache = list[KVCache] | list[FixedCache]


def place(module: Module, path: str, child: Any) -> Any:
    """Sets `child` at a dotted path, creating containers on the way."""
    *holders, name = path.split(".")
    for holder in holders:
        module = module.setdefault(holder, Module())
    module[name] = child
    return child


def at(module: Module, path: str) -> Any:
    """The module at a path of names separated by dots."""
    for name in path.split("."):
        module = module[name]
    return module


class ShiftedNorm(Module):
    """A norm with the factor (1 + weight), with either factor times `scale`, or without weight."""

    def __init__(self, dims: int, options: SimpleNamespace, scale: float) -> None:
        super().__init__()
        self.is_rms, self.eps = options.kind == "rms", options.epsilon
        self.shift, self.scale = float(options.one_plus), scale
        if options.weight:
            self.weight = mx.ones((dims,)) - self.shift
        if options.bias:
            self.bias = mx.zeros((dims,))

    def __call__(self, x: mx.array) -> mx.array:
        factor = self.get("weight")
        if factor is not None:
            factor = self.scale * (self.shift + factor.astype(mx.float32))
        if self.is_rms:
            y = mx.fast.rms_norm(x, factor, self.eps)
        else:
            y = mx.fast.layer_norm(x, factor, self.get("bias"), self.eps)
        return y.astype(x.dtype)  # the factor is float32 even if the activations are not


def make_norm(dims: int, options: SimpleNamespace, scale: float = 1.0) -> Module:
    """A norm of the kind that the options name."""
    scale *= options.scale
    if options.one_plus or scale != 1 or not options.weight:
        return ShiftedNorm(dims, options, scale)
    if options.kind == "rms":
        return RMSNorm(dims, options.epsilon)
    return LayerNorm(dims, options.epsilon, bias=options.bias)


class Rotary:
    """Rotates the first dimensions of heads by frequencies of any kind, including those for long contexts."""

    def __init__(self, options: SimpleNamespace) -> None:
        self.original = getattr(options, "original_context", math.inf)
        prefixes = ("", "long_") if hasattr(options, "long_frequencies") else ("",)
        self.sets = [(mx.array([1 / one for one in getattr(options, prefix + "frequencies")]),
                      getattr(options, prefix + "factor")) for prefix in prefixes]

    def __call__(self, x: mx.array, dims: int, traditional: bool, offset: Any) -> mx.array:
        # A package does not know the final length of its sequence: it uses the original frequencies.
        is_long = isinstance(offset, int) and offset + x.shape[2] > self.original
        periods, factor = self.sets[1 if is_long else 0]
        if factor != 1:
            head = x[..., :dims] * factor
            x = head if dims == x.shape[-1] else mx.concatenate([head, x[..., dims:]], axis=-1)
        return mx.fast.rope(x, dims, traditional=traditional, base=None, scale=1.0, offset=offset, freqs=periods)


class Attention(Module):
    """Self-attention of a decoder layer: (batch, length, features) to the same shape."""

    def __init__(self, features: int, options: SimpleNamespace) -> None:
        super().__init__()
        self._options = options
        heads, kv_heads, size = options.num_heads, options.num_kv_heads, options.head_dim
        names, bias = options.names, options.qkv_bias
        if options.layout == "separate":
            for name, count in (("query", heads), ("key", kv_heads), ("value", kv_heads)):
                place(self, getattr(names, name), Linear(features, count * size, bias=bias))
        else:
            place(self, names.qkv, Linear(features, (heads + 2 * kv_heads) * size, bias=bias))
        place(self, names.output, Linear(heads * size, features, bias=options.output_bias))
        if options.qk_norm:
            whole = options.qk_norm == "projection"
            for name, count in (("query_norm", heads), ("key_norm", kv_heads)):
                place(self, getattr(names, name), make_norm(count * size if whole else size, options.qk_norm_options))

    def _projected(self, x: mx.array) -> list[mx.array]:
        options = self._options
        heads, kv_heads, size = options.num_heads, options.num_kv_heads, options.head_dim
        names = options.names
        if options.layout == "separate":
            return [at(self, getattr(names, name))(x) for name in ("query", "key", "value")]
        joined = at(self, names.qkv)(x)
        if options.layout == "blocks":
            return mx.split(joined, [heads * size, (heads + kv_heads) * size], axis=-1)
        group = heads // kv_heads
        grouped = joined.reshape(*x.shape[:2], kv_heads, group + 2, size)
        parts = mx.split(grouped, [group, group + 1], axis=3)
        return [part.reshape(*x.shape[:2], -1) for part in parts]

    def _clipped(self, x: mx.array, is_normed: bool) -> mx.array:
        limit = self._options.clip
        return x if limit is None or self._options.clip_normed != is_normed else mx.clip(x, -limit, limit)

    def _heads(self, x: mx.array, count: int, norm: Any, rotary: Rotary | None, offset: Any) -> mx.array:
        options = self._options
        where = options.qk_norm if norm is not None else ""
        x = self._clipped(x, False)
        x = self._clipped(norm(x) if where == "projection" else x, True)
        x = x.reshape(*x.shape[:2], count, options.head_dim).transpose(0, 2, 1, 3)
        if where == "before_rope":
            x = norm(x)
        if rotary is not None:
            x = rotary(x, options.rope_dims, options.interleaved, offset)
        return norm(x) if where == "after_rope" else x

    def __call__(self, x: mx.array, rotary: Rotary | None, masks: Masks, cache: Any) -> mx.array:
        options = self._options
        names, offset = options.names, masks.offset
        query_norm, key_norm = None, None
        if options.qk_norm:
            query_norm, key_norm = at(self, names.query_norm), at(self, names.key_norm)
        queries, keys, values = self._projected(x)
        queries = self._heads(queries, options.num_heads, query_norm, rotary, offset)
        keys = self._heads(keys, options.num_kv_heads, key_norm, rotary, offset)
        values = self._heads(values, options.num_kv_heads, None, None, offset)
        if cache is not None:
            keys, values = cache.update_and_fetch(keys, values)
        scale = 1 / math.sqrt(options.head_dim) if options.scale is None else options.scale
        if options.softcap is None:
            y = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale,
                                                     mask=masks.of(options.window))
        else:
            y = self._capped(queries, keys, values, scale, masks.of(options.window, as_array=True))
        y = y.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
        return at(self, names.output)(y)

    def _capped(self, queries: mx.array, keys: mx.array, values: mx.array, scale: float, mask: Any) -> mx.array:
        batch, heads, length, size = queries.shape
        cap, kv_heads = self._options.softcap, keys.shape[1]
        grouped = queries.reshape(batch, kv_heads, heads // kv_heads, length, size)
        scores = (grouped * scale) @ keys[:, :, None].swapaxes(-1, -2)
        scores = mx.where(mask, cap * mx.tanh(scores / cap), mx.array(-math.inf, dtype=scores.dtype))
        return (mx.softmax(scores, axis=-1, precise=True) @ values[:, :, None]).reshape(queries.shape)


class Masks:
    """The keys that the tokens of one pass see, by window; computed once for all layers."""

    def __init__(self, length: int, cache: Cache | None, alibi: Any = None, dtype: mx.Dtype = mx.float32) -> None:
        self._alibi, self._dtype = alibi, dtype
        self.offset: Any = cache[0].offset if cache else 0
        self.length, self.size = length, cache[0].size_with(length) if cache else length
        self._made: dict[int, mx.array] = {}

    def of(self, window: int | None, as_array: bool = False) -> Any:
        """None if all keys are seen, "causal", or bools (length, keys); with biases by distance, numbers to add to the
        scores (heads, length, keys)."""
        known = isinstance(self.offset, int)
        if window is None or (known and window >= self.size):
            window = 0
        if known and not window and not as_array and self._alibi is None:
            return None if self.length == 1 else "causal"
        if window not in self._made:
            queries = (self.offset + mx.arange(self.length)).reshape(-1, 1)
            keys = mx.arange(self.size)
            seen = keys <= queries
            seen = seen & (keys > queries - window) if window else seen
            self._made[window] = seen if self._alibi is None else self._biased(seen, keys, queries)
        return self._made[window]

    def _biased(self, seen: mx.array, keys: mx.array, queries: mx.array) -> mx.array:
        slopes = mx.array(self._alibi.slopes).reshape(-1, 1, 1)
        if self._alibi.rounded:  # an offset common to a row has no effect
            biases = (slopes.astype(mx.bfloat16) * keys.astype(mx.bfloat16)).astype(mx.float32)
        else:
            biases = slopes * (keys - queries)
        return mx.where(seen, self._alibi.scale * biases, mx.array(-math.inf)).astype(self._dtype)


def place_feed_forward(module: Module, features: int, options: SimpleNamespace) -> None:
    """Adds the linear layers of a feed-forward network to a module."""
    hidden, names, bias = options.hidden_features, options.names, options.bias
    if options.fused:
        place(module, names.gate, Linear(features, 2 * hidden, bias=bias))
    else:
        for name in ("gate", "up") if options.gated else ("up",):
            place(module, getattr(names, name), Linear(features, hidden, bias=bias))
    place(module, names.down, Linear(hidden, features, bias=bias))


def feed_forward(module: Module, options: SimpleNamespace, x: mx.array) -> mx.array:
    """By the layers that place_feed_forward() added to the module."""
    names = options.names
    activation = getattr(activations, options.activation)
    if options.fused:
        gate, up = mx.split(at(module, names.gate)(x), 2, axis=-1)
    else:
        up = at(module, names.up)(x)
        gate = at(module, names.gate)(x) if options.gated else up
    y = activation(gate if options.gate_scale == 1 else gate * options.gate_scale)
    y = at(module, names.down)(y * up if options.gated else y)
    return y if options.down_scale == 1 else y * options.down_scale


class FeedForward(Module):
    """The feed-forward network of a decoder layer: (batch, length, features) to the same shape."""

    def __init__(self, features: int, options: SimpleNamespace) -> None:
        super().__init__()
        self._options = options
        place_feed_forward(self, features, options)

    def __call__(self, x: mx.array) -> mx.array:
        return feed_forward(self, self._options, x)


class DecoderLayer(Module):
    """Attention and feed-forward with norms and residuals, in one of four arrangements."""

    def __init__(self, features: int, options: SimpleNamespace) -> None:
        super().__init__()
        self._options = options
        names = options.names
        place(self, names.attention, Attention(features, options.attention))
        if names.mlp:
            place(self, names.mlp, FeedForward(features, options.mlp))
        else:  # its matrices belong to the layer itself
            place_feed_forward(self, features, options.mlp)
        for name in ("attention_norm", "mlp_norm", "attention_post_norm", "mlp_post_norm"):
            if getattr(names, name):
                scale = options.post_norm_scale if "post" in name else 1.0
                place(self, getattr(names, name), make_norm(features, options.norm, scale))

    def _norm(self, name: str, x: mx.array) -> mx.array:
        path = getattr(self._options.names, name)
        return at(self, path)(x) if path else x

    def __call__(self, x: mx.array, ropes: tuple[Rotary, ...], masks: Masks, cache: Any = None) -> mx.array:
        options = self._options
        form, names, rope = options.form, options.names, options.attention.rope
        rotary = None if rope is None else ropes[rope]

        def mix(tokens: mx.array) -> mx.array:
            y = self._norm("attention_post_norm", at(self, names.attention)(tokens, rotary, masks, cache))
            return y if options.residual_scale == 1 else y * options.residual_scale

        def feed(tokens: mx.array) -> mx.array:
            y = at(self, names.mlp)(tokens) if names.mlp else feed_forward(self, options.mlp, tokens)
            y = self._norm("mlp_post_norm", y)
            return y if options.residual_scale == 1 else y * options.residual_scale

        if form == "parallel":
            tokens = self._norm("attention_norm", x)
            return x + mix(tokens) + feed(self._norm("mlp_norm", x) if names.mlp_norm else tokens)
        if form == "norm_after":
            x = self._norm("attention_norm", x + mix(x))
            return self._norm("mlp_norm", x + feed(x))
        if form == "norm_carried":
            carry, mixed, carry_on, fed = options.carry
            tokens = self._norm("attention_norm", x)
            x = self._norm("mlp_norm", carry * tokens + mixed * mix(tokens))
            return carry_on * x + fed * feed(x)
        x = x + mix(self._norm("attention_norm", x))
        return x + feed(self._norm("mlp_norm", x))


class Decoder(Module):
    """A causal language model: ids (batch, length) to logits (batch, length, vocabulary).

    With a cache from make_cache(), a pass continues after the one before."""

    def __init__(self, options: SimpleNamespace) -> None:
        super().__init__()
        self._options = options
        names, features = options.names, options.hidden_size
        base = names.base + "." if names.base else ""
        self._paths = SimpleNamespace(**{name: base + path for name, path in vars(names).items()
                                         if path and name not in ("base", "head")})
        self._ropes = tuple(Rotary(rope) for rope in options.ropes)
        place(self, self._paths.embedding, Embedding(options.vocab_size, features))
        if positions := getattr(options, "positions", None):
            self._paths.positions = base + positions.name
            place(self, self._paths.positions, Embedding(positions.rows, features))
        place(self, self._paths.layers, [DecoderLayer(features, one) for one in options.layers])
        for name in ("embedding_norm", "final_norm"):
            if hasattr(self._paths, name):
                place(self, getattr(self._paths, name), make_norm(features, options.norm))
        if not options.tied:
            place(self, names.head, Linear(features, options.vocab_size, bias=options.head_bias))

    @property
    def layers(self) -> list[DecoderLayer]:
        """The layers, in order."""
        return at(self, self._paths.layers)

    def make_cache(self) -> list[KVCache]:
        """Returns an empty KVCache for each layer."""
        return [KVCache() for _ in self.layers]

    def cache_shapes(self, capacity: int) -> list[tuple[int, ...]]:
        """The features of keys and of values in each layer's FixedCache."""
        attentions = [layer.attention for layer in self._options.layers]
        return [(1, one.num_kv_heads, capacity, one.head_dim) for one in attentions]

    def _part(self, name: str, x: mx.array) -> mx.array:
        return at(self, getattr(self._paths, name))(x) if hasattr(self._paths, name) else x

    def __call__(self, ids: mx.array, cache: Cache | None = None) -> mx.array:
        options = self._options
        x = self._part("embedding", ids)
        masks = Masks(ids.shape[1], cache, getattr(options, "alibi", None), x.dtype)
        if options.embedding_scale != 1:
            x = x * options.embedding_scale
        if hasattr(self._paths, "positions"):
            first = masks.offset + options.positions.offset
            x = x + self._part("positions", first + mx.arange(ids.shape[1]))
        x = self._part("embedding_norm", x)
        for i, layer in enumerate(self.layers):
            x = layer(x, self._ropes, masks, cache[i] if cache else None)
        x = self._part("final_norm", x)
        logits = (at(self, self._paths.embedding).as_linear(x) if options.tied
                  else at(self, options.names.head)(x))
        if options.logit_scale != 1:
            logits = logits * options.logit_scale
        if (cap := options.logit_softcap) is not None:
            logits = cap * mx.tanh(logits / cap)
        return logits
