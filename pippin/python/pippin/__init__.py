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
from ._pippin import (
    CancelToken,
    ChatTemplate,
    FeatureInfo,
    Function,
    ImageEncoder,
    LanguageModel,
    Model,
    Sequence,
    State,
    Tensor,
    TextEncoder,
    TextStream,
    Tokenizer,
    Transcriber,
    VisionPrompt,
    __version__,
)
from ._pippin import compile_model as compile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import core as core
    from . import coreml as coreml
    from . import lm as lm
    from . import nn as nn
    from . import optimizers as optimizers
    from . import utils as utils
    from ._export import ExportedFunction, SizeRange, TensorSpec, export
    from ._tools import Calibrated, Compressed, Converted, Pulled, Verified, calibrate, compress, convert, inspect, pull, verify

__all__ = [
    "Calibrated", "CancelToken", "CancelledError", "ChatTemplate", "Compressed", "Converted", "DeviceError", "Error", "ExportedFunction", "FeatureInfo",
    "Function", "ImageEncoder", "InputOutputError", "InvalidArgumentError", "InvalidFileError", "LanguageModel", "LimitExceededError",
    "Model", "NetworkError", "NotFoundError", "Pulled", "Sequence", "SizeRange", "State", "Tensor", "TensorSpec", "TextEncoder",
    "TextStream", "Tokenizer", "Transcriber", "UnsupportedError", "Verified", "VisionPrompt", "__version__", "calibrate", "compile", "compress", "convert", "export", "inspect",
    "pull", "verify",
]
# Imported on first use, so that `import pippin` is quick: dataclasses take longer to import than all of this. Type
# checkers read the branch above.
_OF_TOOLS = ("Calibrated", "Compressed", "Converted", "Pulled", "Verified", "calibrate", "compress", "convert", "inspect", "pull", "verify")
_OF_EXPORT = ("ExportedFunction", "SizeRange", "TensorSpec", "export")

if not TYPE_CHECKING:

    def __getattr__(name):
        import importlib

        if name in ("core", "coreml", "lm", "nn", "optimizers", "utils"):
            return importlib.import_module("." + name, __name__)
        for names, home in ((_OF_TOOLS, "._tools"), (_OF_EXPORT, "._export")):
            if name in names:
                module = importlib.import_module(home, __name__)
                globals().update({one: getattr(module, one) for one in names})
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
