"""coremltools' predictions on Linux: Core ML models run by Pippin.

`install()` before `import coremltools` makes an unchanged coremltools predict; `python -m pippin.coreml
script.py` does that for a script, `python -m pippin.coreml enable` for every program of this Python. Without
coremltools the same names are here:

>>> from pippin.coreml import ComputeUnit
>>> ComputeUnit.CPU_ONLY.name
'CPU_ONLY'
"""

from ._hooks import install, is_installed, uninstall

_OWN = {
    "_models": ("CompiledMLModel", "MLModel", "MLModelAsset", "MLState"),
    "_structure": (
        "ComputeUnit", "MLComputeDevice", "MLComputePlan", "MLComputePlanCost", "MLComputePlanDeviceUsage",
        "MLCPUComputeDevice", "MLModelStructure", "ReshapeFrequency", "SpecializationStrategy",
    ),
}
__all__ = ["install", "is_installed", "uninstall", *(name for names in _OWN.values() for name in names)]


def __getattr__(name):
    # Loaded when they are asked for: install() has to be quick.
    from importlib import import_module

    for place, names in _OWN.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
