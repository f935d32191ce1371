#!/usr/bin/env python3
"""Runs MLX's own tests of layers, losses, initializers, trees and upsampling, with pippin.nn and pippin.utils as
mlx.nn and mlx.utils (harness_nn/), on top of pippin.core.

    MLX=DIR run_nn.py

A test that fails must have a row in deviations_nn.txt. Exit status 77 (skipped) if there is no checkout.
"""

import collections
import os
import sys
from pathlib import Path

import run

FILES = ("test_nn", "test_losses", "test_init", "test_tree", "test_upsample")


def main():
    if not os.environ.get("MLX"):
        run.skip("MLX names no checkout of ml-explore/mlx")
    built = os.environ.get("PYTHONPATH", str(run.ROOT / "build/release/python"))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, [run.HERE / "harness", run.HERE / "harness_nn", built]))}
    deviations, total, new = run.Deviations("deviations_nn.txt"), collections.Counter(), []
    for file in FILES:
        found, fault = run.run_file(Path(os.environ["MLX"], "python/tests").resolve(), file, [], environment)
        counts = collections.Counter(entry["outcome"] for entry in found.values())
        print(f"{file}: {dict(counts)}", flush=True)
        total += counts
        new += [f"{file}: {fault}"] if fault else []
        new += [f"{test}: {entry['why']}" for test, entry in found.items()
                if entry["outcome"] in ("failed", "died") and deviations.reason(test, entry["why"]) is None]
    print("together:", dict(total))
    for line in new:
        print("NEW", line)
    return 1 if new or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
