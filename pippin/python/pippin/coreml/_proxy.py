"""The object behind coremltools' MLModel: a model that is read at once and planned at the first prediction."""

import shutil
import tempfile
import time
import weakref
from pathlib import Path

from .. import _pippin
from .._errors import InvalidArgumentError
from . import _plan
from ._assets import _MLModelAssetProxy
from ._classes import coremltools_classes
from ._state import _State
from ._values import shape_fault, to_input, to_output
from ._version import with_least_version

SPECIFICATION_VERSION = 10  # of iOS 26
# Core ML's names.
COMPUTE_UNITS = {
    "CPU_ONLY": "cpuOnly", "CPU_AND_GPU": "cpuAndGPU", "CPU_AND_NE": "cpuAndNeuralEngine", "ALL": "all",
}


def _check_compute_units(units):
    # A bool is the useCPUOnly of coremltools 3.
    if not isinstance(units, bool) and units not in COMPUTE_UNITS:
        raise InvalidArgumentError(f"compute_units: '{units}' is not one of {', '.join(COMPUTE_UNITS)}")


def _options(units):
    """The compute units for _pippin.Model: Core ML if it is available, else Pippin's engine."""
    # A bool is the useCPUOnly of coremltools 3.
    if isinstance(units, bool):
        units = "CPU_ONLY" if units else "ALL"
    # On a Mac, too, CPU_ONLY computes in float32.
    options = {"precision": "exact" if units == "CPU_ONLY" else "fast"}
    if _pippin._has_core_ml():
        options.update(backend="coreml", compute_units=COMPUTE_UNITS[units])
    return options


def _compile(write):
    """Calls `write(path)` to write a compiled model into a new temporary folder."""
    folder = tempfile.mkdtemp(prefix="pippin-compiled-")
    try:
        path = str(Path(folder, "model.mlmodelc"))
        write(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path


class _MLModelProxy:
    def __init__(self, path, compute_units="ALL", function_name="", optimization_hints=None, asset=None):
        _check_compute_units(compute_units)
        if not isinstance(function_name, str):
            raise TypeError(f"function_name: {type(function_name).__name__} is not a str")
        if asset is not None and not isinstance(asset, _MLModelAssetProxy):
            raise TypeError(f"asset: {type(asset).__name__} is not an _MLModelAssetProxy")
        started = time.perf_counter_ns()
        options = _options(compute_units)
        self._model = _pippin.Model(str(path), **options) if asset is None else asset.open(**options)
        self._function = function_name or self._model.default_function
        features = self._model.features(self._function)
        self._inputs = {feature["name"]: feature for feature in features["inputs"]}
        self._outputs = {feature["name"]: feature for feature in features["outputs"]}
        self._load_duration = time.perf_counter_ns() - started
        self._predict_duration = None
        # Set if the model was compiled already; otherwise it is compiled on first use.
        self._compiled = str(path) if asset is None and Path(path).suffix == ".mlmodelc" else None

    def _predict(self, data, state):
        # As in Core ML, inputs that the model does not have are ignored.
        given = {name: to_input(value) for name, value in data.items() if name in self._inputs}
        try:
            results = self._model.predict(given, state, function=self._function)
        except InvalidArgumentError as error:
            for name, value in given.items():
                fault = shape_fault(value, self._inputs[name])
                if fault:
                    raise InvalidArgumentError(f"{fault} ({error})") from None
            raise
        return {name: to_output(results[name], feature) for name, feature in self._outputs.items()}

    def predict(self, data, state=None):
        if state is not None and not isinstance(state, _State):
            raise TypeError(f"state: {type(state).__name__} is not a _State")
        started = time.perf_counter_ns()
        result = self._predict(data, None if state is None else state._state)
        self._predict_duration = time.perf_counter_ns() - started
        return result

    def batchPredict(self, batch):
        started = time.perf_counter_ns()
        results = [self._predict(data, None) for data in batch]
        self._predict_duration = time.perf_counter_ns() - started
        return results

    def newState(self):
        return _State(self._model.make_state(self._function))

    def get_compiled_model_path(self):
        """A compiled form of the model, which exists as long as this object."""
        if self._compiled is None:
            self._compiled = _compile(self._model.compile)
            weakref.finalize(self, shutil.rmtree, str(Path(self._compiled).parent), ignore_errors=True)
        return self._compiled

    def get_load_duration_in_nano_seconds(self):
        return self._load_duration

    def get_last_predict_duration_in_nano_seconds(self):
        return self._predict_duration

    @staticmethod
    def maximum_supported_specification_version():
        return SPECIFICATION_VERSION

    @staticmethod
    def auto_set_specification_version(model):
        """The serialized model with the lowest version that supports its features."""
        if not isinstance(model, bytes):
            raise TypeError(f"model: {type(model).__name__} is not bytes")
        return with_least_version(model)

    @staticmethod
    def compileModel(path):
        """The path of a new compiled model, which the caller moves or removes."""
        return _compile(_pippin.Model(str(path)).compile)

    @staticmethod
    def create_model_asset_from_path(path):
        return coremltools_classes().MLModelAsset(_MLModelAssetProxy(path=str(path)))

    @staticmethod
    def create_model_asset_from_memory(spec_data, blob_mapping=None):
        asset = _MLModelAssetProxy(specification=spec_data, blobs=blob_mapping)
        return coremltools_classes().MLModelAsset(asset)

    @staticmethod
    def get_model_structure(path):
        return _plan.read_structure(path, coremltools_classes())

    @staticmethod
    def get_compute_plan(path, compute_units="ALL"):
        _check_compute_units(compute_units)
        return _plan.make_plan(path, coremltools_classes())

    @staticmethod
    def get_available_compute_devices():
        return [_plan.cpu(coremltools_classes())]

    get_all_compute_devices = get_available_compute_devices
