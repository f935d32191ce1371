"""What docs/python.md shows runs as it stands."""

import re
import subprocess
import sys
import unittest
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


class Import(unittest.TestCase):
    def test_submodules_are_loaded_when_they_are_asked_for(self):
        code = ("import sys, pippin\nprint([name for name in sys.modules if name.startswith(('pippin.lm', 'numpy', 'typing'))])\n"
                "print(pippin.lm.load.__module__.startswith('pippin.lm'), hasattr(pippin, 'nothing'))")
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, "[]\nTrue False\n")


if __name__ == "__main__":
    unittest.main()
