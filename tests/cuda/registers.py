#!/usr/bin/env -S python3 -B
"""Compares the registers of the CUDA kernels, compiled for sm_90, with pippin/cuda/kernels/table.txt.

    registers.py ROOT [--log FILE] [--nvcc NVCC] [--update]
    registers.py --self-test

FILE has the messages of nvcc from the build; without it, the kernels are compiled for this.

None may use more than the table says, nor spill more bytes (a third column, where there are any). The numbers are those
of one version of nvcc, which the table names: with another version only spills are checked. --update writes the table. The status is 77 if
there is no nvcc.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = "pippin/cuda/kernels/table.txt"
ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'")
SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")


def usage_of(log):
    """{name: (registers, spilled bytes)} for sm_90, of the output of nvcc --resource-usage."""
    usage, name, spilled = {}, None, 0
    for line in log.splitlines():
        if match := ENTRY.search(line):
            name, spilled = match[1] if match[2] == "sm_90" else None, 0
        elif match := SPILL.search(line):
            spilled = int(match[1]) + int(match[2])
        elif (match := USED.search(line)) and name:
            usage[name] = int(match[1]), spilled
    return usage


def faults_of(usage, known, same_version):
    """The lines of a report: kernels that are worse than the table says."""
    faults = []
    for name, (registers, spilled) in sorted(usage.items()):
        if spilled > known.get(name, (0, 0))[1]:
            faults.append(f"{name}: spills {spilled} bytes")
        if not same_version:
            continue
        if name not in known:
            faults.append(f"{name}: not in {TABLE} (registers.py . --update)")
        elif registers > known[name][0]:
            faults.append(f"{name}: {registers} registers, {TABLE} has {known[name][0]}")
    if same_version:
        faults += [f"{name}: in {TABLE}, but there is no such kernel" for name in sorted(known.keys() - usage.keys())]
    return faults


def read_table(path):
    """The version of nvcc and {name: (registers, spilled bytes)}."""
    lines = path.read_text().splitlines() if path.exists() else []
    version = next((line.split()[-1] for line in lines if line.startswith("# nvcc ")), "")
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return version, {name: (int(registers), int(spilled[0]) if spilled else 0) for name, registers, *spilled in rows}


def write_table(path, version, usage):
    width = max(map(len, usage), default=0)
    rows = [f"{name:{width}} {registers:3}" + (f" {spilled}" if spilled else "")
            for name, (registers, spilled) in sorted(usage.items())]
    path.write_text("\n".join(["# Registers of a thread, by kernel, for sm_90 (tests/cuda/registers.py . --update).",
                               f"# nvcc {version}", *rows]) + "\n")


def version_of(nvcc):
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release ([\d.]+)", said)[1]


def compiled(nvcc, root):
    """The messages of nvcc about the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([nvcc, "-std=c++17", "-O3", "-I", root, "-arch=sm_90", "-cubin", "--resource-usage", "-o",
                               f"{folder}/kernels.cubin", root / "pippin/cuda/kernels/kernels.cu"],
                              capture_output=True, text=True)
    if done.returncode:
        sys.exit("\n".join((done.stdout + done.stderr).splitlines()[:20]))
    return done.stdout + done.stderr


def self_test():
    log = """ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Used 99 registers, used 0 barriers
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    8 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 255 registers
"""
    usage = usage_of(log)
    assert usage == {"a": (18, 0), "b": (255, 12)}, usage
    assert faults_of(usage, {"a": (17, 0), "c": (1, 0)}, True) == [
        f"a: 18 registers, {TABLE} has 17", "b: spills 12 bytes", f"b: not in {TABLE} (registers.py . --update)",
        f"c: in {TABLE}, but there is no such kernel"]
    assert faults_of(usage, {}, False) == ["b: spills 12 bytes"]
    assert faults_of(usage, {"a": (18, 0), "b": (255, 12)}, True) == []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "table.txt")
        write_table(path, "13.0", usage)
        assert read_table(path) == ("13.0", usage)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.self_test:
        return self_test()
    if given.root is None:
        parser.error("no ROOT")
    nvcc = shutil.which(given.nvcc) or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        print("there is no nvcc")
        sys.exit(77)
    version = version_of(nvcc)
    log = given.log.read_text() if given.log else compiled(nvcc, given.root)
    usage = usage_of(log)
    if not usage:
        sys.exit(f"no kernel for sm_90 in the messages of nvcc:\n{log}")
    if given.update:
        write_table(given.root / TABLE, version, usage)
    known_version, known = read_table(given.root / TABLE)
    faults = faults_of(usage, known, version == known_version)
    print("\n".join([*faults, f"{len(usage)} kernels, {len(faults)} faults, nvcc {version}"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
