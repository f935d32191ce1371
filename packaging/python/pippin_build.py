"""A build backend (PEP 517, PEP 660): CMake builds the module, this script puts it into a wheel.

    python3 packaging/python/pippin_build.py FOLDER   writes a wheel into FOLDER and prints its path

PIPPIN_BUILD_DIR names a build folder in which the target pippin_python is already built. Without it, build/wheel-cp3XY
is used, or a temporary folder if the sources are read-only.
"""

import base64
import contextlib
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
EPOCH = 315532800  # 1980, the earliest date in zip


def _find(pattern, file):
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)
    if found is None:
        raise RuntimeError(f"{ROOT / file}: nothing matches {pattern}")
    return found[1]


def version():
    return _find(r"^project\(pippin VERSION ([0-9.]+)", "CMakeLists.txt")


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def _metadata():
    summary = _find('^description = "(.*)"$', "pyproject.toml")
    requires = _find('^requires-python = "(.*)"$', "pyproject.toml")
    text = f"Metadata-Version: 2.1\nName: pippin\nVersion: {version()}\nSummary: {summary}\nLicense: Apache-2.0\n"
    text += f'Requires-Python: {requires}\nProvides-Extra: numpy\nRequires-Dist: numpy; extra == "numpy"\n'
    text += "Description-Content-Type: text/markdown\n\n"
    return text + (ROOT / "docs/python.md").read_text(encoding="utf-8")


def _tag():
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{PYTHON}-{PYTHON}-{platform}"


def _wheel_text():
    return f"Wheel-Version: 1.0\nGenerator: pippin_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n"


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / f"pippin-{version()}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(_wheel_text(), encoding="utf-8")
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def _run(*command):
    # pip shows stdout only on failure.
    if subprocess.run(command, check=False).returncode != 0:
        raise RuntimeError(f"pippin: {' '.join(command)} failed; ./setup.sh installs what it needs")


@contextlib.contextmanager
def _built(is_kept=False):
    """Yields a build folder with the module; with `is_kept`, the caller continues to use it."""
    given = os.environ.get("PIPPIN_BUILD_DIR")
    if given:
        yield Path(given).resolve()
        return
    if is_kept or os.access(ROOT, os.W_OK):
        yield _build(ROOT / f"build/wheel-{PYTHON}")
        return
    with tempfile.TemporaryDirectory(prefix="pippin-wheel-") as folder:
        yield _build(Path(folder))


def _build(folder):
    more = ["-G", "Ninja"] if shutil.which("ninja") else []
    if shutil.which("ccache"):
        more.append("-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache")
    _run("cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DPIPPIN_TESTS=OFF",
         "-DPIPPIN_BENCHMARKS=OFF", "-DPIPPIN_PAGE=OFF", "-DPIPPIN_PRECOMPILED_HEADERS=ON",
         "-DPIPPIN_CUDA_ARCHITECTURES=all", f"-DPython3_EXECUTABLE={sys.executable}", *more)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    _run("cmake", "--build", str(folder), "--target", "pippin_python", "--parallel", jobs)
    return folder


class _Wheel:
    """A wheel file: the same bytes for the same contents, with the record of all files."""

    def __init__(self, folder):
        self.name = f"pippin-{version()}-{_tag()}.whl"
        self.info = f"pippin-{version()}.dist-info"
        self.date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), EPOCH))[:6]
        self.record = []
        self.path = Path(folder) / self.name
        self.zip = zipfile.ZipFile(self.path.with_suffix(".part"), "w")

    def write(self, name, data, mode):
        entry = zipfile.ZipInfo(name, self.date)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(entry, data)

    def add(self, name, data, mode=0o644):
        self.write(name, data, mode)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self):
        self.add(f"{self.info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        self.add(f"{self.info}/METADATA", _metadata().encode())
        self.add(f"{self.info}/WHEEL", _wheel_text().encode())
        self.write(f"{self.info}/RECORD", "\n".join([*self.record, f"{self.info}/RECORD,,", ""]), 0o644)
        self.zip.close()
        os.replace(self.zip.filename, self.path)
        return self.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with _built() as folder, tempfile.TemporaryDirectory(prefix="pippin-wheel-") as prefix:
        _run("cmake", "--install", str(folder), "--component", "python", "--strip", "--prefix", prefix)
        packages = list(Path(prefix).glob("**/pippin/__init__.py"))
        if len(packages) != 1 or not list(packages[0].parent.glob("_pippin*.so")):
            raise RuntimeError(f"{folder}: has no module; pybind11-dev and python3-dev are needed to build it")
        package = packages[0].parent
        wheel = _Wheel(wheel_directory)
        for file in sorted(package.rglob("*")):
            if file.is_file():
                mode = 0o755 if file.suffix == ".so" else 0o644
                wheel.add(f"pippin/{file.relative_to(package).as_posix()}", file.read_bytes(), mode)
        return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with _built(is_kept=True) as folder:
        wheel = _Wheel(wheel_directory)
        wheel.add("pippin.pth", f"{folder / 'python'}\n".encode())
        return wheel.close()


def _sources():
    """Returns the project's files, as relative paths: those that git lists, or all files of an unpacked sdist."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    names = listed.stdout.decode().split("\0")
    if listed.returncode != 0 or "pyproject.toml" not in names:
        found = (file.relative_to(ROOT) for file in ROOT.rglob("*"))
        names = [str(file) for file in found
                 if file.parts[0] not in {"build", ".git", "PKG-INFO"} and "__pycache__" not in file.parts]
    return [name for name in sorted(names) if name and (ROOT / name).is_file()]


def build_sdist(sdist_directory, config_settings=None):
    base = f"pippin-{version()}"
    date = max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), EPOCH)
    path = Path(sdist_directory) / f"{base}.tar.gz"

    def add(archive, name, data, mode):
        info = tarfile.TarInfo(f"{base}/{name}")
        info.size, info.mtime, info.mode = len(data), date, mode
        archive.addfile(info, io.BytesIO(data))

    with gzip.GzipFile(path, "wb", mtime=date) as file, \
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in _sources():
            add(archive, name, (ROOT / name).read_bytes(), 0o755 if os.access(ROOT / name, os.X_OK) else 0o644)
        add(archive, "PKG-INFO", _metadata().encode(), 0o644)
    return path.name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    oldest = _find(r'^requires-python = ">=([0-9.]+)"$', "pyproject.toml")
    if sys.version_info < tuple(int(part) for part in oldest.split(".")):
        sys.exit(f"pippin: a wheel needs Python {oldest} or newer, and {sys.executable} is {sys.version.split()[0]}")
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    try:
        print(Path(sys.argv[1]) / build_wheel(sys.argv[1]))
    except RuntimeError as error:
        sys.exit(str(error))
