"""What stands as coremltools.libmodelpackage where coremltools has come without it."""

from .._pippin import ModelPackage, ModelPackageItemInfo

__all__ = ["ModelPackage", "ModelPackageItemInfo"]
