#!/usr/bin/env python3
"""Runs coremltools' own tests, unchanged, with Pippin behind coremltools: those that it skips without a Mac.

    COREMLTOOLS=DIR run.py [FILE ...]

DIR is a checkout of apple/coremltools. The tests need Debian's python3-{numpy,protobuf,packaging,attr,cattr,tqdm,sympy,
yaml,pytest,pytest-asyncio,pil}, most of them python3-torch, some python3-{torchvision,sklearn,pandas,parameterized,
scipy} (COREMLTOOLS_PYTHON: another interpreter that has them); files that cannot be imported are reported. FILE: only
these, as in FILES. KEEP: a folder for all results. PIPPIN_UPDATE_DOCS=1 writes the results to docs/conformance.md.

A test that fails must have a row in deviations.txt. Exit status 77 (skipped) if there is no checkout or no such
Python, 1 if a test failed that has no row.
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
TIMEOUT = 3600  # seconds for a file
BEGIN, END = "<!-- coremltools' tests -->", "<!-- end of coremltools' tests -->"

MIL, TESTS, OPS = "converters/mil", "test", "converters/mil/mil/ops/tests"
FILES = [
    f"{TESTS}/optimize/coreml/test_post_training_quantization.py", f"{TESTS}/ml_program/test_utils.py",
    f"{MIL}/frontend/torch/test/test_torch_conversion_api.py", f"{MIL}/backend/mil/passes/test_passes.py",
    f"{MIL}/backend/mil/test_load.py", f"{MIL}/frontend/milproto/test_load.py",
    f"{MIL}/frontend/torch/test/test_torch_quantization_ops.py",
    f"{MIL}/frontend/torch/test/test_torch_stateful_model.py", f"{MIL}/test/test_rms_norm.py",
    f"{MIL}/test_inputs_outputs_shape.py", f"{TESTS}/api/test_api_examples.py", f"{TESTS}/blob/test_weights.py",
    f"{TESTS}/converters/torch/test_ops.py", f"{TESTS}/ml_program/experimental/test_compute_plan_utils.py",
    f"{TESTS}/ml_program/experimental/test_perf_utils.py",
    f"{TESTS}/ml_program/experimental/test_remote_device.py",
    f"{TESTS}/ml_program/experimental/test_torch_debugging_utils.py", f"{TESTS}/ml_program/test_compression.py",
    f"{TESTS}/modelpackage/test_mlmodel.py", f"{TESTS}/modelpackage/test_modelpackage.py",
    f"{TESTS}/neural_network/test_compiled_model.py", f"{TESTS}/neural_network/test_model.py",
    f"{TESTS}/pipeline/test_pipeline.py", f"{TESTS}/sklearn_tests/test_glm_classifier.py",
    f"{TESTS}/sklearn_tests/test_linear_regression.py",
]
# Of these files only the tests that are skipped without a Mac; the others are the op cases of docs/conformance.md.
LARGE = [
    f"{MIL}/mil/passes/tests/test_quantization_passes.py", f"{MIL}/mil/passes/tests/test_passes.py",
    f"{MIL}/mil/passes/tests/test_cleanup_passes.py", f"{MIL}/frontend/torch/test/test_torch_ops.py",
    f"{OPS}/iOS14/test_random.py", f"{OPS}/iOS14/test_tensor_operation.py",
    f"{OPS}/iOS14/test_tensor_transformation.py", f"{OPS}/iOS17/test_tensor_transformation.py",
    f"{OPS}/iOS18/test_compression.py",
]


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


class Deviations:
    """Rows `class | pattern of tests | part of the error | reason`; the first match counts."""

    def __init__(self):
        self.rows = []
        for number, line in enumerate((HERE / "deviations.txt").read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith("#"):
                row = [part.strip() for part in line.split("|")]
                if len(row) != 4 or row[0] not in ("other", "fault"):
                    sys.exit(f"deviations.txt:{number}: no row of four parts: {line}")
                self.rows.append(row)

    def of(self, test, error):
        """("other", reason): the test needs something that Pippin is not; ("fault", reason): it should pass; None:
        unknown."""
        for kind, pattern, words, reason in self.rows:
            if fnmatch.fnmatchcase(test, pattern) and words in error:
                return kind, reason
        return None


def pytest(python, checkout, file, plain, only=None):
    """The results of a file's tests, {test: {outcome or skipped, error}}, and an error of the file as a whole.

    `only`: the tests of these functions.
    """
    with tempfile.TemporaryDirectory(prefix="pippin-coremltools-") as folder:
        record = Path(folder, "record")
        record.touch()
        paths = [str(HERE), str(checkout), *map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PIPPIN_RECORD": str(record),
                       "PIPPIN_PLAIN": "1" if plain else "0", "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        if only is not None:
            Path(folder, "only").write_text("\n".join(only), encoding="utf-8")
            environment["PIPPIN_ONLY"] = str(Path(folder, "only"))
        command = [python, "-m", "pytest", "-p", "pretending", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
                   f"--rootdir={checkout}", "--tb=no", "-W", "ignore", str(checkout / "coremltools" / file)]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
            fault = "" if done.returncode in (0, 1, 5) else (done.stdout + done.stderr)[-1500:]
        except subprocess.TimeoutExpired:
            fault = f"not done after {TIMEOUT} s"
        found = {}
        for line in record.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            test = entry.pop("test").split("::", 1)[1]
            if found.get(test, {}).get("outcome") != "failed":  # a teardown may pass after a failure
                found[test] = entry
        return found, fault


def function_of(test):
    return test.split("[")[0]


def sort_out(gated, found, file, deviations, new):
    """Counts by result of a file's functions that need predictions; reasons."""
    functions = collections.defaultdict(list)
    wanted = set(map(function_of, gated))
    for test, entry in found.items():
        verdict = entry["outcome"], ""
        if entry["outcome"] == "failed":
            known = deviations.of(f"{file}::{test}", entry["error"])
            verdict = known or ("fault", f"{test}: {entry['error'][:200]}")
            if known is None:
                new.append(f"{file}::{test}: {entry['error']}")
            wanted.add(function_of(test))
        functions[function_of(test)].append(verdict)
    counts = collections.Counter()
    reasons = collections.defaultdict(set)
    for function in sorted(wanted & functions.keys()):
        verdicts = functions[function]
        kinds = {kind for kind, _ in verdicts}
        for kind, reason in verdicts:
            if kind in ("other", "fault"):
                reasons[kind, reason].add(function)
        counts["fault" if "fault" in kinds else "passed" if "passed" in kinds
               else "other" if "other" in kinds else "skipped"] += 1
    counts["cases"] = sum(entry["outcome"] == "passed" for entry in found.values())
    return counts, reasons


