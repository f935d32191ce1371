#!/usr/bin/env python3
"""packaging/needs.sh: one line for each missing dependency that would end a long build, nothing if all are installed.
packaging/configure.sh: one line for an error of CMake."""

import pathlib
import subprocess
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
NEEDS = PACKAGING / "needs.sh"


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pippin needs ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Needs(InFolder):
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


class Configure(InFolder):
    def configure(self, *lines):
        (self.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\n" + "\n".join(lines))
        self.build = self.folder / "to build"
        return subprocess.run([PACKAGING / "configure.sh", "make x", self.build, "-S", self.folder], capture_output=True,
                              text=True, timeout=60)

    def fail_with(self, error, *lines):
        done = self.configure(*lines)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, f"make x: {error} (all of it: {self.build}/configure.log)\n")

    def test_success_is_silent(self):
        done = self.configure('message(STATUS "fine")', 'message(WARNING "odd")')
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertIn("-- fine", (self.build / "configure.log").read_text())

    def test_errors(self):
        words = " ".join(f"word{i}" for i in range(40))  # CMake wraps it
        self.fail_with(words, f'message(FATAL_ERROR "{words}")')
        self.fail_with("one two: three", 'message(FATAL_ERROR "one\n\ntwo: three")')
        self.fail_with("the first", 'message(SEND_ERROR "the first")', 'message(SEND_ERROR "the second")')
        self.fail_with('Unknown CMake command "no_such_command".', "no_such_command()")


if __name__ == "__main__":
    unittest.main()
