"""KV caches: the keys and values of one layer for earlier tokens, (batch, heads, length, features)."""

from __future__ import annotations

from .. import core as mx


class KVCache:
    """Keys and values that grow with every pass. `offset` is the number of tokens in the cache."""

    def __init__(self) -> None:
        self.offset = 0
        self.keys: mx.array | None = None
        self.values: mx.array | None = None

    def size_with(self, length: int) -> int:
        """The number of keys after `length` more tokens."""
        return self.offset + length

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Appends the keys and values of new tokens and returns all."""
        if self.keys is not None and self.values is not None:
            # Appending to an array without other references writes after it, without a copy.
            keys = mx.concatenate([self.keys, keys], axis=2)
            values = mx.concatenate([self.values, values], axis=2)
        self.keys, self.values = keys, values
        self.offset = keys.shape[2]
        return keys, values


class FixedCache:
    """Keys and values of a fixed size, (batch, heads, capacity, features), written in place, as states of a package
    are. `offset`, int32 (1), is an array, because a package gets it at run time."""

    def __init__(self, keys: mx.array, values: mx.array, offset: mx.array) -> None:
        self.keys, self.values, self.offset = keys, values, offset

    def size_with(self, length: int) -> int:
        """The capacity, whatever the number of tokens."""
        return self.keys.shape[2]

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Writes the keys and values of new tokens at `offset` and returns all, in the type of the new ones."""
        self.keys[...] = mx.slice_update(self.keys, keys.astype(self.keys.dtype), self.offset, axes=(2,))
        self.values[...] = mx.slice_update(self.values, values.astype(self.values.dtype), self.offset, axes=(2,))
        return self.keys.astype(keys.dtype), self.values.astype(values.dtype)
