"""pippin.utils under the name mlx.utils."""

import sys

import pippin.utils

sys.modules[__name__] = pippin.utils
