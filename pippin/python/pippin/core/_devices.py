"""Devices and streams. There is one device, the CPU; arguments that name it are accepted."""

from __future__ import annotations

import enum
import os
import platform
from typing import Any

__all__ = [
    "Device", "DeviceType", "Stream", "StreamContext", "ThreadLocalStream", "clear_streams", "cpu", "default_device",
    "default_stream", "device_count", "device_info", "gpu", "is_available", "new_stream", "new_thread_local_stream",
    "new_thread_unsafe_stream", "set_default_device", "set_default_stream", "set_memory_limit", "set_wired_limit",
    "stream",
]


class DeviceType(enum.Enum):
    """The kinds of devices. Only the CPU is available."""

    cpu = 0
    gpu = 1

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other.type and other.index == 0
        return self is other

    def __hash__(self) -> int:
        return hash(self.value)


cpu = DeviceType.cpu
gpu = DeviceType.gpu


class Device:
    """A processor."""

    def __init__(self, type: DeviceType, index: int = 0) -> None:
        self._type, self._index = type, index

    @property
    def type(self) -> DeviceType:
        """The kind of device."""
        return self._type

    @property
    def index(self) -> int:
        """The number of the device among those of its kind."""
        return self._index

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DeviceType):
            return self._type is other and self._index == 0
        return isinstance(other, Device) and (self._type, self._index) == (other._type, other._index)

    def __hash__(self) -> int:
        return hash((self._type.value, self._index))

    def __repr__(self) -> str:
        return f"Device({self._type.name}, {self._index})"


class Stream:
    """A sequence of operations. All streams are computed in one order."""

    def __init__(self, index: int, device: Device) -> None:
        self.index, self.device = index, device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.index, self.device) == (other.index, other.device)

    def __hash__(self) -> int:
        return hash((self.index, self.device))

    def __repr__(self) -> str:
        return f"Stream({self.device}, {self.index})"


class ThreadLocalStream(Stream):
    """One stream per thread; any thread may use any stream."""


_device = Device(cpu)
_default = Stream(0, _device)
_num_streams = 1
_limits = {"memory": 1 << 62, "wired": 0}


def _checked(device: Any) -> Device:
    kind = device.device if isinstance(device, Stream) else device
    kind = kind.type if isinstance(kind, Device) else kind
    if not isinstance(kind, DeviceType):
        raise TypeError(f"a Device or DeviceType is needed, not {type(device).__name__}")
    if kind is not cpu:
        raise ValueError("There is no gpu device.")
    return _device


def default_device() -> Device:
    """Returns the CPU."""
    return _device


def set_default_device(device: Device | DeviceType) -> None:
    """Accepts the CPU. Raises ValueError for a GPU, TypeError for anything else."""
    _checked(device)


def is_available(device: Device | DeviceType) -> bool:
    """Returns whether the device is the CPU."""
    return (device.type if isinstance(device, Device) else device) is cpu


def device_count(device_type: DeviceType) -> int:
    """Returns 1 for the CPU, 0 for other kinds."""
    return 1 if device_type is cpu else 0


def device_info(d: Device | DeviceType | None = None) -> dict[str, str | int]:
    """Returns properties of the processor: architecture, name, and sizes of memory in bytes. Raises ValueError for a
    GPU."""
    if d is not None:
        _checked(d)
    name = platform.processor() or platform.machine()
    memory = _total_memory()
    return {
        "architecture": platform.machine(), "device_name": name, "memory_size": memory,
        "max_recommended_working_set_size": memory, "max_buffer_length": memory,
    }


def _total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def default_stream(device: Device | DeviceType) -> Stream:
    """Returns the stream set by set_default_stream(). Raises ValueError for a GPU."""
    _checked(device)
    return _default


def set_default_stream(stream: Stream) -> None:
    """Sets the stream that default_stream() returns; it has no effect on the computation."""
    global _default
    _checked(stream)
    _default = stream


def _new(kind: type[Stream], device: Device | DeviceType) -> Any:
    global _num_streams
    made = kind(_num_streams, _checked(device))
    _num_streams += 1
    return made


def new_stream(device: Device | DeviceType) -> Stream:
    """Returns a new stream of the CPU. Raises ValueError for a GPU."""
    return _new(Stream, device)


def new_thread_unsafe_stream(device: Device | DeviceType) -> Stream:
    """Returns a new stream of the CPU, as new_stream()."""
    return _new(Stream, device)


def new_thread_local_stream(device: Device | DeviceType) -> ThreadLocalStream:
    """Returns a new stream of the CPU, as new_stream()."""
    return _new(ThreadLocalStream, device)


def clear_streams() -> None:
    """Does nothing: streams hold no resources."""


class StreamContext:
    """`with stream(s)`: has no effect on the computation."""

    def __init__(self, s: Stream | Device | DeviceType) -> None:
        _checked(s)
        self._stream = s if isinstance(s, Stream) else None

    def __enter__(self) -> StreamContext:
        global _default
        self._outer = _default
        if self._stream is not None:
            _default = self._stream
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> None:
        global _default
        _default = self._outer


def stream(s: Stream | Device | DeviceType) -> StreamContext:
    """Returns a context in which this stream is the default one."""
    return StreamContext(s)


def _set_limit(name: str, limit: int) -> int:
    if limit < 0:
        raise ValueError(f"[set_{name}_limit] A limit below 0: {limit}.")
    before, _limits[name] = _limits[name], limit
    return before


def set_memory_limit(limit: int) -> int:
    """Remembered, not enforced: the system limits memory. Returns the limit before."""
    return _set_limit("memory", limit)


def set_wired_limit(limit: int) -> int:
    """Remembered only: no memory is wired. Returns the limit before."""
    return _set_limit("wired", limit)
