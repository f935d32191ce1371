"""Random numbers from keys. `state` is a list with the current key."""

from typing import Any

from .. import _seeds
from .._pippin import _load_core

_core = _load_core().random
bernoulli = _core.bernoulli
bits = _core.bits
categorical = _core.categorical
gumbel = _core.gumbel
key = _core.key
laplace = _core.laplace
multivariate_normal = _core.multivariate_normal
normal = _core.normal
permutation = _core.permutation
randint = _core.randint
split = _core.split
state = _core.state
truncated_normal = _core.truncated_normal
uniform = _core.uniform


def seed(seed: int, stream: Any = None) -> None:
    """Restarts the sequence of keys, and that of the seeds of pippin.lm's texts."""
    _core.seed(seed, stream)
    _seeds.begin(seed)


__all__ = [
    "bernoulli", "bits", "categorical", "gumbel", "key", "laplace", "multivariate_normal", "normal", "permutation",
    "randint", "seed", "split", "state", "truncated_normal", "uniform",
]
