#!/usr/bin/env python3
"""What arrays are exported to, read and type-checked by coremltools' own code.

    MX_TEST=PROGRAM COREMLTOOLS=DIR check_exported.py

MX_TEST is the built mx_test: its tests write the packages that they run. DIR and COREMLTOOLS_PYTHON as in
check_written.py beside it. Exit status 77 (skipped) where there is no checkout, no shared data or no such Python, 1 if a
package failed.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def main():
    program = os.environ.get("MX_TEST") or sys.exit("MX_TEST: the built test program")
    if not os.environ.get("COREMLTOOLS"):
        skip("COREMLTOOLS names no checkout of apple/coremltools")
    shared = Path(os.environ.get("PIPPIN_SHARED") or HERE.parent.parent.parent / "shared")
    checker = shared / "tools/coremltools/check.py"
    if not checker.exists():
        skip(f"no shared data: {checker}")
    python = os.environ.get("COREMLTOOLS_PYTHON", "/usr/bin/python3")
    try:
        subprocess.run([python, "-c", "import numpy, google.protobuf, packaging, attr, cattr, tqdm, sympy, yaml"],
                       check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        skip(f"{python} lacks what coremltools imports")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--gtest_filter=*Export.*"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PIPPIN_EXPORTED": folder})
        packages = sorted(Path(folder).glob("*.mlpackage"))
        done = subprocess.run([python, "-B", checker, *packages], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("ok") for line in lines)
    print("\n".join(line for line in lines if line.startswith("FAIL")))
    print(f"{passed} of {len(packages)} packages pass")
    if not packages or passed < len(packages):
        sys.exit(done.stderr.strip()[-2000:] or 1)


main()
