"""Reports what is installed, which parts of coremltools are replaced, and whether a prediction is correct."""

import platform
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from .. import __file__ as package_file
from .. import __version__
from . import _startup
from ._hooks import ANSWERS, NATIVE, SPARE, install

_PROGRAM = """program(1.0)
{
    func main<ios15>(tensor<fp32, [2]> x, tensor<fp32, [2]> y) {
            tensor<fp32, [2]> z = add(x = x, y = y)[name = tensor<string, []>("z")];
        } -> (z);
}
"""


def _origin(name):
    """The origin of a module of coremltools."""
    try:
        module = import_module(name)
    except ImportError as error:
        return f"missing: {error}"
    spec = module.__spec__
    if spec is not None and spec.origin == "pippin":
        return "Pippin's"
    return getattr(module, "__file__", "built in")


def _coremltools():
    """Lines about the module."""
    install()
    try:
        coremltools = import_module("coremltools")
    except ImportError as error:
        return [f"coremltools: not installed ({error}); pippin.coreml has MLModel and the like without it"]
    lines = [f"coremltools {coremltools.__version__}: {Path(coremltools.__file__).parent}"]
    lines += [f"  {name.rpartition('.')[2]}: {_origin(name)}" for name in (NATIVE, *SPARE)]
    for place, answers in ANSWERS.items():
        module = sys.modules.get(place)
        for name in answers:
            value = getattr(module, name, "missing")
            lines.append(f"  {place}.{name}: {value() if callable(value) else value}")
    return lines


def _prediction():
    """Empty if the prediction is correct."""
    from ._proxy import _MLModelProxy

    with tempfile.TemporaryDirectory(prefix="pippin-") as folder:
        model = Path(folder, "add.mlmodelc")
        model.mkdir()
        Path(model, "model.mil").write_text(_PROGRAM, encoding="utf-8")
        try:
            result = _MLModelProxy(str(model)).predict({"x": [1, 2], "y": [3, 4]})["z"].tolist()
        except Exception as error:  # any exception is reported
            return f"{type(error).__name__}: {error}"
    return "" if result == [4, 6] else f"[1, 2] + [3, 4] gave {result}"


def examine():
    """Prints the findings; returns an exit status."""
    print(f"pippin {__version__}: {Path(package_file).parent}")
    print(f"Python {platform.python_version()}: {sys.executable}")
    print("\n".join(_coremltools()))
    files = ", ".join(map(str, _startup.enabled()))
    print("in every program:", files or "no (python -m pippin.coreml enable)")
    fault = _prediction()
    print("a prediction:", fault or "right")
    return 1 if fault else 0
