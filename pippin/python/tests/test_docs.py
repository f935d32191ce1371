"""The examples of docs/python.md, of the tutorial and of the examples folder run as they are."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from fixtures import PROGRAM, SOURCE, package
from testing import needs_numpy


class Documentation(unittest.TestCase):
    @needs_numpy
    def test_the_snippets_run(self):
        text = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreaterEqual(len(snippets), 5)
        folder = Path(package()).parent  # has demo.mlpackage
        for snippet in snippets:
            ended = subprocess.run([sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertTrue(ended.stdout)

    @needs_numpy
    def test_the_page_of_arrays_is_a_program(self):
        text = (SOURCE / "docs/arrays.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreaterEqual(len(snippets), 10)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(SOURCE / "pippin/demo/model", Path(folder) / "checkpoint")
            ended = subprocess.run([sys.executable, "-c", "\n".join(snippets)], cwd=folder, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        for words in ("(2, 2) mlx.core.float32", "[2, 0, 1]", "[4146024105, 967050713]", "['scales', 'w'] {'bits': '4', 'format': 'mlx'}",
                      "mlp.safetensors: 5 parameters are not in the model", "QuantizedLinear(input_dims=64"):
            self.assertIn(words, ended.stdout)

    def test_the_tutorial_is_a_program(self):
        text = (SOURCE / "docs/python-tutorial.md").read_text(encoding="utf-8")
        program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(SOURCE / "pippin/demo/model", Path(folder) / "checkpoint")
            ended = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            for words in ("parameters", "of the size", "the same first choice", "tokens per second together"):
                self.assertIn(words, ended.stdout)

    def test_the_example_writes_what_the_program_writes(self):
        example = SOURCE / "examples/generate.py"
        ended = subprocess.run([sys.executable, example, package(), "Tell me a story.", "20"], capture_output=True,
                               text=True, check=True)
        wanted = subprocess.run([PROGRAM, "run", package(), "--no-stats", "-n", "20", "Tell me a story."],
                                capture_output=True, text=True, check=True).stdout
        self.assertEqual(ended.stdout.strip(), wanted.strip())
        self.assertIn("tokens per second", ended.stderr)
        self.assertLessEqual(len(example.read_text().split('"""')[2].strip().splitlines()), 20)


class Import(unittest.TestCase):
    def test_submodules_are_loaded_when_they_are_asked_for(self):
        code = ("import sys, pippin\nslow = ('pippin.coreml', 'pippin.lm', 'numpy', 'typing')\n"
                "print([name for name in sys.modules if name.startswith(slow)])\n"
                "print(pippin.lm.load.__module__, pippin.coreml.is_installed(), hasattr(pippin, 'nothing'))")
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, "[]\npippin.lm.utils False False\n")


if __name__ == "__main__":
    unittest.main()
