"""Apple GPUs, which do not exist here."""

from ._refused import refusal

start_capture = refusal("metal.start_capture", "no Metal device")
stop_capture = refusal("metal.stop_capture", "no Metal device")

__all__ = ["is_available", "start_capture", "stop_capture"]


def is_available() -> bool:
    """Returns False."""
    return False
