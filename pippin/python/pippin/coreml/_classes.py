"""The classes of results: coremltools' own if the caller uses coremltools."""

from importlib import import_module
import types

_PLACES = {
    "compute_device": ("MLCPUComputeDevice",),
    "compute_plan": (
        "MLComputePlan", "MLComputePlanCost", "MLComputePlanDeviceUsage", "MLModelStructure",
        "MLModelStructureNeuralNetwork", "MLModelStructureNeuralNetworkLayer", "MLModelStructurePipeline",
        "MLModelStructureProgram", "MLModelStructureProgramArgument", "MLModelStructureProgramBinding",
        "MLModelStructureProgramBlock", "MLModelStructureProgramFunction",
        "MLModelStructureProgramNamedValueType", "MLModelStructureProgramOperation",
        "MLModelStructureProgramValue", "MLModelStructureProgramValueType",
    ),
    "model": ("MLModelAsset",),
}


def coremltools_classes():
    found = types.SimpleNamespace()
    for place, names in _PLACES.items():
        module = import_module(f"coremltools.models.{place}")
        for name in names:
            setattr(found, name, getattr(module, name))
    return found
