"""The hooks for coremltools, tested with a stand-in for coremltools that makes the same queries."""

import os
import re
import shutil
import site
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

import pippin

try:
    import numpy  # noqa: F401
except ImportError:
    raise unittest.SkipTest("NumPy is not installed") from None

import small_models as small
from fixtures import SOURCE, package

NATIVE = """
try:
    from {dots}libcoremlpython import {name}
except Exception:
    {name} = None
"""
# In the same files as in coremltools: compute_device is imported first, before utils.
FILES = {
    "__init__.py": "__version__ = '0.0'\nfrom . import _deps, models\ntry:\n    from . import libcoremlpython\n"
                   "except Exception:\n    pass\n",
    "_deps/__init__.py": "import sys\n_IS_MACOS = sys.platform == 'darwin'\n",
    "models/__init__.py": "from . import compute_device, utils, model, compute_plan\n",
    "models/compute_device.py": NATIVE.format(dots="..", name="_MLModelProxy")
    + NATIVE.format(dots="..", name="_MLCPUComputeDeviceProxy")
    + "class MLCPUComputeDevice:\n    def __init__(self, proxy):\n        self.proxy = proxy\n",
    "models/utils.py": "def _is_macos():\n    return False\ndef _macos_version():\n    return ()\n"
    "try:\n    from ..libmodelpackage import ModelPackage\nexcept Exception:\n    ModelPackage = None\n",
    "models/model.py": "from .utils import _is_macos, _macos_version\nfrom .._deps import _IS_MACOS\n"
    + NATIVE.format(dots="..", name="_MLModelProxy") + NATIVE.format(dots="..", name="_MLModelAssetProxy")
    + "class MLModelAsset:\n    def __init__(self, proxy):\n        self.proxy = proxy\n",
    "models/compute_plan.py": NATIVE.format(dots="..", name="_MLComputePlanProxy") + "\n".join(
        f"class MLModelStructure{name}:\n    def __init__(self, *parts):\n        self.parts = parts\n"
        for name in ("", "NeuralNetwork", "NeuralNetworkLayer", "Pipeline", "Program", "ProgramArgument",
                     "ProgramBinding", "ProgramBlock", "ProgramFunction", "ProgramNamedValueType", "ProgramOperation",
                     "ProgramValue", "ProgramValueType")) + "\n" + "\n".join(
        f"class {name}:\n    def __init__(self, *parts):\n        self.parts = parts\n"
        for name in ("MLComputePlan", "MLComputePlanCost", "MLComputePlanDeviceUsage")),
}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pippin-hooks-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.package = Path(self.folder, "with/coremltools")
        for name, text in FILES.items():
            file = self.package / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self.model = small.write_compiled(self.folder, small.ADD)

    def run_python(self, *arguments, **environment):
        root = str(Path(pippin.__file__).parents[1])
        return subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=self.folder, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([root, str(self.package.parent)]),
                 "PYTHONUSERBASE": os.path.join(self.folder, "user"), "PYTHONDONTWRITEBYTECODE": "1", **environment})

    def check(self, code, *before, **environment):
        """Runs code and returns its output."""
        ended = self.run_python(*before, "-c", textwrap.dedent(code), **environment)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.strip()


class Documentation(unittest.TestCase):
    def run_snippet(self, page, mark, path):
        text = (SOURCE / page).read_text(encoding="utf-8")
        snippets = re.findall(rf"{mark}```python\n(.*?)```", text, re.S)
        self.assertEqual(len(snippets), 1)
        ended = subprocess.run([sys.executable, "-c", snippets[0]], cwd=Path(package()).parent, capture_output=True,
                               text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(path)})
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("(1, 2, ", ended.stdout)

    def test_without_coremltools(self):
        self.run_snippet("docs/coremltools.md", "(?<!-->\n)", sys.path)

    def test_with_coremltools(self):
        if not os.environ.get("COREMLTOOLS"):
            self.skipTest("COREMLTOOLS names no checkout of apple/coremltools")
        path = [os.environ["COREMLTOOLS"], *sys.path]
        self.run_snippet("docs/coremltools.md", "<!-- coremltools -->\n", path)
        self.run_snippet("README.md", "", path)


