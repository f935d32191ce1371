"""Norms and cross products. Functions that need a decomposition of matrices are not supported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._pippin import _load_core
from ._refused import refusal

if TYPE_CHECKING:
    from . import array

_mx: Any = _load_core()

__all__ = [
    "cholesky", "cholesky_inv", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lu", "lu_factor", "norm",
    "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "tri_inv",
]

_WHY = "matrices are not decomposed"
cholesky = refusal("linalg.cholesky", _WHY)
cholesky_inv = refusal("linalg.cholesky_inv", _WHY)
det = refusal("linalg.det", _WHY)
eig = refusal("linalg.eig", _WHY)
eigh = refusal("linalg.eigh", _WHY)
eigvals = refusal("linalg.eigvals", _WHY)
eigvalsh = refusal("linalg.eigvalsh", _WHY)
inv = refusal("linalg.inv", _WHY)
lu = refusal("linalg.lu", _WHY)
lu_factor = refusal("linalg.lu_factor", _WHY)
pinv = refusal("linalg.pinv", _WHY)
qr = refusal("linalg.qr", _WHY)
slogdet = refusal("linalg.slogdet", _WHY)
solve = refusal("linalg.solve", _WHY)
solve_triangular = refusal("linalg.solve_triangular", _WHY)
svd = refusal("linalg.svd", _WHY)
tri_inv = refusal("linalg.tri_inv", _WHY)


def _vector_norm(a: array, order: Any, axis: Any, keepdims: bool) -> Any:
    size = _mx.abs(a)
    if order == float("inf"):
        return _mx.max(size, axis=axis, keepdims=keepdims)
    if order == float("-inf"):
        return _mx.min(size, axis=axis, keepdims=keepdims)
    if order == 0:
        return _mx.sum(a != 0, axis=axis, keepdims=keepdims).astype(size.dtype)
    if order == 1:
        return _mx.sum(size, axis=axis, keepdims=keepdims)
    if order == 2:
        return _mx.sqrt(_mx.sum(_mx.square(size), axis=axis, keepdims=keepdims))
    return _mx.power(_mx.sum(_mx.power(size, order), axis=axis, keepdims=keepdims), 1.0 / order)


def _matrix_norm(a: array, order: Any, axis: Any, keepdims: bool) -> Any:
    if order in ("f", "fro"):
        return _vector_norm(a, 2, axis, keepdims)
    if order in (1, -1, float("inf"), float("-inf")):
        # The largest, or smallest, sum along one axis.
        rows, columns = axis
        summed, other = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = _mx.sum(_mx.abs(a), axis=summed, keepdims=True)
        best = _mx.max if order > 0 else _mx.min
        result = best(sums, axis=other, keepdims=True)
        return result if keepdims else _mx.squeeze(result, axis=axis)
    if order in (2, -2, "nuc"):
        refusal("linalg.norm", f"the order {order!r} of matrices takes singular values")()
    raise ValueError(f"[linalg.norm] {order!r} is not an order of a norm of matrices.")


def norm(a: array, /, ord: float | str | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False,
         *, stream: Any = None) -> array:
    """Norms of vectors, or of matrices if `axis` has two numbers."""
    if not _mx.issubdtype(a.dtype, _mx.inexact):
        a = a.astype(_mx.float32)
    axes = list(range(a.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if len(set(each % a.ndim if -a.ndim <= each < a.ndim else each for each in axes)) < len(axes):
        raise ValueError(f"[linalg.norm] The axes {axes} name one twice.")
    if ord is None:
        return _vector_norm(a, 2, axes, keepdims)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"[linalg.norm] {ord!r} is not an order of a norm of vectors.")
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(a, ord, axes, keepdims)
    raise ValueError(f"[linalg.norm] A norm of order {ord!r} is along one axis or two, not {len(axes)}.")


def cross(a: array, b: array, axis: int = -1, *, stream: Any = None) -> array:
    """Cross products of vectors of 3 numbers along `axis`. Vectors of 2 numbers have 0 as the third; if both have 2,
    the products are only the third number."""
    a, b = _mx.array(a), _mx.array(b)
    for each in (a, b):
        if not -each.ndim <= axis < each.ndim:
            raise ValueError(f"[linalg.cross] Axis {axis} is not one of an array with {each.ndim}.")
        if each.shape[axis] not in (2, 3):
            raise ValueError(f"[linalg.cross] Vectors have 2 or 3 numbers, not {each.shape[axis]}.")
    first, second = (_mx.split(each, each.shape[axis], axis=axis) for each in (a, b))
    third = first[0] * second[1] - first[1] * second[0]
    if len(first) == len(second) == 2:
        return third
    zero = _mx.zeros_like(third)
    first, second = (each if len(each) == 3 else [*each, zero] for each in (first, second))
    return _mx.concatenate(
        [first[1] * second[2] - first[2] * second[1], first[2] * second[0] - first[0] * second[2], third], axis=axis)
