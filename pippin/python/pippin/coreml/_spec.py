"""A read-only view of a model's interface with the names of Core ML's protobuf messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_ARRAY_TYPES = {"float32": 65568, "float64": 65600, "int32": 131104, "float16": 65552, "int8": 131080}
_COLOR_SPACES = {"grayscale": 10, "rgb": 20, "bgr": 30, "grayscale_float16": 40}
_KINDS = {
    "multiarray": "multiArrayType", "image": "imageType", "int64": "int64Type", "double": "doubleType",
    "string": "stringType", "dictionary": "dictionaryType", "sequence": "sequenceType", "state": "stateType",
}


class Message:
    """Named fields. Unset members of a oneof are messages without fields."""

    def __init__(self, oneof: dict[str, tuple[str, ...]] | None = None, **fields: Any) -> None:
        vars(self).update(_oneof=oneof or {}, **fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: the specification can only be read; coremltools changes it")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not any(name in names for names in vars(self).get("_oneof", {}).values()):
            raise AttributeError(f"the specification has no '{name}' here")
        return Message()

    def HasField(self, name: str) -> bool:
        return name in vars(self)

    def WhichOneof(self, group: str) -> str | None:
        return next((name for name in self._oneof.get(group, ()) if name in vars(self)), None)

    def _fields(self) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in vars(self).items() if name != "_oneof")

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {value!r}" for name, value in self._fields()) + "}"


def _array_type(feature: dict[str, Any]) -> Message:
    data_type = _ARRAY_TYPES.get(feature["type"], 0)
    fields: dict[str, Any] = {"shape": list(feature["shape"]), "dataType": data_type}
    if feature["enumerated_shapes"]:
        shapes = [Message(shape=list(one)) for one in feature["enumerated_shapes"]]
        fields["enumeratedShapes"] = Message(shapes=shapes)
    elif feature["ranges"]:
        fields["shapeRange"] = Message(
            sizeRanges=[Message(lowerBound=lower, upperBound=upper) for lower, upper in feature["ranges"]])
    return Message({"ShapeFlexibility": ("enumeratedShapes", "shapeRange")}, **fields)


def _type(feature: dict[str, Any]) -> Message:
    kind = _KINDS[feature["kind"]]
    if kind == "multiArrayType":
        told = _array_type(feature)
    elif kind == "stateType":
        told = Message(arrayType=_array_type(feature))
    elif kind == "imageType":
        height, width = feature["shape"][2:]
        told = Message(width=width, height=height, colorSpace=_COLOR_SPACES[feature["color_space"]])
    elif kind == "dictionaryType":
        key = "stringKeyType" if feature["type"] == "string" else "int64KeyType"
        told = Message({"KeyType": ("int64KeyType", "stringKeyType")}, **{key: Message()})
    else:
        told = Message()
    return Message({"Type": tuple(_KINDS.values())}, isOptional=feature["optional"], **{kind: told})


def _features(features: list[dict[str, Any]]) -> list[Message]:
    return [Message(name=one["name"], shortDescription=one["description"], type=_type(one))
            for one in features]


def _interface(declared: dict[str, Any]) -> dict[str, Any]:
    return {
        "input": _features(declared["inputs"]), "output": _features(declared["outputs"]),
        "state": _features(declared["states"]), "predictedFeatureName": declared["predicted_feature_name"],
        "predictedProbabilitiesName": declared["predicted_probabilities_name"],
    }


def specification(model: Any) -> Message:
    """The description of a pippin.Model."""
    metadata = model.metadata
    told = Message(
        shortDescription=metadata["short_description"], versionString=metadata["version"],
        author=metadata["author"], license=metadata["license"], userDefined=metadata["user_defined"])
    functions = model.functions
    several = functions != ["main"]
    interface = _interface(model.features())
    if several:  # then the functions have the features that a model with one function has itself
        interface = {name: "" if isinstance(value, str) else [] for name, value in interface.items()}
    of_functions = [Message(name=name, **_interface(model.features(name))) for name in functions]
    description = Message(
        functions=of_functions if several else [], metadata=told,
        defaultFunctionName=model.default_function if several else "", **interface)
    kind = metadata["kind"]
    return Message(
        {"Type": (kind,)}, specificationVersion=metadata["specification_version"], description=description,
        **{kind: Message()})
