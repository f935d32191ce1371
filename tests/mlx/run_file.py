#!/usr/bin/env python3
"""run_file.py FOLDER MODULE RECORD [NAME...]: runs one file of unittest tests and writes a line of JSON for each test.

A process that dies leaves the lines of the tests before, and the name of the test in which it died.
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
            return  # only the first of several is reported
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
    # The tests that use PyTorch move it to the GPU on a Mac, and check its version elsewhere.
    if module == "test_array":
        sys.modules["torch"] = None
    sys.path.insert(0, folder)
    suite = unittest.defaultTestLoader.loadTestsFromNames(
        [f"{module}.{name}" for name in names] if names else [module])
    suite.run(Recorder(record))


if __name__ == "__main__":
    main()
