#!/usr/bin/env python3
"""Writes the archives of this folder from the folder with all test data, PIPPIN_SHARED.

    pack.py DATA [NAME...]   DATA/architectures, DATA/op-cases ...; all archives, or those named

contents.txt lists the contents of each archive. The same files give the same archive, byte by byte.
"""

import io
import lzma
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Weights are 4-byte words, of which the last byte, sign and exponent, is predictable.
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 0, "lp": 2, "pb": 2}]
LARGEST_CASE = 64_000
WHOLE_SETS = ("iOS15", "iOS16")


def contents():
    """Archive -> paths below DATA."""
    archives, paths = {}, None
    for line in (HERE / "contents.txt").read_text().splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            paths = archives.setdefault(line.strip("[]"), [])
        elif line:
            paths.append(line)
    return archives


def files_of(path):
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return [file for file in files if file.name != "README.md"]  # this folder has a README.md with the same content


def chosen_op_cases(data):
    """(name, bytes) of the smallest op cases that cover each op in every opset and precision, and each test once."""
    for archive in sorted((data / "op-cases").glob("*/cases.tar.gz")):
        folder = archive.parent.name
        with tarfile.open(archive) as tar:
            files = {member.name.removeprefix("./"): tar.extractfile(member).read() for member in tar if member.isfile()}
        rows = [line.split("\t") for line in (archive.parent / "cases.tsv").read_text().splitlines()[1:]]
        sizes = {row[0]: sum(len(content) for name, content in files.items() if name.startswith(row[0] + "/"))
                 for row in rows}
        seen, chosen = set(), []
        for case, test, opset, precision, *_, ops in sorted(rows, key=lambda row: (sizes[row[0]], row[0])):
            has = {(op, opset, precision) for op in ops.split(",")}
            if sizes[case] < LARGEST_CASE:
                has.add(test)
            if folder in WHOLE_SETS or not has <= seen:
                seen |= has
                chosen.append(case)
        for name in sorted(files):
            if name.rpartition("/model.mlpackage/")[0] in chosen or name.rpartition("/")[0] in chosen:
                yield f"op-cases/{folder}/{name}", files[name]
    license = "op-cases/LICENSE-coremltools.txt"
    yield license, (data / license).read_bytes()


def members(data, paths):
    for path in paths:
        if path == "op-cases":
            yield from chosen_op_cases(data)
            continue
        for file in files_of(data / path):
            yield str(file.relative_to(data)), file.read_bytes()


def pack(data, name, paths):
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in members(data, paths):
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    packed = lzma.compress(plain.getvalue(), filters=FILTERS)
    (HERE / f"{name}.tar.xz").write_bytes(packed)
    print(f"{name}: {len(packed)} of {len(plain.getvalue())} bytes")


def main(data, *names):
    archives = contents()
    for name in names or archives:
        pack(Path(data), name, archives[name])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
