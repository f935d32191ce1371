"""Pippin's arrays, for MLX's tests and Python packages, which import them as mlx.core.

`mlx` has no __init__.py, neither here nor in MLX, so that this folder and MLX's own python/mlx form one package.
"""

import sys

import pippin.core
from pippin.core import *  # noqa: F403

__version__ = pippin.core.__version__
for name in ("cuda", "distributed", "fast", "fft", "linalg", "metal", "random"):
    sys.modules[f"{__name__}.{name}"] = getattr(pippin.core, name)
