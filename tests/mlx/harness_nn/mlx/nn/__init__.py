"""pippin.nn under the name mlx.nn."""

import sys

import pippin.nn

sys.modules.update({__name__: pippin.nn, f"{__name__}.init": pippin.nn.init, f"{__name__}.losses": pippin.nn.losses})
