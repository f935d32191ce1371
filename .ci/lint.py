#!/usr/bin/env python3
"""Lints every source of the project but tests and benchmarks with clang-tidy, several files at a time.

usage: .ci/lint.py BUILD [PATTERN]     files whose path matches the regular expression, all without one

BUILD is a build folder with compile_commands.json, configured without precompiled headers (GCC's are not clang's, and
files that are compiled together have no entry). Most of a file's lint is reading its headers, so files of one folder
with the same flags are included into one, which the analyzer treats as it treats each alone. A unit that does not
compile, because two of its files have a name in common, is linted in halves.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading

FILES_OF_A_UNIT = 8
# Kernels that only the compilers of other processors build.
ELSEWHERE = re.compile(r"/(x86|arm)_[^/]*$")
# Flags of GCC that clang lacks are no fault of the code.
TIDY = ["clang-tidy-14", "-quiet", "-extra-arg=-Wno-unknown-warning-option",
        "-checks=-bugprone-suspicious-include",  # that is what a unit is
        r"-header-filter=(pippin|tests|benchmarks|examples|fuzz)/.*\.(h|inc|cpp)$"]
COUNTS = re.compile(r"^\d+ warnings? (and \d+ errors? )?generated\.$|^Suppressed |^Use -header-filter", re.M)


def units_of(entries, root):
    """Groups of entries that can be compiled as one."""
    groups = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")):]  # a launcher, the compiler
        flags = [word for word, before in zip(words, ["", *words])
                 if not {word, before} & {"-o", "-c", "-MF", "-MT"} and word != "-MD"]
        path = os.path.relpath(entry["file"], root)
        groups.setdefault((os.path.dirname(path), tuple(flags)), []).append(path)
    for (_, flags), files in sorted(groups.items()):
        files = sorted(set(files))
        for start in range(0, len(files), FILES_OF_A_UNIT):
            yield flags, files[start:start + FILES_OF_A_UNIT]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = re.compile(sys.argv[2] if len(sys.argv) == 3 else "")
    tracked = subprocess.run(["git", "ls-files", "pippin/*.cpp"], cwd=root, check=True, stdout=subprocess.PIPE,
                             text=True).stdout.split()
    sources = [f for f in tracked if not re.search(r"_(test|benchmark)\.cpp$", f) and wanted.search(f)]
    database = {os.path.relpath(e["file"], root): e
                for e in json.loads((build / "compile_commands.json").read_text())}
    missing = [f for f in sources if f not in database and not ELSEWHERE.search(f)]
    if missing:
        sys.exit(f"{missing[0]} is compiled by nothing here and would not be linted ({len(missing)} such files)")

    folder = build / "units"
    folder.mkdir(exist_ok=True)
    failed = []
    lock = threading.Lock()

    def lint(command, files):
        unit = folder / f"{files[0].replace('/', '_')}_{len(files)}.cpp"
        unit.write_text("".join(f'#include "{f}"\n' for f in files))
        result = subprocess.run([*TIDY, str(unit), "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=root)
        if len(files) > 1 and "clang-diagnostic-error" in result.stdout:
            half = len(files) // 2
            lint(command, files[:half])
            lint(command, files[half:])
        elif result.returncode or result.stdout.strip():
            with lock:
                failed.extend(files)
                print(result.stdout, COUNTS.sub("", result.stderr).strip(), sep="\n", flush=True)

    units = list(units_of([database[f] for f in sources if f in database], root))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # Large units first, so that none is left to the end alone.
        units.sort(key=lambda unit: -sum((root / f).stat().st_size for f in unit[1]))
        for future in [pool.submit(lint, *unit) for unit in units]:
            future.result()
    print(f"{len(sources)} files in {len(units)} units linted, {len(failed)} in units with findings")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
