"""Everything public has a docstring, classes and functions with an example, and the examples run, including those of
the C++ module.

Examples see their module's names, `pippin`, `np` for NumPy, and a folder with demo.mlpackage and the checkpoint that it
was made from."""

import doctest
import importlib
import inspect
import os
import pkgutil
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import pippin
from fixtures import SOURCE, package

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Modules where everything must be documented. Examples in other modules run if there are any.
COMPLETE = ("pippin", "pippin._pippin", "pippin._tools", "pippin.lm")


def modules():
    yield pippin
    for found in pkgutil.walk_packages(pippin.__path__, "pippin."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def public(owner):
    return [(name, value) for name, value in vars(owner).items() if not name.startswith("_")]


def is_callable(value):
    return inspect.isroutine(value) or inspect.isfunction(value) or type(value).__name__ == "instancemethod"


def documented():
    """(module, name, docstring, texts of which one must contain an example) of everything public, once."""
    seen = set()
    for module in modules():
        where = module.__name__
        yield where, where, module.__doc__, None
        for name, value in public(module):
            if not (inspect.isclass(value) or is_callable(value)) or id(value) in seen:
                continue
            if not (getattr(value, "__module__", None) or "pippin").startswith("pippin"):
                continue
            seen.add(id(value))
            path = f"{where}.{name}"
            members = [(f"{path}.{member}", one) for member, one in (public(value) if inspect.isclass(value) else [])
                       if is_callable(one) or isinstance(one, (property, staticmethod, classmethod))]
            texts = [inspect.getdoc(value), *(inspect.getdoc(one) for _, one in members)]
            if inspect.isclass(value):
                own = vars(value).get("__doc__")  # not that of a base; pybind11's enumerations have a property
                texts[0] = inspect.cleandoc(own if isinstance(own, str) else "")
            is_plain = getattr(value, "__dataclass_params__", None) is not None and where == "pippin._tools"
            is_error = is_plain or inspect.isclass(value) and issubclass(value, BaseException)
            yield where, path, texts[0], None if is_error else texts
            for (member, one), text in zip(members, texts[1:]):
                yield where, member, text, None


def has_words(text):
    """Whether there is more than the signatures that pybind11 writes."""
    lines = [line for line in (text or "").splitlines() if line.strip() and " -> " not in line]
    return bool(lines) and lines != ["Overloaded function."]


class Docstrings(unittest.TestCase):
    def test_everything_public_is_documented(self):
        without = [name for where, name, text, _ in documented() if where in COMPLETE and not has_words(text)]
        self.assertEqual(without, [])

    def test_classes_and_functions_have_examples(self):
        without = [name for where, name, _, texts in documented()
                   if where in COMPLETE and texts is not None and ">>> " not in "".join(text or "" for text in texts)]
        self.assertEqual(without, [])

    def test_examples_run(self):
        parser, runner, output = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS), []
        source, before, examples = package(), os.getcwd(), 0
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(source, f"{folder}/demo.mlpackage")
            os.symlink(SOURCE / "pippin/demo/model", f"{folder}/checkpoint")
            os.chdir(folder)
            try:
                for where, name, text, _ in documented():
                    names = {**vars(sys.modules[where]), "pippin": pippin, "np": np}
                    test = parser.get_doctest(text or "", names, name, None, 0)
                    examples += len(test.examples)
                    runner.run(test, out=output.append)
            finally:
                os.chdir(before)
        self.assertEqual(runner.failures, 0, "".join(output))
        self.assertGreater(examples, 10)


if __name__ == "__main__":
    unittest.main()
