"""Random numbers from keys. `state` is a list with the key that the next one comes from."""

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
seed = _core.seed
split = _core.split
state = _core.state
truncated_normal = _core.truncated_normal
uniform = _core.uniform

__all__ = [
    "bernoulli", "bits", "categorical", "gumbel", "key", "laplace", "multivariate_normal", "normal", "permutation",
    "randint", "seed", "split", "state", "truncated_normal", "uniform",
]
