#!/usr/bin/env -S python3 -B
"""Lints every source of the project except tests and benchmarks with clang-tidy, several files at a time.

usage: .ci/lint.py BUILD [--changed] [PATTERN]     files whose path matches the regular expression, all without one;
                                                  --changed: only those that units.py's changed() finds

BUILD is a build folder with compile_commands.json, configured without precompiled headers (clang cannot read GCC's, and
files that are compiled together have no entry). Most of a file's time is reading its headers, so files with the same
flags are included into one, which the analyzer treats like each alone. They are read with libc++, the library of Macs:
code that does not compile with it is a finding (libcxx.py compiles the tests as well).
"""
import pathlib
import re
import subprocess
import sys
import threading

import units

FILES_OF_A_UNIT = (24, 4)
# Objective-C++ (*.mm) is left to the compiler's own warnings: clang-tidy 14 attributes GNUstep's macros to the file.
# Flags of GCC that clang lacks are not a fault of the code.
TIDY = ["clang-tidy-14", "-quiet", "-extra-arg=-stdlib=libc++", "-extra-arg=-Wno-unknown-warning-option",
        "-extra-arg=-ferror-limit=0",
        # A unit includes sources, and may declare a name of the project next to a library's equal name; libc++ 14
        # copies in some places where C++20 moves.
        "-checks=-bugprone-suspicious-include,-bugprone-forward-declaration-namespace,-performance-move-const-arg",
        r"-header-filter=(pippin|tests|benchmarks|examples|fuzz)/.*\.(h|inc|cpp)$"]
COUNTS = re.compile(r"^\d+ warnings? (and \d+ errors? )?generated\.$|^Suppressed |^Use -header-filter", re.M)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--changed"]
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    wanted = re.compile(arguments[1] if len(arguments) == 2 else "")
    sources = [f for f in units.tracked("pippin/*.cpp")
               if not re.search(r"_(test|benchmark)\.cpp$", f) and wanted.search(f)]
    if "--changed" in sys.argv:
        sources = units.changed(sources)
    entries = units.entries_of(build, sources)
    failed = []
    lock = threading.Lock()

    def lint(unit, flags, files):
        result = subprocess.run([*TIDY, str(unit), "--", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=units.ROOT)
        errors = "\n".join(line for line in result.stdout.splitlines() if "[clang-diagnostic-error]" in line)
        if not (errors and len(files) > 1) and (result.returncode or result.stdout.strip()):
            with lock:
                failed.extend(files)
                print(result.stdout, COUNTS.sub("", result.stderr).strip(), sep="\n", flush=True)
        return errors

    units.check(units.groups_of(entries), FILES_OF_A_UNIT, build / "units", lint)
    print(f"{len(entries)} files linted, {len(failed)} in units with findings")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
