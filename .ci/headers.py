#!/usr/bin/env -S python3 -B
"""Compiles every header of the project alone, with clang and libc++.

usage: .ci/headers.py BUILD [--changed]     --changed: only headers that changed since units.py's base(), and those that
                                            include one of them

BUILD is a build folder with compile_commands.json, configured without precompiled headers. The target headers_alone
(tests/layering) does the same with GCC; this is faster, because the standard library is compiled as modules, of which
a header sees only those that it includes itself. Headers that do not compile with modules, because of third-party
headers, are compiled without.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

import units

COMPILER = ["clang++-14", "-stdlib=libc++", "-fsyntax-only", "-ferror-limit=5"]


def included_by(path):
    """The names of the project's headers that a file includes."""
    path = units.ROOT / path
    return set(re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)) if path.exists() else set()


def changed(entries):
    """Those of `entries` whose header changed since units.py's base() or includes a header that did. All if there is no
    such commit."""
    since = units.base()
    if not since:
        return entries
    names = set(units.git("diff", "--name-only", since).split())
    headers = {e["file"]: included_by(e["file"]) for e in entries}
    return [e for e in entries if any((included_by(h) | {h}) & names for h in headers[e["file"]])]


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--changed"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    entries = [e for e in json.loads((build / "compile_commands.json").read_text())
               if e["file"].startswith(str(build / "tests/layering"))]
    if not entries:
        sys.exit(f"{build}/compile_commands.json: no entries of headers_alone")
    if "--changed" in sys.argv:
        entries = changed(entries)
    modules = ["-fmodules", f"-fmodules-cache-path={build / 'modules'}"]

    def refused(flags, source):
        for read_as in modules, []:
            result = subprocess.run([*COMPILER, *flags, "-w", *read_as, source], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, cwd=units.ROOT)
            if result.returncode == 0:
                return ""
        return result.stdout

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [pool.submit(refused, flags, file) for flags, files in units.groups_of(entries) for file in files]
        failed = [future.result() for future in done if future.result()]
    print("\n".join([*failed, f"{len(done)} headers compiled alone, {len(failed)} do not compile"]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
