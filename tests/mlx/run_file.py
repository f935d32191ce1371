#!/usr/bin/env python3
"""run_file.py FOLDER MODULE RECORD [NAME...]: one file of unittest tests, a line of JSON for each test as it ends.

A process that dies leaves the lines of the tests before, and the name of the one that it died in.
"""

import json
import sys
import time
import traceback
import unittest


class Recorder(unittest.TestResult):
    def __init__(self, path):
        super().__init__()
        self._path = path

    def _write(self, **line):
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()
        self._outcome, self._why = "passed", ""
        self._write(test=test.id(), outcome="died", why="the process ended in it")

    def stopTest(self, test):
        super().stopTest(test)
        seconds = round(time.monotonic() - self._began, 2)
        self._write(test=test.id(), outcome=self._outcome, why=self._why, seconds=seconds)

    def _fail(self, error):
        if self._outcome == "failed":
            return  # the first of several is told
        last = traceback.extract_tb(error[2])
        place = next((f"line {one.lineno}" for one in reversed(last) if "/test" in one.filename), "")
        text = str(error[1]).strip().splitlines() or [""]
        shown = " ".join(line.strip() for line in text if line.strip())[:300]
        self._outcome, self._why = "failed", f"{place}: {error[0].__name__}: {shown}"

    def addError(self, test, error):
        self._fail(error)

    def addFailure(self, test, error):
        self._fail(error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._fail(error)

    def addSkip(self, test, reason):
        self._outcome, self._why = "skipped", reason

    def addExpectedFailure(self, test, error):
        self._outcome = "passed"

    def addUnexpectedSuccess(self, test):
        self._outcome, self._why = "failed", "unexpected success"


def main():
    folder, module, record, *names = sys.argv[1:]
    # The tests that use PyTorch want it on a Mac's graphics processor, and read its version where it is not.
    if module == "test_array":
        sys.modules["torch"] = None
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [f"{module}.{name}" for name in names] if names else [module])
    suite.run(Recorder(record))


if __name__ == "__main__":
    main()
