"""MLX's functions that Pippin does not have: each raises an error of one line when it is called."""

from collections.abc import Callable
from typing import Any, NoReturn

from .._errors import UnsupportedError


def refusal(name: str, why: str) -> Callable[..., Any]:
    """A function that raises UnsupportedError."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(f"[{name}] Not supported: {why}.")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Not supported: {why}."
    return function


_DERIVED = "arrays are not differentiated"
grad = refusal("grad", _DERIVED)
value_and_grad = refusal("value_and_grad", _DERIVED)
vjp = refusal("vjp", _DERIVED)
jvp = refusal("jvp", _DERIVED)

_EXPORTED = "functions are exported as Core ML packages"
export_function = refusal("export_function", _EXPORTED)
exporter = refusal("exporter", _EXPORTED)
import_function = refusal("import_function", _EXPORTED)
export_to_dot = refusal("export_to_dot", "graphs are not drawn")

_EIGHT = "floats of 8 bits have no arithmetic"
from_fp8 = refusal("from_fp8", _EIGHT)
to_fp8 = refusal("to_fp8", _EIGHT)
qqmm = refusal("qqmm", "activations are not quantized")
gather_qqmm = refusal("gather_qqmm", "activations are not quantized")
