"""Wheels, source archives and installed trees work where they are unpacked and have the expected contents."""

import http.server
import importlib
import importlib.util
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

import pippin._pippin
from fixtures import SOURCE

sys.path.insert(0, str(SOURCE / "packaging/python"))
check_wheel = importlib.import_module("check_wheel")
pippin_build = importlib.import_module("pippin_build")
BUILD = Path(pippin.__file__).parents[2]
# The requirements of Debian 12's compiler; later systems require more.
LIMITS = {"GLIBC": "2.36", "GLIBCXX": "3.4.30"}
PACKAGE = SOURCE / "pippin/python"
PACKAGED = {str(file.relative_to(PACKAGE)) for file in PACKAGE.glob("pippin/**/*.py*") if file.suffix != ".pyc"}
STORY = "from pippin import lm; m, t = lm.load('demo'); print(lm.generate(m, t, 'A', max_tokens=3))"


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.update(PIPPIN_BUILD_DIR=str(BUILD), SOURCE_DATE_EPOCH="1700000000")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.wheel = cls.folder / pippin_build.build_wheel(cls.folder)

    def imports_from(self, folder):
        """The output of a program that has the package in `folder`, and no other."""
        path = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        self.assertTrue(run(sys.executable, "-c", STORY, env=path).strip())
        return run(sys.executable, "-c", "import pippin; print(pippin.__file__)", env=path).strip()

    def test_the_check_finds_nothing(self):
        if any(map(self.is_newer, LIMITS)):
            self.skipTest(f"{platform.libc_ver()} is newer than what wheels are built on")
        faults, needed = check_wheel.check(self.wheel, LIMITS)
        self.assertEqual(faults, [])
        self.assertEqual(set(needed), {"GLIBC", "GLIBCXX"})

    @staticmethod
    def is_newer(library):
        here = platform.libc_ver()[1] if library == "GLIBC" else "0"
        return check_wheel.numbers(here) > check_wheel.numbers(LIMITS[library])

    def test_the_check_finds_faults(self):
        old = {"GLIBC": "2.12", "GLIBCXX": "3.4.9"}
        faults, _ = check_wheel.check(self.wheel, old)
        self.assertEqual(len([one for one in faults if "newer than" in one]), 2, faults)
        other = self.folder / "other" / self.wheel.name
        other.parent.mkdir()
        with zipfile.ZipFile(self.wheel) as wheel, zipfile.ZipFile(other, "w") as changed:
            for name in wheel.namelist():
                data = wheel.read(name)
                if name.endswith(".so"):
                    data = Path("/proc/self/exe").read_bytes()
                changed.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), data)
            changed.writestr("pippin/more.py", "")
        faults = "\n".join(check_wheel.check(other, {"GLIBC": "999", "GLIBCXX": "999"})[0])
        for words in ("RECORD says", "None of pippin/more.py", "the module exports", "in no order", "dates of their"):
            self.assertIn(words, faults)

    def test_a_wheel_is_the_same_again(self):
        again = self.folder / "again"
        again.mkdir()
        self.assertEqual(pippin_build.build_wheel(again), self.wheel.name)
        self.assertEqual((again / self.wheel.name).read_bytes(), self.wheel.read_bytes())

    def test_a_wheel_works_where_it_is_unpacked(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            self.assertEqual((PACKAGED | {"pippin/py.typed"}) - set(wheel.namelist()), set())
            wheel.extractall(self.folder / "unpacked")
        place = self.imports_from(self.folder / "unpacked")
        self.assertTrue(place.startswith(str(self.folder)), place)

    def test_metadata_come_before_the_wheel(self):
        folder = self.folder / "metadata"
        folder.mkdir()
        name = pippin_build.prepare_metadata_for_build_wheel(folder)
        with zipfile.ZipFile(self.wheel) as wheel:
            for file in ("METADATA", "WHEEL"):
                self.assertEqual((folder / name / file).read_bytes(), wheel.read(f"{name}/{file}"))

    def test_an_editable_wheel_names_the_built_package(self):
        folder = self.folder / "editable"
        folder.mkdir()
        with zipfile.ZipFile(folder / pippin_build.build_editable(folder)) as wheel:
            place = wheel.read("pippin.pth").decode().strip()
        self.assertEqual(Path(self.imports_from(place)), BUILD / "python/pippin/__init__.py")
        # A change of the sources is visible without a build.
        self.assertTrue((BUILD / "python/pippin/_errors.py").samefile(PACKAGE / "pippin/_errors.py"))

    def test_sources_make_the_same_sources(self):
        name = pippin_build.build_sdist(self.folder)
        with tarfile.open(self.folder / name) as archive:
            names = set(archive.getnames())
            archive.extractall(self.folder / "sources")
        root = self.folder / "sources" / name.removesuffix(".tar.gz")
        base = root.name
        wanted = ("PKG-INFO", "pyproject.toml", "setup.sh", "pippin/python/module.map", "pippin/demo/model/README.md")
        self.assertEqual({f"{base}/{file}" for file in wanted} - names, set())
        self.assertFalse([one for one in names if "__pycache__" in one or one.startswith(f"{base}/build/")])
        self.assertTrue(os.access(root / "setup.sh", os.X_OK))
        backend = root / "packaging/python"
        code = "import pippin_build; print(pippin_build.build_sdist('..'))"
        again = run(sys.executable, "-B", "-c", code, cwd=root, env={**os.environ, "PYTHONPATH": str(backend)}).strip()
        self.assertEqual((root.parent / again).read_bytes(), (self.folder / name).read_bytes())

    @unittest.skipUnless(importlib.util.find_spec("ensurepip"), "venv is not installed")
    def test_pip_installs_it_without_an_index(self):
        python = self.folder / "venv/bin/python"
        run(sys.executable, "-m", "venv", self.folder / "venv")
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        clean |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull}
        for arguments in ([self.wheel], [SOURCE], ["-e", SOURCE]):
            with self.subTest(arguments):
                run(python, "-m", "pip", "install", "--no-index", *arguments, env=clean)
                self.assertTrue(run(python, "-c", STORY, env=clean, cwd=self.folder).strip())
                shown = run(python, "-m", "pip", "show", "-f", "pippin", env=clean)
                self.assertIn(f"Version: {pippin.__version__}\n", shown)
                run(python, "-m", "pip", "uninstall", "-y", "pippin", env=clean)

    def test_what_cmake_installs_works(self):
        run("cmake", "--install", str(BUILD), "--component", "python", "--prefix", str(self.folder / "prefix"))
        package, = (self.folder / "prefix").glob("**/pippin/__init__.py")
        self.imports_from(package.parents[1])


