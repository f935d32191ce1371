"""Stands in for coremltools.libmilstoragepython if coremltools does not have it."""

from .._pippin import _BlobStorageReader, _BlobStorageWriter

__all__ = ["_BlobStorageReader", "_BlobStorageWriter"]
