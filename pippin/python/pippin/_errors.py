"""The library's errors, as exceptions that Python programs expect."""


class Error(RuntimeError):
    """Any failure of the library. The message is one line that names the problem, the place and the numbers.

    >>> try:
    ...     pippin.Model("/none.mlpackage")
    ... except pippin.Error as error:
    ...     print(error.code)
    not found
    """

    code = "internal error"


class InvalidFileError(Error, ValueError):
    """A file's contents violate its format."""

    code = "invalid file"


class InvalidArgumentError(Error, ValueError):
    """An invalid argument, option or input."""

    code = "invalid argument"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not supported by Pippin."""

    code = "unsupported"


class NotFoundError(Error, FileNotFoundError, KeyError):
    """A file or a name does not exist."""

    code = "not found"

    __str__ = RuntimeError.__str__


class LimitExceededError(Error, MemoryError):
    """Memory, the context of a model or a limit set by an option is not sufficient."""

    code = "limit exceeded"


class InputOutputError(Error, OSError):
    """A file cannot be read or written."""

    code = "input/output error"


class NetworkError(Error, ConnectionError):
    """A download failed."""

    code = "network error"


class CancelledError(Error):
    """Cancelled from outside."""

    code = "cancelled"


class DeviceError(Error):
    """An accelerator failed during a computation."""

    code = "device error"


BY_CODE = {
    kind.code: kind
    for kind in (
        Error, InvalidFileError, InvalidArgumentError, UnsupportedError, NotFoundError, LimitExceededError,
        InputOutputError, NetworkError, CancelledError, DeviceError,
    )
}
