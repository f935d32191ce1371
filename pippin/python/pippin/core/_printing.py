"""Options for printing arrays."""

from __future__ import annotations

from typing import Any

from .._pippin import _load_core

_core: Any = _load_core()

__all__ = ["PrintOptions", "get_printoptions", "printoptions", "set_printoptions"]


class PrintOptions:
    """`precision`: digits after the decimal point, or -1: six significant digits."""

    def __init__(self, precision: int = -1) -> None:
        self.precision = precision


def get_printoptions() -> PrintOptions:
    """Returns the options for printing arrays."""
    return PrintOptions(_core._print_precision())


def set_printoptions(precision: int = -1) -> None:
    """Sets the digits after the decimal point; -1: six significant digits."""
    _core._set_print_precision(precision)


class printoptions:
    """set_printoptions() for the duration of a `with` block."""

    def __init__(self, precision: int = -1) -> None:
        self._precision = precision

    def __enter__(self) -> printoptions:
        self._outer = _core._print_precision()
        _core._set_print_precision(self._precision)
        return self

    def __exit__(self, exc_type: Any = None, exc_value: Any = None, traceback: Any = None) -> None:
        _core._set_print_precision(self._outer)
