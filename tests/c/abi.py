#!/usr/bin/env python3
"""Compares pippin.h with the interface that programs were compiled against: names, arguments and layouts in
pippin.abi, written by abidw.

    abi.py           status 1 if the header differs from pippin.abi; 77 without abigail-tools
    abi.py --write   writes pippin.abi, after functions were added
    abi.py --self-test   that the check can fail

abigail reads debug information, so the functions are compiled with bodies that do nothing: only the header matters, and
the compiler checks the library against it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "pippin/c/pippin.h"
SYMBOLS = HERE.parents[1] / "pippin/c/symbols.map"
STORED = HERE / "pippin.abi"
INCOMPATIBLE = 8  # abidiff's status has this bit


def functions_of(header):
    text = re.sub(r"//[^\n]*", "", header)
    return [" ".join(one.split()) for one in re.findall(r"^PIPPIN_API ([^;]+);", text, re.M)]


def names_of(header):
    return [re.search(r"(\w+)\(", function)[1] for function in functions_of(header)]


def dump(header, folder):
    """abidw's output for a header's text."""
    source, library, target = folder / "pippin.c", folder / "libpippin.so.0", folder / "new.abi"
    (folder / "pippin.h").write_text(header, encoding="utf-8")
    bodies = [f"{one} {{ {'' if one.startswith('void pippin') else 'return 0;'} }}" for one in functions_of(header)]
    source.write_text('#include "pippin.h"\n' + "\n".join(bodies) + "\n", encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-Wl,-soname,libpippin.so.0",
                    "-o", library.name, source.name], check=True, cwd=folder)
    subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--out-file", target.name,
                    library.name], check=True, cwd=folder)
    return target


def difference(header, stored):
    """abidiff's status and output: 0 if nothing differs."""
    with tempfile.TemporaryDirectory() as folder:
        new = dump(header, Path(folder))
        compared = subprocess.run(["abidiff", "--no-show-locs", "--no-architecture", str(stored), str(new)], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        return compared.returncode, compared.stdout


def self_test():
    header = HEADER.read_text(encoding="utf-8")
    more = header.replace("PIPPIN_API void pippin_free(", "PIPPIN_API int32_t pippin_more(void);\nPIPPIN_API void pippin_free(")
    other = re.sub(r"pippin_option_name\(int64_t", "pippin_option_name(int32_t", header)
    less = header.replace("PIPPIN_API void pippin_free(void* memory);", "")
    assert header not in (more, other, less)
    assert difference(header, STORED)[0] == 0
    assert difference(more, STORED)[0] != 0 and not difference(more, STORED)[0] & INCOMPATIBLE
    assert difference(other, STORED)[0] != 0
    assert difference(less, STORED)[0] & INCOMPATIBLE
    return 0


def main():
    if sys.argv[1:] not in ([], ["--write"], ["--self-test"]):
        sys.exit(__doc__)
    header = HEADER.read_text(encoding="utf-8")
    listed = re.findall(r"^ +(pippin_\w+);", SYMBOLS.read_text(encoding="utf-8"), re.M)
    apart = sorted(set(names_of(header)) ^ set(listed))
    if apart:
        print(f"pippin.h and symbols.map differ in {', '.join(apart)}")
        return 1
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("abigail-tools are not installed: the types are not compared")
        return 77
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:] == ["--write"]:
        with tempfile.TemporaryDirectory() as folder:
            STORED.write_text(dump(header, Path(folder)).read_text(encoding="utf-8"), encoding="utf-8")
        return 0
    status, words = difference(header, STORED)
    if status:
        print(words)
        print("pippin.h breaks programs that were compiled with it" if status & INCOMPATIBLE
              else "pippin.h is other than tests/c/pippin.abi: if nothing but functions was added, tests/c/abi.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
