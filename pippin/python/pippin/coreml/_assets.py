"""Models from memory or from a compiled folder, which can be opened later and more than once."""

import tempfile
from pathlib import Path

from .._errors import InvalidArgumentError
from .._pippin import Model


class _MLModelAssetProxy:
    """A compiled folder, or a specification with the weight files that it names."""

    def __init__(self, path="", specification=b"", blobs=None):
        self._path = path
        self._specification = specification
        self._blobs = dict(blobs or {})
        self.open()  # reject invalid models here

    def open(self, **options) -> Model:
        if self._path:
            return Model(self._path, **options)
        # Weights are mapped when a model is read, so the files can be removed at once.
        with tempfile.TemporaryDirectory(prefix="pippin-asset-") as folder:
            for name, data in self._blobs.items():
                file = Path(folder, _inside(name))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            file = Path(folder, "model.mlmodel")
            file.write_bytes(self._specification)
            return Model(str(file), **options)


def _inside(name):
    """The path of a weight file within the model's folder."""
    path = Path(name.removeprefix("@model_path/"))
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise InvalidArgumentError(f"blob_mapping: '{name}' is not a path of a weight file within the model")
    return path
