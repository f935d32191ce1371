"""What docs/python.md shows runs as it stands, and a wheel has what it takes."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from fixtures import SOURCE, package


class Documentation(unittest.TestCase):
    def test_the_snippets_run(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("NumPy is not installed")
        text = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertEqual(len(snippets), 2)
        folder = Path(package()).parent  # has demo.mlpackage
        for snippet in snippets:
            ended = subprocess.run([sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertTrue(ended.stdout)


class Wheel(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(SOURCE / "packaging/python"))
        import pippin_build

        import pippin

        self.build = pippin_build
        os.environ["PIPPIN_BUILD_DIR"] = str(Path(pippin.__file__).resolve().parents[2])
        os.environ["SOURCE_DATE_EPOCH"] = "1700000000"

    def tearDown(self):
        sys.path.remove(str(SOURCE / "packaging/python"))

    def test_a_wheel_works_where_it_is_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            name = self.build.build_wheel(folder)
            first = (Path(folder) / name).read_bytes()
            self.assertEqual(self.build.build_wheel(folder), name)
            self.assertEqual((Path(folder) / name).read_bytes(), first)  # the same bytes again
            self.assertRegex(name, r"^pippin-[0-9.]+-cp3\d+-cp3\d+-\w+\.whl$")
            with zipfile.ZipFile(Path(folder) / name) as wheel:
                names = wheel.namelist()
                record = wheel.read(next(one for one in names if one.endswith("/RECORD"))).decode()
                wheel.extractall(folder)
            self.assertEqual(sorted(line.split(",")[0] for line in record.splitlines()), sorted(names))
            for file in ("pippin/__init__.py", "pippin/lm.py", "pippin/py.typed", "pippin/_pippin.pyi"):
                self.assertIn(file, names)
            code = "import pippin; from pippin import lm; m, t = lm.load('demo'); print(lm.generate(m, t, 'A', max_tokens=3))"
            ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                   env={**os.environ, "PYTHONPATH": folder})
            self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_the_module_exports_nothing_but_its_entry(self):
        import pippin._pippin as module
        try:
            listed = subprocess.run(["nm", "-D", "--defined-only", module.__file__], capture_output=True, text=True)
        except FileNotFoundError:
            self.skipTest("nm is not installed")
        strong = [line.split()[-1] for line in listed.stdout.splitlines() if line.split()[-2] in "TD"]
        self.assertEqual(strong, ["PyInit__pippin"])

    def test_sources(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue((Path(folder) / self.build.build_sdist(folder)).stat().st_size > 1 << 20)


if __name__ == "__main__":
    unittest.main()
