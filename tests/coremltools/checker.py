"""What the tests here read packages with: tools/coremltools/check.py of the shared data, over a checkout of coremltools.

Where COREMLTOOLS names no checkout, there is no shared data, or the Python (COREMLTOOLS_PYTHON, Debian's by default) lacks
what coremltools imports, the test ends with 77 (skipped).
"""
import os
import subprocess
import sys
from pathlib import Path

SHARED = Path(os.environ.get("PIPPIN_SHARED") or Path(__file__).resolve().parent.parent.parent.parent / "shared")
SKIPPED = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def checker():
    """A function that takes packages and returns the checker's process, with a line, ok or FAIL, for each in stdout."""
    if not os.environ.get("COREMLTOOLS"):
        skip("COREMLTOOLS names no checkout of apple/coremltools")
    program = SHARED / "tools/coremltools/check.py"
    if not program.exists():
        skip(f"no shared data: {program}")
    python = os.environ.get("COREMLTOOLS_PYTHON", "/usr/bin/python3")
    try:
        subprocess.run([python, "-c", "import numpy, google.protobuf, packaging, attr, cattr, tqdm, sympy, yaml"],
                       check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip(f"{python} lacks what coremltools imports")
    return lambda packages: subprocess.run([python, "-B", program, *packages], capture_output=True, text=True, check=False)
