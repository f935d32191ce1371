"""Shared by tests in Python: locations of data, messages about missing data, and the final line."""

import collections
import importlib
import importlib.util
import os
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ABSENT = "shared test data is absent: "
asked_for_entries = False
needs_numpy = unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")


def data_folders():
    """The repository's archives (tests/data), unpacked into the build folder, then the data folder of PIPPIN_SHARED,
    which has more of the same: the order of pippin/base/testing.h."""
    built = Path(os.environ.get("PIPPIN_TEST_DATA") or ROOT / "build/release/test-data")
    shared = Path(os.environ["PIPPIN_SHARED"] if "PIPPIN_SHARED" in os.environ else ROOT.parent / "shared")
    return [folder for folder in (built, shared / "data") if folder.is_dir()]


def find_data(name):
    """The file or folder NAME of the test data, or None."""
    return next((folder / name for folder in data_folders() if (folder / name).exists()), None)


def shared_data(name):
    """The file or folder NAME of the test data. If it is absent, the test skips, or fails with
    PIPPIN_REQUIRE_SHARED=1."""
    found = find_data(name)
    if found is not None:
        return found
    if os.environ.get("PIPPIN_REQUIRE_SHARED") == "1":
        raise AssertionError(f"{ABSENT}data/{name}, and PIPPIN_REQUIRE_SHARED asks for it")
    raise unittest.SkipTest(f"{ABSENT}data/{name}")


def shared_entries(name):
    """The files and folders in the folder NAME of the test data, by name, each once even if both locations have it."""
    global asked_for_entries
    asked_for_entries = True
    shared_data(name)
    found = {}
    for folder in data_folders():
        if (folder / name).is_dir():
            for entry in (folder / name).iterdir():
                found.setdefault(entry.name, entry)
    return [found[key] for key in sorted(found)]


def short(reason):
    """A reason for skipping in the form that tests/skipped.py counts."""
    if reason.startswith(ABSENT):
        return "shared data"
    return reason.removesuffix(" is not installed").partition("\n")[0].replace(",", ";")


def load(modules, skipped):
    """The tests of modules. One that raises SkipTest when it is imported is skipped with all its tests."""
    loaded = []
    for name in modules:
        try:
            importlib.import_module(name)
        except unittest.SkipTest as skip:
            source = Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")
            print(f"{name}: skipped: {skip}", file=sys.stderr)
            skipped += [str(skip)] * len(re.findall(r"^ +def test", source, re.M))
        else:
            loaded.append(name)
    return unittest.defaultTestLoader.loadTestsFromNames(loaded)


def main(*modules):
    """Runs the tests of the modules, by default of __main__. As in C++ (pippin/base/testing_main.cpp), the last line
    counts the tests that ran and that were skipped, and the status is 77 if nothing failed and shared data was missing
    or all tests were skipped."""
    skipped = []
    if modules:
        result = unittest.TextTestRunner(verbosity=2, warnings="default").run(load(modules, skipped))
    else:
        result = unittest.main(module="__main__", exit=False).result
    checks = result.testsRun + len(skipped)
    skipped += [reason for _, reason in result.skipped]
    reasons = collections.Counter(map(short, skipped))
    said = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    sys.stdout.flush()
    if asked_for_entries and len(data_folders()) < 2:
        print("shared data has more entries", file=sys.stderr)
    print(f"checks: {checks}, skipped: {len(skipped)}" + (f": {said}" if said else ""), file=sys.stderr)
    if not result.wasSuccessful() or not checks:
        sys.exit(1)
    sys.exit(77 if reasons["shared data"] or checks == len(skipped) else 0)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    main(*sys.argv[1:])
