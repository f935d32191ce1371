#!/usr/bin/env -S python3 -B
"""Compiles every header of the project alone, with clang and libc++.

usage: .ci/headers.py BUILD

BUILD is a build folder with compile_commands.json, configured without precompiled headers. The library of C++ is read
as modules, of which a header sees only what it includes itself, in less time. What does not compile so, since others'
headers do not bear modules, is compiled without. The target headers_alone does the same with GCC, slower; its list of
what is no header of its own is read from there.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import units

COMPILER = ["clang++-14", "-stdlib=libc++", "-fsyntax-only", "-w", "-ferror-limit=5"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    folder = build / "headers"
    folder.mkdir(exist_ok=True)
    listed = (units.ROOT / "tests/layering/CMakeLists.txt").read_text()
    excluded = [re.compile(pattern.replace("\\\\", "\\"))
                for pattern in re.findall(r'^list\(FILTER headers EXCLUDE REGEX "(.*)"\)$', listed, re.M)]
    if not excluded:
        sys.exit("tests/layering/CMakeLists.txt: no list(FILTER headers EXCLUDE ...)")
    # Headers of one instruction set are compiled with the files that include them.
    headers = [h for h in units.tracked("pippin/*.h")
               if not any(e.search(h) for e in excluded) and not re.search(r"/(avx|neon)[^/]*$", h)]
    sources = [f for f in units.tracked("pippin/*.cpp") if not re.search(r"/kernels/|_(test|benchmark)\.cpp$", f)]
    folders = dict.fromkeys(word for flags, _ in units.groups_of(units.entries_of(build, sources))
                            for word in " ".join(flags).replace("-isystem ", "-isystem").split()
                            if word.startswith(("-I", "-isystem", "-D")))

    def refused(header):
        source = folder / (header.replace("/", "_") + ".cpp")
        source.write_text(f'#include "{header}"\n')
        for modules in [["-fmodules", f"-fmodules-cache-path={folder / 'modules'}"], []]:
            result = subprocess.run([*COMPILER, "-std=c++20", *folders, *modules, str(source)], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, cwd=units.ROOT)
            if result.returncode == 0:
                return ""
        return result.stdout

    refused(headers[0])  # makes the modules, once
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [said for said in pool.map(refused, headers) if said]
    print("\n".join([*failed, f"{len(headers)} headers compiled alone, {len(failed)} do not compile"]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
