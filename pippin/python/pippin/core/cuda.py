"""NVIDIA GPUs, which arrays do not use."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Returns False."""
    return False
