"""What stands as coremltools.libmilstoragepython where coremltools has come without it."""

from .._pippin import _BlobStorageReader, _BlobStorageWriter

__all__ = ["_BlobStorageReader", "_BlobStorageWriter"]
