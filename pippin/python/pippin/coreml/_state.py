"""States: named buffers that fit any model with states of the same names, shapes and types."""

from .. import _pippin
from ._values import wide


class _State:
    def __init__(self, state: _pippin.State) -> None:
        self._state = state

    def read_state(self, name):
        """A copy of the buffer; float16 becomes float32."""
        return wide(self._state[name])

    def write_state(self, name, array):
        self._state[name] = array
