"""Building blocks of language models as single operations."""

from .._pippin import _load_core
from ._refused import refusal

_core = _load_core().fast
layer_norm = _core.layer_norm
rms_norm = _core.rms_norm
rope = _core.rope
scaled_dot_product_attention = _core.scaled_dot_product_attention

cuda_kernel = refusal("fast.cuda_kernel", "kernels are written for graphics processors")
metal_kernel = refusal("fast.metal_kernel", "kernels are written for graphics processors")
precompiled_cuda_kernel = refusal("fast.precompiled_cuda_kernel", "kernels are written for graphics processors")

__all__ = [
    "cuda_kernel", "layer_norm", "metal_kernel", "precompiled_cuda_kernel", "rms_norm", "rope",
    "scaled_dot_product_attention",
]
