#!/usr/bin/env python3
"""packaging/needs.sh: one line for each thing that would end a long build, nothing where all is there."""

import pathlib
import subprocess
import tempfile
import unittest

NEEDS = pathlib.Path(__file__).parents[2] / "packaging/needs.sh"


class Needs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pippin needs ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, folder, mib="1", *tools):
        return subprocess.run([NEEDS, "make x", folder, mib, *tools], capture_output=True, text=True, timeout=30)

    def fail_with(self, line, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "^make x: " + line)

    def test_all_is_there(self):
        done = self.run_it(self.folder / "some folder/deeper", "1", "sh", "ls:coreutils")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertTrue((self.folder / "some folder/deeper").is_dir())

    def test_tools(self):
        self.fail_with(r"no-tool other-tool not found \(Debian's packages: its-package other-tool\)$",
                       self.folder, "1", "sh", "no-tool:its-package", "other-tool")

    def test_folders(self):
        (self.folder / "file").write_text("")
        self.fail_with("cannot make the folder .*/file/deeper: Not a directory", self.folder / "file/deeper")
        self.fail_with("cannot make the folder .*/file: File exists", self.folder / "file")
        if pathlib.Path("/proc/self").exists():  # a folder that not even root can write to
            self.fail_with("cannot make the folder /proc/no/such: .* .BUILD=FOLDER builds elsewhere.$", "/proc/no/such")
            self.fail_with("cannot write to the folder /proc/self", "/proc/self")

    def test_space(self):
        self.fail_with(r".* has \d+ MiB free, 999999999 are needed .BUILD=FOLDER", self.folder, "999999999")


if __name__ == "__main__":
    unittest.main()
