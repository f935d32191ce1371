"""Arrays that compute, with MLX's names and meaning.

>>> import pippin.core as mx
>>> x = mx.array([[1.0, 2.0], [3.0, 4.0]])
>>> mx.softmax(x @ x.T, axis=-1)
array([[0.00247262, 0.997527],
       [8.31528e-07, 0.999999]], dtype=float32)

Operations are recorded, and computed when their values are needed: eval(), item(), print. There are no
derivatives: grad() and similar functions raise UnsupportedError.
"""

from .._pippin import __version__ as __version__
from .._pippin import _load_core

_core = _load_core()
_restore = _core._restore
# Its submodules have separate modules here.
globals().update(
    {name: value for name, value in vars(_core).items() if not name.startswith("_") and name not in ("fast", "random")}
)

from . import cuda, distributed, fast, fft, linalg, metal, random  # noqa: E402
from ._devices import (  # noqa: E402
    Device,
    DeviceType,
    Stream,
    StreamContext,
    ThreadLocalStream,
    clear_streams,
    cpu,
    default_device,
    default_stream,
    device_count,
    device_info,
    gpu,
    is_available,
    new_stream,
    new_thread_local_stream,
    new_thread_unsafe_stream,
    set_default_device,
    set_default_stream,
    set_memory_limit,
    set_wired_limit,
    stream,
)
from ._files import load, save, save_gguf, save_safetensors, savez, savez_compressed  # noqa: E402
from ._printing import PrintOptions, get_printoptions, printoptions, set_printoptions  # noqa: E402
from ._refused import (  # noqa: E402
    export_function,
    export_to_dot,
    exporter,
    from_fp8,
    gather_qqmm,
    grad,
    import_function,
    jvp,
    qqmm,
    to_fp8,
    value_and_grad,
    vjp,
)
from ._transforms import checkpoint, custom_function, vmap  # noqa: E402

e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__all__ = [name for name in globals() if not name.startswith("_")]
