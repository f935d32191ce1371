"""coremltools' names for compute units, devices, structures and plans, for programs without coremltools."""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from typing import Any

from . import _plan


class ComputeUnit(enum.Enum):
    """The units that a model may run on with Core ML on a Mac; elsewhere always the CPU."""

    ALL = 1
    CPU_AND_GPU = 2
    CPU_ONLY = 3
    CPU_AND_NE = 4


class ReshapeFrequency(enum.Enum):
    """A hint of coremltools; it has no effect here."""

    Frequent = 1
    Infrequent = 2


class SpecializationStrategy(enum.Enum):
    """A hint of coremltools; it has no effect here."""

    Default = 1
    FastPrediction = 2


class MLComputeDevice:
    """A processor that computes operations."""

    @classmethod
    def get_all_compute_devices(cls) -> list[MLComputeDevice]:
        """Returns the CPU."""
        return [_plan.cpu(sys.modules[__name__])]


class MLCPUComputeDevice(MLComputeDevice):
    """The CPU."""

    def __init__(self, proxy: Any) -> None:
        self.__proxy__ = proxy


@dataclass(frozen=True)
class MLModelStructureProgramValue:
    """A literal."""


@dataclass(frozen=True)
class MLModelStructureProgramValueType:
    """The type of a value."""


@dataclass(frozen=True)
class MLModelStructureProgramNamedValueType:
    name: str
    type: MLModelStructureProgramValueType


@dataclass(frozen=True)
class MLModelStructureProgramBinding:
    """Either the name of a value or a literal."""

    name: str | None
    value: MLModelStructureProgramValue | None


@dataclass(frozen=True)
class MLModelStructureProgramArgument:
    bindings: list[MLModelStructureProgramBinding]


@dataclass(frozen=True)
class MLModelStructureProgramOperation:
    inputs: dict[str, MLModelStructureProgramArgument]
    operator_name: str
    outputs: list[MLModelStructureProgramNamedValueType]
    blocks: list[MLModelStructureProgramBlock]
    __proxy__: Any


@dataclass(frozen=True)
class MLModelStructureProgramBlock:
    inputs: list[MLModelStructureProgramNamedValueType]
    operations: list[MLModelStructureProgramOperation]
    output_names: list[str]


@dataclass(frozen=True)
class MLModelStructureProgramFunction:
    inputs: list[MLModelStructureProgramNamedValueType]
    block: MLModelStructureProgramBlock


@dataclass(frozen=True)
class MLModelStructureProgram:
    functions: dict[str, MLModelStructureProgramFunction]


@dataclass(frozen=True)
class MLModelStructurePipeline:
    sub_models: list[tuple[str, MLModelStructure]]


@dataclass(frozen=True)
class MLModelStructure:
    """The structure of a model: a program or a pipeline; neither for small models of other kinds."""

    neuralnetwork: None
    program: MLModelStructureProgram | None
    pipeline: MLModelStructurePipeline | None

    @classmethod
    def load_from_path(cls, compiled_model_path: str) -> MLModelStructure:
        """Returns the structure of a model at a path. Raises the errors of pippin.Model."""
        return _plan.read_structure(compiled_model_path, sys.modules[__name__])


@dataclass(frozen=True)
class MLComputePlanDeviceUsage:
    """The device of an operation, and the devices that could compute it."""

    preferred_compute_device: MLComputeDevice
    supported_compute_devices: list[MLComputeDevice]


@dataclass(frozen=True)
class MLComputePlanCost:
    """The cost of an operation."""

    weight: float  # the operation's share of its function, 0 to 1


class MLComputePlan:
    """The devices of operations, and their costs."""

    def __init__(self, proxy: Any) -> None:
        self.__proxy__ = proxy

    @classmethod
    def load_from_path(cls, path: str, compute_units: ComputeUnit = ComputeUnit.ALL) -> MLComputePlan:
        """Returns the plan of a model at a path. Raises the errors of pippin.Model."""
        return _plan.make_plan(path, sys.modules[__name__])

    @property
    def model_structure(self) -> MLModelStructure:
        """The model's structure, whose operations the other methods take."""
        return self.__proxy__.model_structure

    def get_compute_device_usage_for_mlprogram_operation(
        self, operation: MLModelStructureProgramOperation
    ) -> MLComputePlanDeviceUsage | None:
        """Returns the device of an operation; None for constants."""
        return self.__proxy__.get_compute_device_usage_for_mlprogram_operation(operation)

    def get_estimated_cost_for_mlprogram_operation(
        self, operation: MLModelStructureProgramOperation
    ) -> MLComputePlanCost | None:
        """Returns the cost of an operation; None for constants."""
        return self.__proxy__.get_estimated_cost_for_mlprogram_operation(operation)
