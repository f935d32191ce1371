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

# Loaded when they are first asked for, so that `import pippin` is quick. Checkers of types read the first branch.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import lm as lm
else:
    def __getattr__(name):
        if name != "lm":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return importlib.import_module("." + name, __name__)
