"""States: named buffers that go with any model that has states of these names, shapes and types."""

from .. import _pippin
from ._values import wide


class _State:
    def __init__(self, state: _pippin.State) -> None:
        self._state = state

    def read_state(self, name):
        """A copy of the buffer; halves are given as float32."""
        return wide(self._state[name])

    def write_state(self, name, array):
        self._state[name] = array
