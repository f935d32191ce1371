"""coremltools' MLModel and related classes, based on Pippin alone."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from ._assets import _MLModelAssetProxy
from ._proxy import _MLModelProxy
from ._spec import Message, specification
from ._structure import ComputeUnit, MLComputeDevice


class MLState:
    """The state of a model. It fits any model with states of the same names and shapes."""

    def __init__(self, proxy: Any) -> None:
        self.__proxy__ = proxy

    def read_state(self, name: str) -> Any:
        """A copy of the array, float16 as float32."""
        return self.__proxy__.read_state(name)

    def write_state(self, name: str, value: Any) -> None:
        """Copies an array into the state. Raises NotFoundError for an unknown name, InvalidArgumentError for another
        shape."""
        self.__proxy__.write_state(name, value)


class MLModelAsset:
    """A model in memory or in a compiled folder."""

    def __init__(self, proxy: Any) -> None:
        self.__proxy__ = proxy

    @classmethod
    def from_path(cls, compiled_model_path: str) -> MLModelAsset:
        """Returns a model in a compiled folder. Raises the errors of pippin.Model."""
        return cls(_MLModelAssetProxy(path=compiled_model_path))

    @classmethod
    def from_memory(cls, spec_data: bytes, blob_mapping: dict[str, bytes] | None = None) -> MLModelAsset:
        """Returns a model from its serialized specification and the weight files that it names. Raises the errors of
        pippin.Model."""
        return cls(_MLModelAssetProxy(specification=spec_data, blobs=blob_mapping))


class CompiledMLModel:
    """A compiled model, for predictions."""

    def __init__(
        self, path: str, compute_units: ComputeUnit = ComputeUnit.ALL, function_name: str | None = None,
        optimization_hints: dict[str, Any] | None = None, asset: MLModelAsset | None = None,
    ) -> None:
        self.compute_unit = compute_units
        self.function_name = function_name
        self.optimization_hints = optimization_hints
        self._proxy = _MLModelProxy(
            os.path.expanduser(path), compute_units.name, function_name or "", {},
            None if asset is None else asset.__proxy__)

    @classmethod
    def from_asset(
        cls, asset: MLModelAsset, compute_units: ComputeUnit = ComputeUnit.ALL,
        function_name: str | None = None, optimization_hints: dict[str, Any] | None = None,
    ) -> CompiledMLModel:
        """Returns the model of an asset."""
        return cls("", compute_units, function_name, optimization_hints, asset)

    def predict(self, data: dict[str, Any] | list[dict[str, Any]], state: MLState | None = None) -> Any:
        """Outputs by name; for a list of inputs, a list of them. float16 outputs become float32."""
        for one in data if isinstance(data, list) else [data]:
            unknown = one.keys() - self._proxy._inputs.keys()
            if unknown:
                raise KeyError(f"no inputs {sorted(unknown)}; the model's are {sorted(self._proxy._inputs)}")
        if isinstance(data, list):
            if state is not None:
                raise ValueError("state: a batch has none")
            return self._proxy.batchPredict(data)
        return self._proxy.predict(data, None if state is None else state.__proxy__)

    def make_state(self) -> MLState:
        """Returns a new state, all zeros."""
        return MLState(self._proxy.newState())

    @property
    def load_duration_in_nano_seconds(self) -> int:
        """The time that loading took."""
        return self._proxy.get_load_duration_in_nano_seconds()

    @property
    def last_predict_duration_in_nano_seconds(self) -> int | None:
        """The time of the last prediction; None before the first."""
        return self._proxy.get_last_predict_duration_in_nano_seconds()


class MLModel(CompiledMLModel):
    """A model package, .mlmodel or compiled model: its interface and predictions."""

    def __init__(
        self, model: str, compute_units: ComputeUnit = ComputeUnit.ALL, function_name: str | None = None,
        optimization_hints: dict[str, Any] | None = None,
    ) -> None:
        self.package_path = os.path.abspath(os.path.expanduser(model))
        super().__init__(self.package_path, compute_units, function_name, optimization_hints)
        weights = os.path.join(self.package_path, "Data", "com.apple.CoreML", "weights")
        self.weights_dir = weights if os.path.isdir(weights) else None

    def get_spec(self) -> Message:
        """The interface, with the names of Core ML's messages. Read-only."""
        return specification(self._proxy._model)

    def _described(self, kind: str) -> dict[str, str]:
        declared = self._proxy._model.features(self._proxy._function)[kind]
        return {feature["name"]: feature["description"] for feature in declared}

    @property
    def input_description(self) -> dict[str, str]:
        """The author's descriptions of the inputs, by name."""
        return self._described("inputs")

    @property
    def output_description(self) -> dict[str, str]:
        """The author's descriptions of the outputs, by name."""
        return self._described("outputs")

    @property
    def user_defined_metadata(self) -> dict[str, str]:
        """The author's further texts, by key."""
        return self._proxy._model.metadata["user_defined"]

    @property
    def short_description(self) -> str:
        """The author's description of the model."""
        return self._proxy._model.metadata["short_description"]

    @property
    def author(self) -> str:
        """The author."""
        return self._proxy._model.metadata["author"]

    @property
    def license(self) -> str:
        """The license."""
        return self._proxy._model.metadata["license"]

    @property
    def version(self) -> str:
        """The model's version."""
        return self._proxy._model.metadata["version"]

    def get_compiled_model_path(self) -> str:
        """A compiled form, which exists as long as this object."""
        return self._proxy.get_compiled_model_path()

    @classmethod
    def get_available_compute_devices(cls) -> list[MLComputeDevice]:
        """Returns the CPU."""
        return MLComputeDevice.get_all_compute_devices()

    def save(self, save_path: str) -> None:
        """Copies the package, replacing an existing file."""
        target = os.path.abspath(os.path.expanduser(save_path))
        if target == self.package_path:
            return
        folder = tempfile.mkdtemp(dir=os.path.dirname(target), prefix=os.path.basename(target))
        try:
            copied = os.path.join(folder, "copied")
            if os.path.isdir(self.package_path):
                shutil.copytree(self.package_path, copied)
            else:
                shutil.copy(self.package_path, copied)
            if os.path.isdir(target):
                os.rename(target, os.path.join(folder, "replaced"))
            os.replace(copied, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
