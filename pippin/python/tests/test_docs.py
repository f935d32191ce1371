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


if __name__ == "__main__":
    unittest.main()
