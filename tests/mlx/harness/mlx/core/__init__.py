"""What MLX's tests and its Python packages import as mlx.core: Pippin's arrays.

`mlx` has no __init__.py here and there, so that this folder and MLX's own python/mlx are one package.
"""

import sys

import pippin.core
from pippin.core import *  # noqa: F403

__version__ = pippin.core.__version__
for name in ("cuda", "distributed", "fast", "fft", "linalg", "metal", "random"):
    sys.modules[f"{__name__}.{name}"] = getattr(pippin.core, name)
