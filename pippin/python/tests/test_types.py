"""The stubs match the module: by mypy's stubtest, by programs checked strictly, and by signatures."""

import ast
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import pippin
import pippin._pippin as module
from fixtures import SOURCE

HERE = Path(__file__).resolve().parent
PACKAGE = Path(pippin.__file__).parent
MYPY = importlib.util.find_spec("mypy") is not None


def mypy(tool, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        places = {"MYPYPATH": str(PACKAGE.parent), "PYTHONPATH": str(PACKAGE.parent)}
        return subprocess.run([sys.executable, "-m", tool, *map(str, arguments)], capture_output=True, text=True,
                              cwd=folder, env={**os.environ, **places})


@unittest.skipUnless(MYPY, "mypy is not installed")
class Checked(unittest.TestCase):
    def test_stubs_are_of_the_module(self):
        ended = mypy("mypy.stubtest", "pippin", "--concise", "--allowlist", HERE / "stubtest_allowlist.txt",
                     "--mypy-config-file", HERE / "stubtest.ini")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_programs_are_checked_strictly(self):
        user = HERE / "typed_user.py"
        ended = mypy("mypy", "--strict", "--no-error-summary", user, *(SOURCE / "examples").glob("*.py"))
        wanted = [(number, mistake[1]) for number, line in enumerate(user.read_text().splitlines(), 1)
                  if (mistake := re.search(r"  # error: (.+)$", line))]
        found = [line for line in ended.stdout.splitlines() if ": note: " not in line]
        self.assertEqual(len(found), len(wanted), ended.stdout + ended.stderr)
        for (number, words), line in zip(wanted, found):
            self.assertRegex(line, rf"typed_user.py:{number}: error: .*{re.escape(words)}")


# Types and defaults in pybind11's signatures are not Python; only names and kinds are compared.
def signature_of(text, name):
    """(name, kind, whether it has a default) of the parameters in "name(self: X, a: int = 0, *, b) -> int"."""
    parts, depth, quote = [""], 0, ""
    for letter in text[len(name) + 1:]:
        if quote or letter in "'\"":
            quote = "" if letter == quote else quote or letter
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>" and depth == 0:
            break
        elif letter in ")]}>":
            depth -= 1
        if letter == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    found, kind = [], "positional"
    for part in filter(None, map(str.strip, parts)):
        if part == "*":
            kind = "keyword"
        elif part != "/":
            name = re.match(r"\**\w+", part)[0]
            found.append((name, "keyword" if name.startswith("**") else kind, " = " in part))
    return found


def signature_in(function):
    """The same of a function in a stub."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    found = [(one.arg, "positional", i >= without) for i, one in enumerate(positional)]
    if arguments.vararg:
        found.append(("*" + arguments.vararg.arg, "positional", False))
    found += [(one.arg, "keyword", default is not None)
              for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        found.append(("**" + arguments.kwarg.arg, "keyword", False))
    return found


class Signatures(unittest.TestCase):
    """stubtest sees no parameters of functions that are written in C++; their docstrings have them."""

    def compare(self, scope, owner, path):
        compared = 0
        for node in scope:
            if isinstance(node, ast.ClassDef) and hasattr(owner, node.name):
                compared += self.compare(node.body, getattr(owner, node.name), f"{path}.{node.name}")
            if not isinstance(node, ast.FunctionDef) or any(not isinstance(one, ast.Name) or one.id == "overload"
                                                            for one in node.decorator_list):
                continue
            text = inspect.getdoc(getattr(owner, node.name, None)) or ""
            if not text.startswith(f"{node.name}(" if owner is module else f"{node.name}(self"):
                continue  # a property, or overloaded
            wanted, found = signature_of(text, node.name), signature_in(node)
            names = [one[0] for one in wanted]
            if any(re.fullmatch(r"arg\d+", name) for name in names):  # pybind11's names for unnamed ones
                wanted, found = [len(wanted)], [len(found)]
            self.assertEqual(found, wanted, f"{path}.{node.name}: the stub and {text.splitlines()[0]}")
            compared += 1
        return compared

    def test_stubs_have_the_parameters(self):
        compared = 0
        for stub in PACKAGE.glob("_*.pyi"):
            compared += self.compare(ast.parse(stub.read_text()).body, module, stub.stem)
        self.assertGreater(compared, 20)

    def test_signatures_are_read(self):
        text = "f(self: a.B, x: Dict[str, int] = {'a,': 1}, *, y: object = <a at 1, z>, z: str, **k) -> Tuple[int]"
        keywords = [("y", "keyword", True), ("z", "keyword", False), ("**k", "keyword", False)]
        first = [("self", "positional", False), ("x", "positional", True)]
        self.assertEqual(signature_of(text, "f"), first + keywords)
        stub = ast.parse("def f(self, x: int = 0, *more: int, y: str = '', z: str, **k: int) -> int: ...").body[0]
        self.assertEqual(signature_in(stub), [*first, ("*more", "positional", False), *keywords])


if __name__ == "__main__":
    unittest.main()
