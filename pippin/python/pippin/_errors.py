"""What goes wrong, as exceptions that programs in Python expect."""


class Error(RuntimeError):
    """Any failure of the library. The message is one line that says what, where and the numbers.

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
    """An argument, an option or an input is not what it has to be."""

    code = "invalid argument"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but Pippin cannot do it."""

    code = "unsupported"


class NotFoundError(Error, FileNotFoundError, KeyError):
    """A file, or a name, that is not there."""

    code = "not found"

    __str__ = RuntimeError.__str__


class LimitExceededError(Error, MemoryError):
    """More than memory, the context of a model or an option allows."""

    code = "limit exceeded"


class InputOutputError(Error, OSError):
    """A file cannot be read or written."""

    code = "input/output error"


class NetworkError(Error, ConnectionError):
    """A download failed."""

    code = "network error"


class CancelledError(Error):
    """Ended from outside."""

    code = "cancelled"


class DeviceError(Error):
    """An accelerator failed while it computed."""

    code = "device error"


BY_CODE = {
    kind.code: kind
    for kind in (
        Error, InvalidFileError, InvalidArgumentError, UnsupportedError, NotFoundError, LimitExceededError,
        InputOutputError, NetworkError, CancelledError, DeviceError,
    )
}
