"""What goes wrong, as exceptions that programs in Python expect."""


class Error(RuntimeError):
    """Any failure of the library. The message is one line that says what, where and the numbers."""

    code = "internal error"


class InvalidFileError(Error, ValueError):
    code = "invalid file"


class InvalidArgumentError(Error, ValueError):
    code = "invalid argument"


class UnsupportedError(Error, NotImplementedError):
    code = "unsupported"


class NotFoundError(Error, FileNotFoundError, KeyError):
    code = "not found"

    __str__ = RuntimeError.__str__


class LimitExceededError(Error, MemoryError):
    code = "limit exceeded"


class InputOutputError(Error, OSError):
    code = "input/output error"


class NetworkError(Error, ConnectionError):
    code = "network error"


class CancelledError(Error):
    code = "cancelled"


class DeviceError(Error):
    code = "device error"


BY_CODE = {
    kind.code: kind
    for kind in (
        Error, InvalidFileError, InvalidArgumentError, UnsupportedError, NotFoundError, LimitExceededError,
        InputOutputError, NetworkError, CancelledError, DeviceError,
    )
}
