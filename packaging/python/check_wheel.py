#!/usr/bin/env python3
"""Checks that a wheel runs on other systems: prints one line per fault and exits with 1, or prints its requirements.

    check_wheel.py WHEEL [--glibc 2.36] [--glibcxx 3.4.30]   maximum versions of the C and C++ libraries
"""

import argparse
import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Shared libraries by name: those on every Linux system, and those that docs/python.md lists for installation.
NEEDED = {
    "ld-linux", "libc", "libm", "libgcc_s", "libstdc++",
    "libcrypto", "libjpeg", "libpng16", "libprotobuf-lite", "libsamplerate", "libyaml-cpp", "libz", "libzip",
}
EXPORTED = ["PyInit__pippin"]


def numbers(version):
    return [int(part) for part in version.split(".")]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check_archive(wheel, path):
    """Checks names, order, record and metadata."""
    project, version, tag = path.stem.split("-", 2)
    info = f"{project}-{version}.dist-info"
    names = wheel.namelist()
    if len(set(names)) != len(names):
        yield "a file is in it twice"
    inside = [name for name in names if not name.startswith(f"{info}/")]
    if inside != sorted(inside) or names[len(inside):] != [name for name in names if name not in inside]:
        yield "files are in no order"
    if len({entry.date_time for entry in wheel.infolist()}) != 1:
        yield "files have dates of their own"
    recorded = dict.fromkeys(names)
    for line in wheel.read(f"{info}/RECORD").decode().splitlines():
        name, digest, size = line.rsplit(",", 2)
        recorded[name] = (digest, size)
    for name, record in recorded.items():
        data = wheel.read(name) if name in names else b""
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        right = ("", "") if name == f"{info}/RECORD" else (f"sha256={digest}", str(len(data)))
        if record != right:
            yield f"RECORD says {record} of {name}, which is {right}"
    lines = (("METADATA", f"Name: {project}"), ("METADATA", f"Version: {version}"), ("WHEEL", f"Tag: {tag}"))
    for file, line in lines:
        if line not in wheel.read(f"{info}/{file}").decode().splitlines():
            yield f"{file} does not say \"{line}\""


def needed_versions(module):
    """Returns the newest symbol version of each library: {"GLIBC": "2.34", ...}"""
    newest = {}
    for library, version in re.findall(r"\((GLIBC|GLIBCXX)_([\d.]+)\)", output("objdump", "-T", module)):
        newest[library] = max(newest.get(library, version), version, key=numbers)
    return newest


def check_module(module, limits):
    dynamic = output("readelf", "-d", module)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if re.sub(r"(?<=ld-linux).*|\.so\b.*", "", name) not in NEEDED:
            yield f"the module needs {name}, which is not expected"
    for entry in re.findall(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic):
        yield f"the module has {entry}"
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", module).splitlines()]
    if exported != EXPORTED:
        yield f"the module exports {', '.join(exported)}; expected {', '.join(EXPORTED)}"
    for library, version in needed_versions(module).items():
        if numbers(version) > numbers(limits[library]):
            yield f"the module needs {library}_{version}, newer than {limits[library]}"


def check(path, limits):
    """Returns the faults of a wheel, and the versions that it needs."""
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        faults = list(check_archive(wheel, path))
        modules = [name for name in wheel.namelist() if name.endswith(".so")]
        if len(modules) != 1:
            return [*faults, f"there are {len(modules)} modules"], {}
        module = wheel.extract(modules[0], folder)
        return [*faults, *check_module(module, limits)], needed_versions(module)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--glibc", default="999")
    parser.add_argument("--glibcxx", default="999")
    arguments = parser.parse_args()
    faults, needed = check(arguments.wheel, {"GLIBC": arguments.glibc, "GLIBCXX": arguments.glibcxx})
    print("\n".join(faults) or "needs " + ", ".join(f"{name}_{version}" for name, version in sorted(needed.items())))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
