#!/usr/bin/env python3
"""Counts the skipped checks of a ctest run, with reasons: tests of gtest, unittest and node, and whole programs.

    skipped.py [--limit PERCENT] build/release/Testing/Temporary/LastTest.log
    skipped.py --wanting build/release/Testing/Temporary/LastTest.log
    skipped.py --self-test

The last line has the counts; with --limit the status is 1 if a larger share was skipped. --wanting prints the ctest
tests that check more with shared data, as a regular expression.
"""

import argparse
import collections
import re
import sys
import tempfile
from pathlib import Path

# Counts of checks in a test's output, the most reliable first: the line of pippin/base/testing_main.cpp and of
# tests/python/testing.py; node's; unittest's own.
COUNTED = re.compile(r"^checks: (\d+), skipped: (\d+)(?:: (.+))?$", re.M)
NODE = re.compile(r"^ℹ tests (\d+)$.*?^ℹ skipped (\d+)$", re.M | re.S)
NODE_REASON = re.compile(r"^ *﹣ .* # (.+)$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*?^OK(?: \((?:.*?skipped=(\d+))?.*\))?$", re.M | re.S)
# A program that is skipped as a whole prints "skipped: REASON" or "X is not installed".
WHOLE = re.compile(r"^skipped: (.+)$", re.M)
NOT_INSTALLED = re.compile(r"^(.+) (?:is|are) not installed", re.M)
SHOWN = 6
MORE_ENTRIES = "shared data has more entries"


def short(reason):
    if reason.startswith(("no shared data", "shared test data is absent")):
        return "shared data"
    return re.sub(r" (is|are) not installed.*| names no checkout.*| \(.*", "", reason).strip()


def counts(output):
    """(checks, {reason: skipped}) in the output of one ctest test."""
    if found := list(COUNTED.finditer(output)):
        checks, skipped, reasons = found[-1].groups()
        parts = [part.rpartition(" ") for part in (reasons or "").split(", ") if part]
        return int(checks), {short(name): int(count) for name, _, count in parts}
    if "Skip regular expression found in output" in output:
        found = NOT_INSTALLED.search(output)
        return 1, {found.group(1) if found else "something": 1}
    if found := WHOLE.search(output):
        return 1, {short(found.group(1)): 1}
    for pattern in (NODE, UNITTEST):
        if found := pattern.search(output):
            reasons = collections.Counter(map(short, NODE_REASON.findall(output)))
            if rest := int(found.group(2) or 0) - sum(reasons.values()):
                reasons["other reasons"] += rest
            return int(found.group(1)), reasons
    return 1, {}


def summary(log):
    """(checks, skipped, the line about them)."""
    checks, reasons = 0, collections.Counter()
    for output in re.split(r"^\d+/\d+ Test: .*$", log, flags=re.M)[1:]:
        more, skipped = counts(output)
        checks += more
        reasons.update(skipped)
    skipped = sum(reasons.values())
    shown = [(reason, count) for reason, count in reasons.most_common() if reason != "other reasons"][:SHOWN]
    rest = skipped - sum(count for _, count in shown)
    if rest:
        shown.append(("other reasons", rest))
    said = ": " + ", ".join(f"{reason} {count}" for reason, count in shown) if shown else ""
    return checks, skipped, f"checks: {checks}, skipped: {skipped} ({share(checks, skipped):.1f} %){said}"


def wanting(path):
    """The names of the tests that check more with shared data."""
    parts = re.split(r"^\d+/\d+ Test: (.*)$", Path(path).read_text(encoding="utf-8", errors="replace"), flags=re.M)[1:]
    return [name for name, output in zip(parts[::2], parts[1::2])
            if MORE_ENTRIES in output or "shared data" in counts(output)[1]]


def share(checks, skipped):
    return 100 * skipped / max(checks, 1)


def main(path, limit=None):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            checks, skipped, line = summary(file.read())
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return 1
    status = 0
    if not checks:
        print(f"{path}: no test has run", file=sys.stderr)
        status = 1
    elif limit is not None and share(checks, skipped) > limit:
        print(f"more than {limit:g} % of the checks were skipped", file=sys.stderr)
        status = 1
    print(line, flush=True)
    return status


def self_test():
    def log(*outputs):
        return "".join(f"{i}/9 Testing: t{i}\n{i}/9 Test: t{i}\nOutput:\n{output}\n<end of output>\nTest Passed.\n"
                       for i, output in enumerate(outputs, 1))

    for output, wanted in (
        ("[==========] 3 tests ran.\nchecks: 3, skipped: 2: no /dev/zero here 1, shared data 1",
         "checks: 3, skipped: 2 (66.7 %): no /dev/zero here 1, shared data 1"),
        ("test_a ... ok\nRan 5 tests in 0.1s\n\nOK (skipped=1)\nchecks: 5, skipped: 1: NumPy 1",
         "checks: 5, skipped: 1 (20.0 %): NumPy 1"),
        ("checks: 9, skipped: 0", "checks: 9, skipped: 0 (0.0 %)"),
        ("....\nRan 4 tests in 0.1s\n\nOK", "checks: 4, skipped: 0 (0.0 %)"),
        ("....\nRan 4 tests in 0.1s\n\nOK (skipped=3)", "checks: 4, skipped: 3 (75.0 %): other reasons 3"),
        ("ℹ tests 8\nℹ suites 0\nℹ pass 6\nℹ fail 0\nℹ skipped 2\nℹ todo 0", "checks: 8, skipped: 2 (25.0 %): other reasons 2"),
        ("﹣ a (0.1ms) # shared test data is absent: data/x\nℹ tests 8\nℹ pass 6\nℹ skipped 2",
         "checks: 8, skipped: 2 (25.0 %): shared data 1, other reasons 1"),
        ("koffi is not installed (x.sh)\nℹ tests 1\nℹ skipped 0\n\nSkip regular expression found in output. Regex=[koffi]",
         "checks: 1, skipped: 1 (100.0 %): koffi 1"),
        ("skipped: COREMLTOOLS names no checkout of apple/coremltools", "checks: 1, skipped: 1 (100.0 %): COREMLTOOLS 1"),
        ("skipped: no shared data: /x", "checks: 1, skipped: 1 (100.0 %): shared data 1"),
        ("all is well", "checks: 1, skipped: 0 (0.0 %)"),
    ):
        found = summary(log(output))[2]
        assert found == wanted, (output, found)
    many = ", ".join(f"r{i} {9 - i}" for i in range(8))
    found = summary(log(f"checks: 50, skipped: 44: {many}", "x", "checks: 9, skipped: 1: r0 1"))[2]
    assert found == "checks: 60, skipped: 45 (75.0 %): r0 10, r1 8, r2 7, r3 6, r4 5, r5 4, other reasons 5", found

    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(log("checks: 2, skipped: 1: shared data 1", "checks: 9, skipped: 1: NumPy 1", f"{MORE_ENTRIES}\nchecks: 1, skipped: 0"))
        file.flush()
        assert wanting(file.name) == ["t1", "t3"], wanting(file.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", nargs="?")
    parser.add_argument("--limit", type=float, metavar="PERCENT")
    parser.add_argument("--wanting", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        self_test()
    elif options.log is None:
        parser.error("the log of ctest is needed")
    elif options.wanting:
        print("^(" + "|".join(map(re.escape, wanting(options.log))) + ")$")
    else:
        sys.exit(main(options.log, options.limit))
