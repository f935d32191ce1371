"""A pytest plugin: runs coremltools' tests with Pippin behind coremltools, and records the result of each.

PIPPIN_RECORD names the file, which gets a line of JSON for each test. With PIPPIN_PLAIN=1 coremltools is unchanged
and no test is run: the record lists the tests that it would skip. PIPPIN_ONLY names a file that lists the functions
to run.

Features of a machine that the tests need and this one lacks are faked here, never in the product.
"""

import json
import os
import platform
import sys
import unittest.mock

import pytest

sys.modules.setdefault("mock", unittest.mock)  # the package that preceded unittest.mock
PLAIN = os.environ.get("PIPPIN_PLAIN") == "1"
if PLAIN:  # as coremltools is installed on Linux
    from pippin.coreml import _milstorage, _modelpackage

    sys.modules.update({"coremltools.libmilstoragepython": _milstorage, "coremltools.libmodelpackage": _modelpackage})
else:
    import pippin.coreml

    pippin.coreml.install()
    # Tests skip on Intel what Apple's engine computes wrongly there.
    platform.machine = lambda: "arm64"


def _record(**line):
    with open(os.environ["PIPPIN_RECORD"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if "PIPPIN_ONLY" in os.environ:
        with open(os.environ["PIPPIN_ONLY"], encoding="utf-8") as file:
            only = set(file.read().splitlines())
        items[:] = [item for item in items if item.nodeid.split("::", 1)[1].split("[")[0] in only]
    if not PLAIN:
        return
    from _pytest.skipping import evaluate_skip_marks

    for item in items:
        marked = evaluate_skip_marks(item)
        reason = marked.reason if marked else ""
        for place in (item.obj, item.cls):  # unittest's own marks
            if getattr(place, "__unittest_skip__", False):
                reason = place.__unittest_skip_why__
        _record(test=item.nodeid, skipped=reason)
    items.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when != "call" and report.passed:
        return
    error = ""
    if call.excinfo is not None:
        error = f"{call.excinfo.type.__name__}: {call.excinfo.value}".strip().replace("\n", " ")[:1000]
    _record(test=item.nodeid, when=report.when, outcome=report.outcome, error=error, seconds=round(report.duration, 3))
