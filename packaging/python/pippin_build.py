"""A build backend (PEP 517, PEP 660): CMake makes the module, this puts a wheel around it.

PIPPIN_BUILD_DIR names a build folder that is there already and has the target pippin_python; without it,
build/wheel is made.
"""

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version():
    found = re.search(r"project\(pippin VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if found is None:
        raise RuntimeError(f"{ROOT / 'CMakeLists.txt'}: has no project(pippin VERSION ...)")
    return found[1]


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def _metadata():
    text = f"Metadata-Version: 2.1\nName: pippin\nVersion: {version()}\n"
    text += "Summary: Core ML models on any machine: predictions, and language models that answer\n"
    text += "License: Apache-2.0\nRequires-Python: >=3.10\n"
    text += "Description-Content-Type: text/markdown\n\n"
    return text + (ROOT / "docs/python.md").read_text(encoding="utf-8")


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _run(*command):
    # pip shows what goes to stdout only when something fails.
    if subprocess.run(command, check=False).returncode != 0:
        raise RuntimeError(f"pippin: {' '.join(command)} failed; ./setup.sh installs what it needs")


def _package():
    """The folder with the package, built."""
    folder = Path(os.environ.get("PIPPIN_BUILD_DIR", ROOT / "build/wheel")).resolve()
    if "PIPPIN_BUILD_DIR" not in os.environ:
        _run("cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DPIPPIN_TESTS=OFF",
             "-DPIPPIN_BENCHMARKS=OFF", "-DPIPPIN_PAGE=OFF", "-DPIPPIN_PRECOMPILED_HEADERS=ON",
             f"-DPython3_EXECUTABLE={sys.executable}")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
        _run("cmake", "--build", str(folder), "--target", "pippin_python", "--parallel", jobs)
    package = folder / "python/pippin"
    if not list(package.glob("_pippin.*.so")):
        raise RuntimeError(f"{package}: has no module; pybind11-dev and python3-dev are needed to build it")
    return package


class _Wheel:
    """Files, the same bytes for the same contents, with the record of all of them."""

    def __init__(self, folder):
        self.name = f"pippin-{version()}-{_tag()}.whl"
        self.info = f"pippin-{version()}.dist-info"
        self.path = Path(folder) / self.name
        self.date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
        self.record = []
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED)

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, self.date)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self):
        self.add(f"{self.info}/METADATA", _metadata().encode())
        self.add(f"{self.info}/WHEEL", ("Wheel-Version: 1.0\nGenerator: pippin_build\nRoot-Is-Purelib: false\n"
                                        f"Tag: {_tag()}\n").encode())
        self.add(f"{self.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        record = "\n".join([*self.record, f"{self.info}/RECORD,,", ""])
        self.zip.writestr(zipfile.ZipInfo(f"{self.info}/RECORD", self.date), record)
        self.zip.close()
        return self.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _package()
    wheel = _Wheel(wheel_directory)
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            mode = 0o755 if file.suffix == ".so" else 0o644
            wheel.add(f"pippin/{file.relative_to(package).as_posix()}", file.read_bytes(), mode)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    package = _package()
    wheel = _Wheel(wheel_directory)
    wheel.add("pippin.pth", f"{package.parent}\n".encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    base = f"pippin-{version()}"
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # an unpacked sdist
        names = [str(file.relative_to(ROOT)) for file in ROOT.rglob("*")
                 if file.is_file() and file.relative_to(ROOT).parts[0] != "build" and "__pycache__" not in file.parts]
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(names):
            archive.add(ROOT / name, f"{base}/{name}", recursive=False)
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        data = _metadata().encode()
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return f"{base}.tar.gz"
