"""Runs tools/coremltools/check.py of the shared data with a checkout of coremltools, for the tests in this folder.

If COREMLTOOLS does not name a checkout, there is no shared data, or the Python (COREMLTOOLS_PYTHON, default: Debian's)
lacks modules that coremltools imports, the test exits with status 77 (skipped).
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
    """A function that takes packages and returns the checker's process, whose stdout has a line, ok or FAIL, for
    each."""
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
