#!/usr/bin/env python3
"""Writes blocks of random bytes of GGUF's types and the values that gguf-py decodes from them: make_blocks.py OUT.json"""

import json
import sys

import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type

NAMES = "IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ1_S IQ1_M IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4"


def main():
    random = np.random.default_rng(7)
    np.seterr(all="ignore")
    rows = []
    for name in NAMES.split():
        kind = Type[name]
        while True:
            blocks = random.integers(0, 256, (2, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
            if name == "MXFP4":
                blocks[:, 0] = random.integers(110, 140, 2)
            values = quants.dequantize(blocks, kind)
            if np.all(np.isfinite(values)) and 1e-3 < np.abs(values).max() < 1e6:
                break
        rows.append({"type": name.lower(), "blocks": blocks.tobytes().hex(),
                     "values": [float(np.format_float_positional(x, unique=True)) for x in values.reshape(-1)]})
    with open(sys.argv[1], "w") as out:
        json.dump(rows, out, separators=(",", ":"))


if __name__ == "__main__":
    main()
