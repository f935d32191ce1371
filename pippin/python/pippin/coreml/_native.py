"""Stands in for coremltools.libcoremlpython: everything that coremltools uses from it."""

from ._assets import _MLModelAssetProxy
from ._devices import _MLCPUComputeDeviceProxy, _MLGPUComputeDeviceProxy, _MLNeuralEngineComputeDeviceProxy
from ._plan import (
    _MLComputePlanProxy,
    _MLModelStructureNeuralNetworkLayerProxy,
    _MLModelStructureProgramOperationProxy,
)
from ._proxy import _MLModelProxy
from ._state import _State

__all__ = [
    "_MLCPUComputeDeviceProxy", "_MLComputePlanProxy", "_MLGPUComputeDeviceProxy", "_MLModelAssetProxy",
    "_MLModelProxy", "_MLModelStructureNeuralNetworkLayerProxy", "_MLModelStructureProgramOperationProxy",
    "_MLNeuralEngineComputeDeviceProxy", "_State",
]
