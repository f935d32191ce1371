"""The demo model as a package, and small models, written once per test run."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("PIPPIN_PYTHON_SOURCE", Path(__file__).resolve().parents[3]))
SHARED = Path(os.environ.get("PIPPIN_SHARED", SOURCE.parent / "shared"))
sys.path.insert(0, str(SOURCE / "tests/python"))  # testing.py
SANITIZED = "LD_PRELOAD" in os.environ  # everything takes ten times as long
PROGRAM = os.environ.get("PIPPIN", str(SOURCE / "build/release/pippin/cli/pippin"))


@functools.lru_cache(maxsize=None)
def folder():
    made = tempfile.mkdtemp(prefix="pippin-python-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.lru_cache(maxsize=None)
def package():
    path = folder() / "demo.mlpackage"
    # Libraries preloaded into Python for a sanitizer are linked into the program already.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([PROGRAM, "convert", str(SOURCE / "pippin/demo/model"), "-o", str(path)], check=True,
                   capture_output=True, env=environment)
    return str(path)


# Small models in the text form of Core ML's compiler. add: y = x + 1; total: the sum of x; loop: y = y + x n times,
# which no plan supports; slow: loops or products of some seconds.
PROGRAMS = {
    "add": """program(1.3) {
  func main<ios18>(tensor<fp32, [1, 4]> x) {
    fp32 one = const()[name = string("one"), val = fp32(1)];
    tensor<fp32, [1, 4]> y = add(x = x, y = one)[name = string("y")];
  } -> (y);
}""",
    "total": """program(1.3) {
  func main<ios18>(tensor<fp32, [2, 3]> x, state<tensor<fp16, [2, 3]>> total) {
    tensor<fp16, [2, 3]> before = read_state(input = total)[name = string("before")];
    tensor<fp16, [2, 3]> half = cast(dtype = string("fp16"), x = x)[name = string("half")];
    tensor<fp16, [2, 3]> more = add(x = before, y = half)[name = string("more")];
    write_state(data = more, input = total)[name = string("write")];
    tensor<fp32, [2, 3]> y = cast(dtype = string("fp32"), x = more)[name = string("y")];
    tensor<fp32, [2, 3]> z = mul(x = y, y = x)[name = string("z")];
  } -> (y, z);
}""",
    "types": """program(1.3) {
  func main<ios18>(tensor<fp16, [2, 2]> h, tensor<int32, [2]> i, tensor<bool, [2]> b) {
    tensor<fp16, [2, 2]> h2 = add(x = h, y = h)[name = string("h2")];
    tensor<int32, [2]> i2 = add(x = i, y = i)[name = string("i2")];
    tensor<bool, [2]> b2 = logical_not(x = b)[name = string("b2")];
  } -> (h2, i2, b2);
}""",
    "loop": """program(1.3) {
  func main<ios18>(tensor<fp32, [2]> x, int32 n) {
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 one = const()[name = string("one"), val = int32(1)];
    int32 i, tensor<fp32, [2]> y = while_loop(loop_vars = (zero, x))[name = string("loop")]
    (int32 j, tensor<fp32, [2]> a) { bool c = less(x = j, y = n)[name = string("c")]; } -> (c)
    (int32 k, tensor<fp32, [2]> b) {
      int32 m = add(x = k, y = one)[name = string("m")];
      tensor<fp32, [2]> d = add(x = b, y = x)[name = string("d")];
    } -> (m, d);
  } -> (y);
}""",
}
IMAGES = """program(1.3) {
  func main<ios18>(tensor<fp32, [1, 3, 2, 4]> picture, tensor<fp32, [1, 1, 2, 4]> gray) {
    fp32 most = const()[name = string("most"), val = fp32(255)];
    tensor<fp32, [1, 3, 2, 4]> values = identity(x = picture)[name = string("values")];
    tensor<fp32, [1, 3, 2, 4]> negative = sub(x = most, y = picture)[name = string("negative")];
    tensor<fp32, [1, 1, 2, 4]> levels = identity(x = gray)[name = string("levels")];
  } -> (values, negative, levels);
}"""


@functools.lru_cache(maxsize=None)
def compiled(name):
    """The folder of one of PROGRAMS, or of "rgb" or "bgr": IMAGES with that order of channels."""
    path = folder() / f"{name}.mlmodelc"
    path.mkdir()
    (path / "model.mil").write_text(PROGRAMS.get(name, IMAGES))
    if name not in PROGRAMS:
        def image(called, color):
            return {"name": called, "type": "Image", "width": "4", "height": "2", "colorspace": color}

        def array(called, channels):
            shape = f"[1, {channels}, 2, 4]"
            return {"name": called, "type": "MultiArray", "dataType": "Float32", "shape": shape}

        described = {
            "specificationVersion": 9,
            "modelType": {"name": "MLModelType_mlProgram"},
            "inputSchema": [image("picture", name.upper()), image("gray", "Grayscale")],
            "outputSchema": [array("values", 3), image("negative", name.upper()), image("levels", "Grayscale")],
        }
        (path / "metadata.json").write_text(json.dumps([described]))
    return str(path)
