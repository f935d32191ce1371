"""The oldest version of Core ML that a serialized model needs, derived from the message itself."""

from .._errors import InvalidFileError, UnsupportedError

# Fields of Model, and the versions that introduced the smaller kinds of models.
_VERSION, _DESCRIPTION, _PROGRAM = 1, 2, 502
_PIPELINES = {200: 1, 201: 1, 202: 0}  # how often the pipeline is wrapped
_KINDS = {300: 1, 400: 1, 610: 3}
_OPSETS = {"CoreML5": 6, "CoreML6": 7, "CoreML7": 8, "CoreML8": 9, "CoreML9": 10}
_ELEMENTS = {65552: 7, 131080: 10}  # float16, int8 as inputs and outputs
_GRAYSCALE_FLOAT16 = 40


def _varint(data, at):
    result = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        result |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return result, at
    raise InvalidFileError(f"the model ends within a number, at byte {at}")


def _fields(data):
    """(number, value, bytes of the whole field); the value is a number, or bytes."""
    at = 0
    while at < len(data):
        begin = at
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 in (1, 2, 5):
            size = 8 if key & 7 == 1 else 4
            if key & 7 == 2:
                size, at = _varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise InvalidFileError(f"no field of a message begins at byte {begin}")
        if at > len(data):
            raise InvalidFileError(f"the field at byte {begin} needs {at - len(data)} bytes more")
        yield key >> 3, value, data[begin:at]


def _all(data, *path):
    """The values at the end of a path of field numbers."""
    found = [data]
    for number in path:
        found = [value for one in found for which, value, _ in _fields(one) if which == number]
    return found


def _features_need(description):
    needs = [1]
    for place in (1, 10):
        needs += [_ELEMENTS.get(one, 1) for one in _all(description, place, 3, 5, 2)]
        needs += [7 for one in _all(description, place, 3, 4, 3) if one == _GRAYSCALE_FLOAT16]
    if _all(description, 13) or _all(description, 20):  # states, several functions
        needs.append(9)
    return max(needs)


def least_version(data):
    """Raises UnsupportedError for a kind of model that Pippin does not know."""
    needs = [_features_need(one) for one in _all(data, _DESCRIPTION)]
    for number, value, _ in _fields(data):
        if number == _PROGRAM:
            opsets = [one.decode() for one in _all(value, 2, 2, 2)]
            needs += [6, *(_OPSETS.get(one, 10) for one in opsets)]
        elif number in _PIPELINES:
            needs += map(least_version, _all(value, *[1] * _PIPELINES[number], 1))
        elif number in _KINDS:
            needs.append(_KINDS[number])
        elif number >= 200:
            raise UnsupportedError(f"the version that a model of the kind {number} needs is not known")
    return max(needs, default=1)


def with_least_version(data):
    """The same model with another version."""
    version = least_version(data)
    rest = b"".join(whole for number, _, whole in _fields(data) if number != _VERSION)
    return bytes([_VERSION << 3, version]) + rest
