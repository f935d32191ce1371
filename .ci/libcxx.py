#!/usr/bin/env -S python3 -B
"""Compiles every source of the project, including tests, with clang and libc++, the library of Macs.

usage: .ci/libcxx.py BUILD [PATTERN]     files whose path matches the regular expression, all without one

BUILD is a build folder with compile_commands.json, configured without precompiled headers. Nothing is linked:
Debian's third-party libraries are built for GCC's standard library. Most of a file's time is reading its headers, so
files with the same flags are included into one.
"""
import pathlib
import re
import subprocess
import sys
import threading

import units

FILES_OF_A_UNIT = (24, 4)
# Flags of GCC that clang lacks are not a fault of the code.
COMPILER = ["clang++-14", "-stdlib=libc++", "-fsyntax-only", "-Wno-unknown-warning-option", "-ferror-limit=0"]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = re.compile(sys.argv[2] if len(sys.argv) == 3 else "")
    sources = [f for f in units.tracked("pippin/*.cpp", "tests/*_test.cpp") if wanted.search(f)]
    entries = units.entries_of(build, [f for f in sources if not f.startswith("tests/install/")])
    failed = []
    lock = threading.Lock()

    def compile_unit(unit, flags, files):
        result = subprocess.run([*COMPILER, *flags, str(unit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, cwd=units.ROOT)
        if result.returncode and len(files) == 1:
            with lock:
                failed.extend(files)
                print(result.stdout, flush=True)
        return "\n".join(line for line in result.stdout.splitlines() if ": error:" in line or ": fatal error:" in line)

    # End-to-end tests are separate programs, with the same names in each.
    alone = [e for e in entries if e["file"].startswith(str(units.ROOT / "tests"))]
    together = [e for e in entries if e not in alone]
    groups = units.groups_of(together)
    groups += [(flags, [file]) for flags, files in units.groups_of(alone) for file in files]
    units.check(groups, FILES_OF_A_UNIT, build / "libcxx", compile_unit)
    print(f"{len(entries)} files compiled with libc++, {len(failed)} do not compile")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
