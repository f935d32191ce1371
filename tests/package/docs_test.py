#!/usr/bin/env python3
"""Manual pages and completions contain all commands and options; systemd accepts the service.

    docs_test.py PIPPIN
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PIPPIN = os.path.abspath(sys.argv.pop(1))
PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **more).stdout


class Documents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output(sys.executable, "-B", PACKAGING / "make_docs.py", PIPPIN, cls.folder)
        help_text = output(PIPPIN, "--help")
        cls.commands = re.findall(r"^  ([a-z]+) +\S", help_text[help_text.index("\nSubcommands:"):], re.M)

    def read(self, name):
        return (pathlib.Path(self.folder) / name).read_text()

    def test_every_option_is_in_its_page(self):
        self.assertGreater(len(self.commands), 15)
        for command in self.commands:
            page = self.read(f"man1/pippin-{command}.1").replace("\\-", "-")
            for option in re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", output(PIPPIN, command, "--help"), re.M):
                self.assertIn(f"\\fB{option}\\fR", page, command)
            self.assertIn(f"pippin-{command}", self.read("man1/pippin.1").replace("\\-", "-"))

    def test_pages_can_be_read(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        for page in sorted(pathlib.Path(self.folder).glob("man1/*")):
            done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=60,
                                  env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            self.assertIn("OPTIONS", done.stdout)

    def complete(self, *words):
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pippin; printf "%s\\n" "${COMPREPLY[@]}"')
        return output("bash", "-c", script, "bash", self.folder + "/bash/pippin", *words, cwd=self.folder).split()

    def test_bash(self):
        self.assertEqual(self.complete("pippin", "ser"), ["serve"])
        self.assertEqual(set(self.complete("pippin", "")) & set(self.commands), set(self.commands))
        self.assertIn("--cache-ram", self.complete("pippin", "serve", "--cache-"))
        self.assertEqual(self.complete("pippin", "run", "ba"), ["bash"])

    def test_other_shells(self):
        for shell, name in (("zsh", "zsh/_pippin"), ("fish", "fish/pippin.fish")):
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(f"{shell} is not installed")
                output(shell, "-n", f"{self.folder}/{name}")

    def test_the_service(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        unit = pathlib.Path(self.folder) / "pippin.service"
        unit.write_text((PACKAGING / "pippin.service").read_text().replace("/usr/bin/pippin", f'"{PIPPIN}"'))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
        said = [line for line in done.stderr.splitlines() if "pippin.service" in line]
        self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main(verbosity=1)
