#!/usr/bin/env python3
"""Runs MLX's own tests, unchanged, with pippin.core as mlx.core; and mlx-lm's tests of models on top of it.

    MLX=DIR [MLX_LM=DIR] run.py [FILE[::CLASS[.TEST]] ...]

MLX is a checkout of ml-explore/mlx, MLX_LM one of ml-explore/mlx-lm. MLX's mlx/nn, mlx/optimizers and mlx/utils.py
are unchanged; only mlx.core is ours (harness/). FILE: only these (test_ops, test_models). KEEP: a file for all
results, as JSON. PIPPIN_UPDATE_DOCS=1 writes the results to docs/arrays.md.

A test that fails must have a row in deviations.txt. Exit status 77 (skipped) if there is no checkout, 1 if a test
without a row failed.
"""

import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import names  # noqa: I001

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
TIMEOUT = 1500  # seconds for a file
BEGIN, END = "<!-- MLX's tests -->", "<!-- end of MLX's tests -->"
LM_FILES = ["test_models", "test_sample_utils"]


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


class Deviations:
    """Rows `pattern of tests | part of the error | reason`; the first match counts."""

    def __init__(self, file="deviations.txt"):
        self.rows = []
        for number, line in enumerate((HERE / file).read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith("#"):
                row = [part.strip() for part in line.split("|")]
                if len(row) != 3:
                    sys.exit(f"{file}:{number}: no row of three parts: {line}")
                self.rows.append(row)

    def reason(self, test, error):
        for pattern, words, reason in self.rows:
            if fnmatch.fnmatchcase(test, pattern) and words in error:
                return reason
        return None


def run_file(folder, file, only, environment):
    """{test: record} of one file, and the error that ended it early."""
    found, fault = {}, ""
    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch, "record")
        record.touch()
        try:
            done = subprocess.run(
                [sys.executable, "-B", "-W", "ignore", HERE / "run_file.py", folder, file, record, *only],
                env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False, cwd=scratch)
            if done.returncode != 0:
                lines = done.stderr.strip().splitlines() or ["no message"]
                fault = f"status {done.returncode}: {lines[-1]}"
        except subprocess.TimeoutExpired:
            fault = f"longer than {TIMEOUT} s"
        for line in record.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            found[entry.pop("test")] = entry
    return found, fault


def files_of(mlx, lm):
    files = [(path.parent, path.stem) for path in sorted(Path(mlx, "python/tests").glob("test_*.py"))]
    return files + [(Path(lm, "tests"), name) for name in LM_FILES] if lm else files


def table(results, deviations):
    lines = ["| file | tests | pass | skipped | listed below |", "|---|---|---|---|---|"]
    total, reasons = collections.Counter(), collections.defaultdict(list)
    for file, found in results.items():
        counts = collections.Counter(entry["outcome"] for entry in found.values())
        failed = counts["failed"] + counts["died"]
        lines.append(f"| {file} | {len(found)} | {counts['passed']} | {counts['skipped']} | {failed} |")
        if file not in LM_FILES:
            total.update(tests=len(found), passed=counts["passed"], skipped=counts["skipped"], failed=failed)
        for test, entry in found.items():
            if entry["outcome"] in ("failed", "died"):
                reason = deviations.reason(test, entry["why"]) or "no reason is known"
                reasons[reason].append(test)
    lines.append(f"| MLX's, together | {total['tests']} | {total['passed']} | {total['skipped']} | {total['failed']} |")
    lines += ["", "| why tests fail | tests |", "|---|---|"]
    for reason, tests in sorted(reasons.items(), key=lambda item: -len(item[1])):
        shown = ", ".join(f"`{test.split('.', 1)[0]}: {test.rsplit('.', 1)[1]}`" for test in sorted(tests)[:12])
        more = f" and {len(tests) - 12} more" if len(tests) > 12 else ""
        lines.append(f"| {reason} | {len(tests)}: {shown}{more} |")
    return "\n".join(lines)


def update_docs(text):
    page = ROOT / "docs/arrays.md"
    before = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.S)
    page.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", before), encoding="utf-8")


def main():
    if not os.environ.get("MLX"):
        skip("MLX names no checkout of ml-explore/mlx")
    mlx, lm = Path(os.environ["MLX"]).resolve(), os.environ.get("MLX_LM", "")
    built = os.environ.get("PYTHONPATH", str(ROOT / "build/release/python"))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [HERE / "harness", mlx / "python", *([lm] if lm else []), built]))}
    if subprocess.run([sys.executable, "-c", "import numpy, pippin.core"], env=environment, check=False).returncode != 0:
        skip("there is no NumPy or no pippin.core")

    wanted = [each.split("::") for each in sys.argv[1:]]
    files = files_of(mlx, lm)
    if wanted:
        files = [(folder, file) for folder, file in files if file in [one[0] for one in wanted]]
    deviations, new, results = Deviations(), [], {}

    def work(item):
        folder, file = item
        only = [one[1] for one in wanted if one[0] == file and len(one) > 1]
        return file, *run_file(folder, file, only, environment)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for file, found, fault in pool.map(work, files):
            results[file] = found
            if fault:
                new.append(f"{file}: {fault}")
            for test, entry in found.items():
                if entry["outcome"] in ("failed", "died") and deviations.reason(test, entry["why"]) is None:
                    new.append(f"{test}: {entry['why']}")
            counts = collections.Counter(entry["outcome"] for entry in found.values())
            print(f"{file}: {dict(counts)}", flush=True)
    if os.environ.get("KEEP"):
        Path(os.environ["KEEP"]).write_text(json.dumps(results, indent=0), encoding="utf-8")
    text = table(results, deviations)
    print(text)
    if os.environ.get("PIPPIN_UPDATE_DOCS") == "1" and not wanted:
        update_docs(f"{text}\n\n{names.table(mlx, results)}")
    for line in new:
        print("NEW", line)
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
