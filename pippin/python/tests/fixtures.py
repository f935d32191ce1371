"""The demo model as a package, written once for a run of the tests."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("PIPPIN_PYTHON_SOURCE", Path(__file__).resolve().parents[3]))
PROGRAM = os.environ.get("PIPPIN", str(SOURCE / "build/release/pippin/cli/pippin"))


@functools.lru_cache(maxsize=None)
def folder():
    made = tempfile.mkdtemp(prefix="pippin-python-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@functools.lru_cache(maxsize=None)
def package():
    path = folder() / "demo.mlpackage"
    subprocess.run([PROGRAM, "convert", str(SOURCE / "pippin/demo/model"), "-o", str(path)], check=True,
                   capture_output=True)
    return str(path)
