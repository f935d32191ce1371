"""Small models, written byte by byte by the format's field numbers, or as text if that suffices."""

import struct
from pathlib import Path

FLOAT32, FLOAT16, INT8, DOUBLE = 65568, 65552, 131080, 65600
GRAYSCALE, RGB, BGR, GRAYSCALE_FLOAT16 = 10, 20, 30, 40
_MIL_FLOAT32 = 11


def varint(number):
    result = b""
    number &= (1 << 64) - 1
    while number >= 0x80:
        result += bytes([number & 0x7F | 0x80])
        number >>= 7
    return result + bytes([number])


def field(number, content):
    """A number, a float, a text or bytes, in its wire type."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 1) + struct.pack("<d", content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def joined(number, contents):
    return b"".join(field(number, one) for one in contents)


INT64_TYPE, DOUBLE_TYPE, STRING_TYPE = field(1, b""), field(2, b""), field(3, b"")


def array_type(shape, element=DOUBLE, optional=False):
    return field(5, joined(1, shape) + field(2, element)) + (field(1000, 1) if optional else b"")


def image_type(width, height, color_space):
    return field(4, field(1, width) + field(2, height) + field(3, color_space))


def dictionary_type(string_keys):
    return field(6, field(2 if string_keys else 1, b""))


def description(inputs, outputs, predicted="", probabilities=""):
    result = b""
    for number, features in ((1, inputs), (10, outputs)):
        result += joined(number, (field(1, name) + field(2, f"the {name}") + field(3, kind)
                                  for name, kind in features.items()))
    if predicted:
        result += field(11, predicted)
    if probabilities:
        result += field(12, probabilities)
    return result + field(100, field(1, "a small model") + field(3, "the tests"))


def model(described, kind, body, version=5):
    return field(1, version) + field(2, described) + field(kind, body)


def _linear(weights, offsets):
    rows = (field(1, b"".join(struct.pack("<d", one) for one in row)) for row in weights)
    return joined(1, rows) + field(2, b"".join(struct.pack("<d", one) for one in offsets))


def regressor():
    """price = 1 * rooms + 2 * size + 0.5"""
    described = description({"rooms": DOUBLE_TYPE, "size": DOUBLE_TYPE}, {"price": DOUBLE_TYPE}, predicted="price")
    return model(described, 300, _linear([[1.0, 2.0]], [0.5]))


def classifier():
    """A logistic regression of x: "cat" if it is below 0, "dog" above."""
    described = description({"x": array_type([1])}, {"label": STRING_TYPE, "likely": dictionary_type(True)},
                            "label", "likely")
    return model(described, 400, _linear([[1.0]], [0.0]) + field(100, joined(1, ["cat", "dog"])))


def review():
    """A pipeline from counts of words to "bad" or "good", which is as likely as 0.5 + tree / 4."""
    counts = description({"words": dictionary_type(True)}, {"row": array_type([2])})
    vectorizer = model(counts, 603, field(1, joined(1, ["poor", "great"])))
    leaves = [field(2, node) + field(3, 6) + field(20, field(2, value)) for node, value in ((1, 0.75), (2, 0.25))]
    root = field(3, 3) + field(10, 1) + field(11, 0.5) + field(12, 1) + field(13, 2)  # row[1] > 0.5
    outputs = {"label": STRING_TYPE, "likely": dictionary_type(True)}
    trees = model(description({"row": array_type([2])}, outputs, "label", "likely"), 402,
                  field(1, joined(1, [root, *leaves]) + field(2, 1)) + field(100, joined(1, ["bad", "good"])))
    described = description({"words": dictionary_type(True)}, outputs, "label", "likely")
    return model(described, 200, field(1, joined(1, [vectorizer, trees])))


def detector():
    """A pipeline with one stage: the suppression of boxes that overlap better ones."""
    inputs = {"scores": array_type([3, 2]), "boxes": array_type([3, 4]),
              "iou": field(2, b"") + field(1000, 1), "conf": field(2, b"") + field(1000, 1)}
    outputs = {"confidence": array_type([]), "coordinates": array_type([])}
    body = (field(1, b"") + field(110, 0.5) + field(111, 0.25) + field(200, "scores") + field(201, "boxes")
            + field(202, "iou") + field(203, "conf") + field(210, "confidence") + field(211, "coordinates"))
    described = description(inputs, outputs)
    return model(described, 202, field(1, model(described, 610, body)))


def network():
    """A neural network from 3 numbers to the label and the softmax of twice the numbers."""
    def layer(name, x, y, kind, body):
        return field(1, field(1, name) + field(2, x) + field(3, y) + field(kind, body))

    outputs = {"label": STRING_TYPE, "likely": dictionary_type(True)}
    described = description({"x": array_type([3])}, outputs, "label", "likely")
    factor = varint(1 << 3 | 5) + struct.pack("<f", 2)
    layers = layer("twice", "x", "twice", 231, factor) + layer("softmax", "twice", "scores", 175, b"")
    return model(described, 403, layers + field(100, joined(1, ["a", "b", "c"])) + field(200, "scores"), version=1)


def _tensor_type(shape):
    return field(1, field(1, _MIL_FLOAT32) + field(2, len(shape))
                 + joined(3, (field(1, field(1, size)) for size in shape)))


def relu_of_image(color_space):
    """An image of 3 x 2 pixels in and out, and as an array."""
    shape = [1, 3 if color_space in (RGB, BGR) else 1, 2, 3]

    def named(name):
        return field(1, name) + field(2, _tensor_type(shape))

    def relu(x, y):
        return field(1, "relu") + field(2, field(1, "x") + field(2, field(1, field(1, x)))) + field(3, named(y))

    block = joined(2, ["again", "array"]) + joined(3, [relu("picture", "again"), relu("picture", "array")])
    function = field(1, named("picture")) + field(2, "CoreML6") + field(3, field(1, "CoreML6") + field(2, block))
    program = field(1, 1) + field(2, field(1, "main") + field(2, function))
    image = image_type(3, 2, color_space)
    described = description({"picture": image}, {"again": image, "array": array_type(shape, FLOAT32)})
    return model(described, 502, program, version=7)


ADD = """program(1.0)
{
    func main<ios16>(tensor<fp16, [2]> x, tensor<int32, [2]> y) {
            tensor<fp16, [2]> wide = cast(dtype = tensor<string, []>("fp16"), x = y)[name = tensor<string, []>("c")];
            tensor<fp16, [2]> z = add(x = x, y = wide)[name = tensor<string, []>("z")];
        } -> (z);
}
"""

_FLEXIBLE = """program(1.3)
{
    func main<ios18>(tensor<fp32, [?, 2]> x) [FlexibleShapeInformation = tuple<tuple<string, dict<string,
tensor<int32, [?]>>>, tuple<string, dict<string, %s>>>((("DefaultShapes", {{"x", [4, 2]}}), (%s)))] {
            tensor<fp32, [?, 2]> y = relu(x = x);
        } -> (y);
}
"""
RANGES = _FLEXIBLE % ("list<tensor<int32, [2]>, ?>", '"RangeDims", {{"x", [[3, 5], [2, 2]]}}')
ENUMERATED = _FLEXIBLE % ("dict<string, tensor<int32, [?]>>",
                          '"EnumeratedShapes", {{"a", {{"x", [1, 2]}}}, {"b", {{"x", [4, 2]}}}}')

COUNTER = """program(1.3)
{
    func main<ios18>(state<tensor<fp16, [2]>> total, tensor<fp16, [2]> x) {
            tensor<fp16, [2]> before = read_state(input = total)[name = string("r")];
            tensor<fp16, [2]> after = add(x = before, y = x)[name = string("a")];
            write_state(data = after, input = total)[name = string("w")];
            tensor<fp16, [2]> y = mul(x = after, y = fp16(0x1p+0))[name = string("y")];
        } -> (y);
}
"""


def write_compiled(folder, text, name="model.mlmodelc"):
    path = Path(folder, name)
    path.mkdir()
    (path / "model.mil").write_text(text, encoding="utf-8")
    return str(path)


def write(folder, data, name="model.mlmodel"):
    path = Path(folder, name)
    path.write_bytes(data)
    return str(path)
