"""The structure of a model and the costs of its operations, in coremltools' classes."""

from itertools import count

from .. import _pippin
from ._devices import _MLCPUComputeDeviceProxy


class _MLModelStructureProgramOperationProxy:
    """Identifies an operation: its stage and function, and its index within the function."""

    def __init__(self, stage=(), function="", index=-1):
        self.stage = stage
        self.function = function
        self.index = index


class _MLModelStructureNeuralNetworkLayerProxy:
    """Never created: neural networks have no structure here."""


class _Builder:
    """Builds a structure's objects from the result of _pippin.structure()."""

    def __init__(self, classes):
        self.classes = classes

    def values(self, named):
        classes = self.classes
        kind = classes.MLModelStructureProgramValueType
        return [classes.MLModelStructureProgramNamedValueType(one["name"], kind()) for one in named]

    def argument(self, bindings):
        classes = self.classes
        return classes.MLModelStructureProgramArgument([
            classes.MLModelStructureProgramBinding(one["name"], None) if "name" in one
            else classes.MLModelStructureProgramBinding(None, classes.MLModelStructureProgramValue())
            for one in bindings
        ])

    def operation(self, told, name):
        proxy = name()  # before those of its blocks, as _pippin.operation_costs() counts
        inputs = {parameter: self.argument(bindings) for parameter, bindings in told["inputs"].items()}
        blocks = [self.block(one, name) for one in told["blocks"]]
        return self.classes.MLModelStructureProgramOperation(
            inputs, told["operator_name"], self.values(told["outputs"]), blocks, proxy)

    def block(self, told, name):
        return self.classes.MLModelStructureProgramBlock(
            self.values(told["inputs"]), [self.operation(one, name) for one in told["operations"]],
            list(told["output_names"]))

    def function(self, told, stage, function):
        numbers = count()
        block = self.block(
            told["block"], lambda: _MLModelStructureProgramOperationProxy(stage, function, next(numbers)))
        return self.classes.MLModelStructureProgramFunction(self.values(told["inputs"]), block)

    def model(self, told, stage=()):
        classes = self.classes
        program = pipeline = None
        if "functions" in told:
            program = classes.MLModelStructureProgram(
                {name: self.function(one, stage, name) for name, one in told["functions"].items()})
        if "stages" in told:
            pipeline = classes.MLModelStructurePipeline([
                (one["name"] or f"model{i}", self.model(one["model"], (*stage, i)))
                for i, one in enumerate(told["stages"])
            ])
        return classes.MLModelStructure(None, program, pipeline)


def read_structure(path, classes):
    return _Builder(classes).model(_pippin.structure(str(path)))


def _places(told, stage=()):
    """(stage, function) of all programs of a structure."""
    for function in told.get("functions", ()):
        yield stage, function
    for i, one in enumerate(told.get("stages", ())):
        yield from _places(one["model"], (*stage, i))


def cpu(classes):
    return classes.MLCPUComputeDevice(_MLCPUComputeDeviceProxy())


class _MLComputePlanProxy:
    """The devices of operations (always the CPU) and their shares of the estimated cost."""

    def __init__(self, path="", classes=None):
        self._classes = classes
        self._structure = None
        self._costs = {}  # by stage and function; the folder may be removed after this
        if classes is not None:
            told = _pippin.structure(str(path))
            self._structure = _Builder(classes).model(told)
            for stage, function in _places(told):
                self._costs[stage, function] = _pippin.operation_costs(str(path), function, stage=list(stage))

    @property
    def model_structure(self):
        return self._structure

    def _cost(self, operation):
        """The operation's share, or None."""
        proxy = operation.__proxy__
        return self._costs[proxy.stage, proxy.function][proxy.index]

    def get_compute_device_usage_for_mlprogram_operation(self, operation):
        if self._cost(operation) is None:
            return None
        device = cpu(self._classes)
        return self._classes.MLComputePlanDeviceUsage(device, [device])

    def get_compute_device_usage_for_neuralnetwork_layer(self, layer):
        return None

    def get_estimated_cost_for_mlprogram_operation(self, operation):
        cost = self._cost(operation)
        return None if cost is None else self._classes.MLComputePlanCost(cost)


def make_plan(path, classes):
    return classes.MLComputePlan(_MLComputePlanProxy(path, classes))
