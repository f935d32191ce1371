#!/usr/bin/env python3
"""Reads and type-checks exported packages with coremltools' own code.

    MX_TEST=PROGRAM COREMLTOOLS=DIR check_exported.py

MX_TEST is the built mx_test: its tests write the packages that they run. DIR and COREMLTOOLS_PYTHON as in
check_written.py. Exit status 77 (skipped) if there is no checkout, no shared data or no such Python, 1 if a
package failed.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checker import checker


def main():
    program = os.environ.get("MX_TEST") or sys.exit("MX_TEST: the built test program")
    check = checker()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "--gtest_filter=*Export.*"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PIPPIN_EXPORTED": folder})
        packages = sorted(Path(folder).glob("*.mlpackage"))
        done = check(packages)
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("ok") for line in lines)
    print("\n".join(line for line in lines if line.startswith("FAIL")))
    print(f"{passed} of {len(packages)} packages pass")
    if not packages or passed < len(packages):
        sys.exit(done.stderr.strip()[-2000:] or 1)


main()
