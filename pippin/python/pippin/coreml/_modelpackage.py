"""Stands in for coremltools.libmodelpackage if coremltools does not have it."""

from .._pippin import ModelPackage, ModelPackageItemInfo

__all__ = ["ModelPackage", "ModelPackageItemInfo"]
