"""Converts checkpoints to packages, with mlx-lm's options."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .._errors import InvalidArgumentError, UnsupportedError
from .._tools import Converted
from .._tools import convert as convert_model

__all__ = ["convert"]

_BITS = {4: "uint4", 8: "uint8"}


def convert(
    hf_path: str | os.PathLike[str], mlx_path: str | os.PathLike[str] = "mlx_model", quantize: bool = False,
    q_group_size: int | None = None, q_bits: int | None = None, q_mode: str = "affine", dtype: str | None = None,
    upload_repo: str | None = None, revision: str | None = None, dequantize: bool = False,
    quant_predicate: Any = None, trust_remote_code: bool = False, *,
    progress: Callable[[int, int], object] | None = None, **options: Any,
) -> Converted:
    """Converts a checkpoint to a package: mlx_path, or mlx_path/model.mlpackage if that does not end in
    .mlpackage; load() takes either. quantize: to q_bits (4 or 8) with a scale and a zero point for each
    q_group_size inputs (64). Other weights are float16. Options are those of pippin.convert(). Raises its
    errors, InvalidArgumentError if the output exists, and UnsupportedError for other types and numbers of bits.

    >>> from pippin import lm
    >>> lm.convert("checkpoint", "converted", quantize=True, q_group_size=32).path
    'converted/model.mlpackage'
    >>> model, tokenizer = lm.load("converted")
    """
    output = os.fspath(mlx_path)
    if os.path.exists(output):
        raise InvalidArgumentError(f"{output}: is there already, and is not replaced")
    if quantize and dequantize:
        raise InvalidArgumentError("quantize and dequantize exclude each other")
    if dtype not in (None, "float16"):
        raise UnsupportedError(f"dtype: weights of packages are float16, not {dtype}")
    for name, value in (("upload_repo", upload_repo), ("quant_predicate", quant_predicate)):
        if value is not None:
            hint = "; pippin.convert(tensor=[\"PATTERN=SCHEME\"]) chooses for single weights"
            raise UnsupportedError(f"{name} is not taken{hint if name == 'quant_predicate' else ''}")
    if quantize:
        options = {**_quantization(q_group_size, q_bits, q_mode), **options}
    source = os.fspath(hf_path)
    if revision and not os.path.exists(source):
        source += f"@{revision}"
    if not output.endswith(".mlpackage") and options.get("family", "stateful") == "stateful":
        os.makedirs(output)
        try:
            return convert_model(source, os.path.join(output, "model.mlpackage"), progress=progress, **options)
        except BaseException:
            os.rmdir(output)
            raise
    return convert_model(source, output, progress=progress, **options)


def _quantization(q_group_size: int | None, q_bits: int | None, q_mode: str) -> dict[str, Any]:
    if q_mode != "affine":
        raise UnsupportedError(f"q_mode: affine is what there is, not {q_mode}")
    bits = 4 if q_bits is None else q_bits
    if bits not in _BITS:
        raise UnsupportedError(f"q_bits: 4 and 8 are linear here, not {bits}; pippin.convert(palettize={bits}) makes "
                               "palettes")
    size = 64 if q_group_size is None else q_group_size
    if size < 1:
        raise InvalidArgumentError(f"q_group_size is {size}: 1 at least")
    return {"quantize": _BITS[bits], "per": f"block:{size}", "asymmetric": True}
