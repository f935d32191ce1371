"""Lists which of MLX's names pippin.core has, rejects or lacks, and how many of the tests that use them pass."""

import ast
import collections
import importlib
from pathlib import Path


def _dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) if isinstance(node, ast.Name) and node.id == "mx" else None


SUBMODULES = ("fast", "random", "linalg", "fft", "metal", "cuda", "distributed")


def uses(path):
    """{test: names} of a file of tests: `mx.x`, and `mx.fast.x` of submodules."""
    found = collections.defaultdict(set)
    for outer in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(outer, ast.ClassDef):
            continue
        for method in outer.body:
            if not isinstance(method, ast.FunctionDef) or not method.name.startswith("test"):
                continue
            for node in ast.walk(method):
                name = _dotted(node) if isinstance(node, ast.Attribute) else None
                if name:
                    parts = name.split(".")
                    kept = parts[:2] if parts[0] in SUBMODULES else parts[:1]
                    found[f"{path.stem}.{outer.name}.{method.name}"].add(".".join(kept))
    return found


def state(name):
    core = importlib.import_module("pippin.core")
    value = core
    for part in name.split("."):
        value = getattr(value, part, None)
        if value is None:
            return "there" if name == "newaxis" else "missing"
    return "refused" if getattr(value, "__module__", "") == "pippin.core._refused" else "there"


def table(mlx, results):
    passed, used = collections.Counter(), collections.Counter()
    for path in sorted(Path(mlx, "python/tests").glob("test_*.py")):
        for test, found in uses(path).items():
            entry = results.get(path.stem, {}).get(test)
            if entry is None:
                continue
            for name in found:
                used[name] += 1
                passed[name] += entry["outcome"] == "passed"
    by_state = collections.defaultdict(list)
    for name in sorted(used):
        by_state[state(name)].append(f"`{name}` {passed[name]}/{used[name]}")
    lines = ["Names that MLX's tests use, with how many of the tests that use them pass:", "", "| | names |", "|---|---|"]
    lines += [f"| {kind} ({len(by_state[kind])}) | {', '.join(by_state[kind])} |"
              for kind in ("there", "refused", "missing") if by_state[kind]]
    return "\n".join(lines)
