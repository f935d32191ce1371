"""What lint.py and libcxx.py do alike: sources of a compile database, several files to a unit, all cores."""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


# Kernels that only the compilers of other processors build.
ELSEWHERE = re.compile(r"/(x86|arm)_[^/]*$")


def entries_of(build, sources):
    """The entries of these files in a build folder's compile_commands.json."""
    database = {os.path.relpath(e["file"], ROOT): e for e in json.loads((build / "compile_commands.json").read_text())}
    missing = [f for f in sources if f not in database and not ELSEWHERE.search(f)]
    if missing:
        sys.exit(f"{missing[0]} is compiled by nothing here and would be left out ({len(missing)} such files)")
    return [database[f] for f in sources if f in database]


def tracked(*patterns):
    """The project's files that match git's patterns, from its root."""
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.split()


def units_of(entries, files_of_a_unit):
    """Groups of entries that can be compiled as one: files of one folder with the same flags. Large groups first, so
    that none is left to the end alone."""
    groups = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        words = words[next(i for i, word in enumerate(words) if word.startswith("-")):]  # a launcher, the compiler
        flags = [word for word, before in zip(words, ["", *words])
                 if not {word, before} & {"-o", "-c", "-MF", "-MT"} and word != "-MD"]
        path = os.path.relpath(entry["file"], ROOT)
        groups.setdefault((os.path.dirname(path), tuple(flags)), []).append(path)
    units = []
    for (_, flags), files in sorted(groups.items()):
        files = sorted(set(files))
        units += [(flags, files[start:start + files_of_a_unit]) for start in range(0, len(files), files_of_a_unit)]
    return sorted(units, key=lambda unit: -sum((ROOT / f).stat().st_size for f in unit[1]))


def check(units, folder, check_unit):
    """Calls check_unit(file, flags, files) for each unit, where `file`, in `folder`, includes `files`. A unit that gives
    False, because two of its files have a name in common, is checked in halves."""
    folder.mkdir(exist_ok=True)

    def run(flags, files):
        unit = folder / f"{files[0].replace('/', '_')}_{len(files)}.cpp"
        unit.write_text("".join(f'#include "{f}"\n' for f in files))
        if not check_unit(unit, flags, files):
            half = len(files) // 2
            run(flags, files[:half])
            run(flags, files[half:])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for future in [pool.submit(run, *unit) for unit in units]:
            future.result()