def table(results):
    """The section of docs/conformance.md."""
    lines = ["| file | functions that need predictions | pass | fail | need other things | cases of the file that pass |",
             "|---|---|---|---|---|---|"]
    total = collections.Counter()
    for file, (counts, _) in results.items():
        total += counts
        run = counts["passed"] + counts["fault"]
        lines.append(f"| {file} | {run} | {counts['passed']} | {counts['fault']} | "
                     f"{counts['other'] + counts['skipped']} | {counts['cases']} |")
    run = total["passed"] + total["fault"]
    share = 100 * total["passed"] / max(run, 1)
    lines.append(f"| all | {run} | {total['passed']} ({share:.1f} %) | {total['fault']} | "
                 f"{total['other'] + total['skipped']} | {total['cases']} |")
    for kind, title in (("fault", "Those that fail:"), ("other", "Those, or cases of those, that need other things:")):
        rows = [(file, function, reason) for file, (_, reasons) in results.items()
                for (which, reason), functions in reasons.items() if which == kind for function in functions]
        if rows:
            lines += ["", title, "", "| reason | functions |", "|---|---|"]
            by_reason = collections.defaultdict(set)
            for file, function, reason in rows:
                by_reason[reason].add(f"`{Path(file).stem}: {function.split('::')[-1]}`")
            lines += [f"| {reason} | {', '.join(sorted(functions))} |" for reason, functions in sorted(by_reason.items())]
    return "\n".join(lines)


def update_docs(text):
    page = ROOT / "docs/conformance.md"
    before = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.S)
    page.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", before), encoding="utf-8")


def main():
    if not os.environ.get("COREMLTOOLS"):
        skip("COREMLTOOLS names no checkout of apple/coremltools")
    checkout = Path(os.environ["COREMLTOOLS"]).resolve()
    python = os.environ.get("COREMLTOOLS_PYTHON", "/usr/bin/python3")
    os.environ.setdefault("PYTHONPATH", str(ROOT / "build/release/python"))
    needed = "import numpy, google.protobuf, packaging, attr, cattr, tqdm, sympy, yaml, pytest, pippin"
    if subprocess.run([python, "-c", needed], capture_output=True, check=False).returncode != 0:
        skip(f"{python} lacks pytest, what coremltools imports, or pippin")

    files, deviations, new, results = sys.argv[1:] or FILES + LARGE, Deviations(), [], {}

    def work(file):
        plain, _ = pytest(python, checkout, file, plain=True)
        gated = {test for test, entry in plain.items() if entry["skipped"]}
        return file, gated, *pytest(
            python, checkout, file, False, set(map(function_of, gated)) if file in LARGE else None)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for file, gated, found, fault in pool.map(work, files):
            if fault:
                new.append(f"{file}: {fault}")
            results[file] = sort_out(gated, found, file, deviations, new)
            if os.environ.get("KEEP"):  # all results, for inspecting single tests
                Path(os.environ["KEEP"], file.replace("/", "+")).write_text(
                    json.dumps({"gated": sorted(gated), "found": found}, indent=0), encoding="utf-8")
            print(f"{file}: {dict(results[file][0])}", flush=True)
    text = table(results)
    print(text)
    if os.environ.get("PIPPIN_UPDATE_DOCS") == "1" and not sys.argv[1:]:
        update_docs(text)
    for line in new:
        print("NEW", line)
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
