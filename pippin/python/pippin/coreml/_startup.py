"""Makes every program of a Python installation use Pippin for coremltools: a .pth file, run when Python starts.

It costs next to nothing: one object in sys.meta_path, which waits for `import coremltools`.
PIPPIN_COREMLTOOLS=0 in the environment disables it.
"""

import os
import site
import sysconfig
import tempfile
from pathlib import Path

NAME = "pippin_coremltools.pth"

_CODE = '''
import os, sys
class Waiting:
    def find_spec(self, name, path=None, target=None):
        if name == "coremltools":
            sys.meta_path.remove(self)
            try:
                from pippin.coreml import install
            except ImportError as error:
                import warnings
                warnings.warn(f"coremltools runs without Pippin: {error}")
            else:
                install()
if os.environ.get("PIPPIN_COREMLTOOLS") != "0":
    sys.meta_path.insert(0, Waiting())
'''


def _folders():
    return [sysconfig.get_path("purelib"), site.getusersitepackages()]


def enabled():
    """The files that exist."""
    return [path for path in (Path(folder, NAME) for folder in _folders()) if path.exists()]


def enable(user=False):
    """Writes the file, for this user or for the whole installation, and returns its path."""
    folder = Path(_folders()[1 if user else 0])
    folder.mkdir(parents=True, exist_ok=True)
    handle, written = tempfile.mkstemp(dir=folder, prefix=NAME)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"import sys; exec({_CODE!r}, {{}})\n")
        os.chmod(written, 0o644)
        os.replace(written, folder / NAME)
    except BaseException:
        os.unlink(written)
        raise
    return folder / NAME


def disable():
    """Removes the files and returns their paths."""
    found = enabled()
    for path in found:
        path.unlink()
    return found
