"""Makes an unchanged coremltools use Pippin: a module finder, and three functions that report macOS.

coremltools imports its native module coremltools.libcoremlpython, and checks in three places whether it
runs on a Mac. The finder provides the module, and replaces these checks as soon as their modules have been
executed, before other modules copy them. sys and platform are not changed.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys

MACOS_VERSION = (15, 4)  # the last version whose names coremltools' tables have throughout

NATIVE = "coremltools.libcoremlpython"
# Provided by Pippin only if coremltools does not have them: its wheels for x86-64 do.
SPARE = {
    "coremltools.libmodelpackage": "pippin.coreml._modelpackage",
    "coremltools.libmilstoragepython": "pippin.coreml._milstorage",
}


def _is_macos():
    return True


def _macos_version():
    return MACOS_VERSION


ANSWERS: dict[str, dict[str, object]] = {
    "coremltools._deps": {"_IS_MACOS": True},
    "coremltools.models.utils": {"_is_macos": _is_macos, "_macos_version": _macos_version},
}


class _Loader(importlib.abc.Loader):
    """Creates a module with the exports of another one."""

    def __init__(self, source):
        self.source = source

    def exec_module(self, module):
        source = importlib.import_module(self.source)
        for name in source.__all__:
            setattr(module, name, getattr(source, name))


class Hooks(importlib.abc.MetaPathFinder):
    """Added to sys.meta_path by install(), once."""

    def __init__(self):
        self.originals = {}  # coremltools' own functions, by name

    def find_spec(self, fullname, path=None, target=None):
        if fullname == NATIVE:
            return importlib.machinery.ModuleSpec(fullname, _Loader("pippin.coreml._native"), origin="pippin")
        if fullname not in ANSWERS and fullname not in SPARE:
            return None
        spec = self._find_elsewhere(fullname, path, target)
        if spec is None and fullname in SPARE:
            return importlib.machinery.ModuleSpec(fullname, _Loader(SPARE[fullname]), origin="pippin")
        if spec is not None and fullname in ANSWERS:
            self._answer_after(spec.loader, fullname)
        return spec

    def _find_elsewhere(self, fullname, path, target):
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def _answer_after(self, loader, fullname):
        execute = loader.exec_module

        def exec_module(module):
            execute(module)
            for name, answer in ANSWERS[fullname].items():
                self.replace(module, name, answer)

        loader.exec_module = exec_module

    def replace(self, module, name, value):
        self.originals.setdefault(name, getattr(module, name))
        setattr(module, name, value)


_hooks = None


def _loaded():
    """The modules of coremltools that have been imported."""
    return [module for name, module in list(sys.modules.items())
            if module is not None and (name == "coremltools" or name.startswith("coremltools."))]


def is_installed() -> bool:
    """Whether install() is in effect.

    >>> from pippin import coreml
    >>> coreml.install()
    >>> coreml.is_installed()
    True
    >>> coreml.uninstall()
    """
    return _hooks is not None


def install() -> None:
    """Makes coremltools predict, compile and plan with Pippin in this process.

    Call it before `import coremltools`. If coremltools has been imported already, the contents of its modules are
    replaced.
    """
    global _hooks
    if _hooks is not None:
        return
    _hooks = Hooks()
    sys.meta_path.insert(0, _hooks)
    if not _loaded():
        return
    native = importlib.import_module(NATIVE)
    answers = {name: value for place in ANSWERS.values() for name, value in place.items()}
    for module in _loaded():
        for name, value in list(vars(module).items()):
            if name in answers:
                _hooks.replace(module, name, answers[name])
            elif value is None and name in vars(native):
                _hooks.replace(module, name, getattr(native, name))


def uninstall() -> None:
    """Undoes install(), also in modules of coremltools that were imported since."""
    global _hooks
    if _hooks is None:
        return
    sys.meta_path.remove(_hooks)
    originals, _hooks = _hooks.originals, None
    native = sys.modules.pop(NATIVE, None)
    for module in _loaded():
        for name, value in list(vars(module).items()):
            if name in originals:
                setattr(module, name, originals[name])
            elif native is not None and (value is native or vars(native).get(name, module) is value):
                setattr(module, name, None)