class Nothing(http.server.BaseHTTPRequestHandler):
    """A server that has none of the requested models."""

    asked: list[str] = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


class Downloads(unittest.TestCase):
    """The module loads libcurl only on use."""

    def load(self, **more):
        """The output of a program that loads a model from a server that has none."""
        code = ("import pippin\ntry:\n    pippin.LanguageModel('org/none')\n"
                "except pippin.Error as error:\n    print(type(error).__name__, error)")
        with http.server.HTTPServer(("127.0.0.1", 0), Nothing) as server, tempfile.TemporaryDirectory() as folder:
            threading.Thread(target=server.serve_forever).start()
            (Path(folder) / "libcurl.so.4").write_text("")
            environment = {name: value.replace("FOLDER", folder) for name, value in more.items()}
            try:
                endpoint = f"http://127.0.0.1:{server.server_port}"
                return run(sys.executable, "-c", code,
                           env={**os.environ, "HF_ENDPOINT": endpoint, "HF_HOME": folder, **environment})
            finally:
                server.shutdown()

    def test_a_server_is_asked(self):
        self.assertRegex(self.load(), "^NotFoundError .*org/none")
        self.assertTrue(any("org/none" in path for path in Nothing.asked), Nothing.asked)

    def test_libcurl_may_be_absent(self):
        if "libcurl" in run("readelf", "-d", pippin._pippin.__file__):
            self.skipTest("the module is linked with libcurl")
        self.assertRegex(self.load(LD_LIBRARY_PATH="FOLDER"), "^UnsupportedError .*downloads need libcurl")


if __name__ == "__main__":
    unittest.main()