class Installing(Case):
    def test_before_coremltools(self):
        self.assertEqual(self.check(f"""
            import platform, sys
            before = (sys.platform, platform.system(), platform.mac_ver())
            import pippin.coreml
            pippin.coreml.install()
            pippin.coreml.install()  # once is enough
            from coremltools.models import model, compute_device, compute_plan, utils
            import coremltools
            assert model._is_macos() and model._macos_version() == (15, 4) and model._IS_MACOS
            assert coremltools.libcoremlpython._MLModelProxy is model._MLModelProxy is compute_device._MLModelProxy
            assert utils.ModelPackage is not None
            proxy = model._MLModelProxy({self.model!r}, "ALL", "", {{}}, None)
            print(proxy.predict({{"x": [1, 2], "y": [3, 4]}}, None)["z"].tolist())
            assert type(model._MLModelProxy.create_model_asset_from_path({self.model!r})) is model.MLModelAsset
            assert type(model._MLModelProxy.get_all_compute_devices()[0]) is compute_device.MLCPUComputeDevice
            structure = model._MLModelProxy.get_model_structure({self.model!r})
            assert type(structure) is compute_plan.MLModelStructure and structure.parts[1] is not None
            assert type(model._MLModelProxy.get_compute_plan({self.model!r}, "ALL")) is compute_plan.MLComputePlan
            assert (sys.platform, platform.system(), platform.mac_ver()) == before
        """), "[4.0, 6.0]")

    def test_after_coremltools(self):
        self.check(f"""
            import coremltools
            from coremltools.models import model, utils
            assert model._MLModelProxy is None and not model._is_macos()
            import pippin.coreml
            pippin.coreml.install()
            assert model._is_macos() and utils._macos_version() == (15, 4) and model._IS_MACOS
            assert model._MLModelProxy({self.model!r}, "ALL").predict({{"x": [1, 2], "y": [3, 4]}})["z"][0] == 4
        """)

    def test_uninstalling(self):
        self.check("""
            import sys
            finders = list(sys.meta_path)
            import pippin.coreml
            pippin.coreml.install()
            assert pippin.coreml.is_installed()
            import coremltools
            from coremltools.models import model, utils
            pippin.coreml.uninstall()
            assert not pippin.coreml.is_installed() and sys.meta_path == finders
            assert not model._is_macos() and utils._macos_version() == () and not model._IS_MACOS
            assert model._MLModelProxy is None and coremltools.libcoremlpython is None
            pippin.coreml.install()
            assert model._is_macos() and model._MLModelProxy is not None
        """)

    def test_modules_of_its_own_are_left_to_coremltools(self):
        (self.package / "libmodelpackage.py").write_text("ModelPackage = 'its own'\n", encoding="utf-8")
        self.assertEqual(self.check("""
            import pippin.coreml
            pippin.coreml.install()
            from coremltools.models import utils
            print(utils.ModelPackage)
        """), "its own")


class Running(Case):
    CODE = ("import sys; from coremltools.models.model import _is_macos; "
            "print(_is_macos(), sys.argv[1:], __name__)\n")

    def test_scripts_modules_and_code(self):
        script = Path(self.folder, "script.py")
        script.write_text("import neighbour\n" + self.CODE, encoding="utf-8")
        Path(self.folder, "neighbour.py").write_text("", encoding="utf-8")
        for arguments in (["script.py"], ["-m", "script"], ["-c", self.CODE]):
            ended = self.run_python("-m", "pippin.coreml", *arguments, "a", "--b")
            self.assertEqual(ended.stdout, "True ['a', '--b'] __main__\n", ended.stderr)

    def test_what_goes_wrong_is_told(self):
        for arguments, status, words in (
            ([], 2, "python -m pippin.coreml SCRIPT"),
            (["--help"], 0, "python -m pippin.coreml SCRIPT"),
            (["nosuch.py"], 1, "nosuch.py: no such script; the commands are enable, disable, doctor"),
            (["-m"], 1, "-m needs a module"),
            (["doctor", "now"], 1, "doctor: unknown argument now"),
        ):
            ended = self.run_python("-m", "pippin.coreml", *arguments)
            self.assertEqual(ended.returncode, status, arguments)
            self.assertIn(words, ended.stdout + ended.stderr)
        Path(self.folder, "exits.py").write_text("import sys\nsys.exit(7)\n", encoding="utf-8")
        self.assertEqual(self.run_python("-m", "pippin.coreml", "exits.py").returncode, 7)

    @unittest.skipUnless(site.ENABLE_USER_SITE, "this Python has no site for its user")
    def test_in_every_program(self):
        told = "import sys; print('pippin' in sys.modules); " + self.CODE
        self.assertIn("False [] __main__", self.check(told))
        ended = self.run_python("-m", "pippin.coreml", "enable", "--user")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(self.check(told), "False\nTrue [] __main__")
        self.assertIn("False [] __main__", self.check(told, PIPPIN_COREMLTOOLS="0"))
        self.assertIn("pippin_coremltools.pth", self.run_python("-m", "pippin.coreml", "doctor").stdout)
        without = self.run_python("-c", self.CODE, PYTHONPATH=str(self.package.parent))
        self.assertEqual(without.stdout, "False [] __main__\n")
        self.assertIn("coremltools runs without Pippin", without.stderr)
        self.assertIn("removed", self.run_python("-m", "pippin.coreml", "disable").stdout)
        self.assertIn("False [] __main__", self.check(told))
        self.assertIn("it was not enabled", self.run_python("-m", "pippin.coreml", "disable").stdout)

    def test_the_doctor(self):
        ended = self.run_python("-m", "pippin.coreml", "doctor")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        for line in ("coremltools 0.0: ", "  libcoremlpython: Pippin's", "coremltools.models.utils._is_macos: True",
                     "a prediction: right"):
            self.assertIn(line, ended.stdout)
        shutil.rmtree(self.package)
        ended = self.run_python("-m", "pippin.coreml", "doctor")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("coremltools: not installed", ended.stdout)


if __name__ == "__main__":
    unittest.main()
