"""coremltools' predictions on Linux: Core ML models run by Pippin.

`install()` before `import coremltools` makes an unchanged coremltools predict; `python -m pippin.coreml
script.py` does that for a script, `python -m pippin.coreml enable` for every program of this Python. Without
coremltools the same names are here:

>>> from pippin.coreml import ComputeUnit
>>> ComputeUnit.CPU_ONLY.name
'CPU_ONLY'
"""

from typing import TYPE_CHECKING

from ._hooks import install, is_installed, uninstall

if TYPE_CHECKING:
    from ._models import CompiledMLModel, MLModel, MLModelAsset, MLState
    from ._structure import (
        ComputeUnit, MLComputeDevice, MLComputePlan, MLComputePlanCost, MLComputePlanDeviceUsage,
        MLCPUComputeDevice, MLModelStructure, ReshapeFrequency, SpecializationStrategy,
    )

_MODELS = ("CompiledMLModel", "MLModel", "MLModelAsset", "MLState")
__all__ = [
    "CompiledMLModel", "ComputeUnit", "MLCPUComputeDevice", "MLComputeDevice", "MLComputePlan",
    "MLComputePlanCost", "MLComputePlanDeviceUsage", "MLModel", "MLModelAsset", "MLModelStructure", "MLState", "ReshapeFrequency",
    "SpecializationStrategy", "install", "is_installed", "uninstall",
]

if not TYPE_CHECKING:  # type checkers find every name above, and no others

    def __getattr__(name):
        # Imported on first use, so that install() is quick.
        from importlib import import_module

        if name in __all__:
            return getattr(import_module(f"{__name__}.{'_models' if name in _MODELS else '_structure'}"), name)
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
