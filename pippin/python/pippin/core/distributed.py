"""Distributed computation with a single process: groups have one member, and gathering returns the member's own
data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._refused import refusal

if TYPE_CHECKING:
    from . import array

__all__ = [
    "Group", "all_gather", "all_max", "all_min", "all_sum", "init", "is_available", "recv", "recv_like", "send",
    "sum_scatter",
]

_ALONE = "there is one process"
recv = refusal("distributed.recv", _ALONE)
recv_like = refusal("distributed.recv_like", _ALONE)
send = refusal("distributed.send", _ALONE)


class Group:
    """A group of processes; this one is its only member."""

    def rank(self) -> int:
        """Returns 0."""
        return 0

    def size(self) -> int:
        """Returns 1."""
        return 1

    def split(self, color: int, key: int = -1) -> Group:
        """Returns a group of this process."""
        return Group()


def is_available(backend: str = "any") -> bool:
    """Returns False."""
    return False


def init(strict: bool = False, backend: str = "any") -> Group:
    """Returns a group of this process. Raises UnsupportedError if `strict`."""
    if strict:
        refusal("distributed.init", "no processes work together")()
    return Group()


def all_sum(x: array, *, group: Group | None = None, stream: Any = None) -> array:
    """Returns x, of any shape."""
    return x


def all_max(x: array, *, group: Group | None = None, stream: Any = None) -> array:
    """Returns x, of any shape."""
    return x


def all_min(x: array, *, group: Group | None = None, stream: Any = None) -> array:
    """Returns x, of any shape."""
    return x


def all_gather(x: array, *, group: Group | None = None, stream: Any = None) -> array:
    """Returns x, of any shape."""
    return x


def sum_scatter(x: array, *, group: Group | None = None, stream: Any = None) -> array:
    """Returns x, of any shape."""
    return x
