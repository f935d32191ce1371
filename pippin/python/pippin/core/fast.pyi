"""Building blocks of language models as single operations."""

from collections.abc import Callable
from typing import Any

from . import array

_Operand = array | complex

def layer_norm(x: _Operand, weight: array | None, bias: array | None, eps: float, stream: Any = None) -> array: ...
def rms_norm(x: _Operand, weight: array | None, eps: float, stream: Any = None) -> array: ...
def rope(a: _Operand, dims: int, *, traditional: bool, base: float | None, scale: float, offset: int | array, freqs: array | None = None, stream: Any = None) -> array: ...
def scaled_dot_product_attention(q: array, k: array, v: array, *, scale: float, mask: array | str | None = None, sinks: array | None = None, force_fused: bool = False, stream: Any = None) -> array: ...
cuda_kernel: Callable[..., Any]
metal_kernel: Callable[..., Any]
precompiled_cuda_kernel: Callable[..., Any]
