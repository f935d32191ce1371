"""Core ML models on any machine: predictions, and language models that answer.

>>> import pippin
>>> pippin.__version__ != ""
True
"""

from ._errors import (
    CancelledError,
    DeviceError,
    Error,
    InputOutputError,
    InvalidArgumentError,
    InvalidFileError,
    LimitExceededError,
    NetworkError,
    NotFoundError,
    UnsupportedError,
)
from ._pippin import LanguageModel, Model, Sequence, State, __version__
from ._pippin import compile_model as compile

__all__ = [
    "CancelledError", "DeviceError", "Error", "InputOutputError", "InvalidArgumentError", "InvalidFileError",
    "LanguageModel", "LimitExceededError", "Model", "NetworkError", "NotFoundError", "Sequence", "State",
    "UnsupportedError", "__version__", "compile",
]
