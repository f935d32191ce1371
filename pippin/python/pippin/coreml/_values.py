"""Converts values between Core ML's Python interface and pippin.Model.

Features are the dicts of pippin.Model.features().
"""

import numpy as np


def _is_picture(value):
    return hasattr(value, "mode") and hasattr(value, "tobytes") and hasattr(value, "convert")


def to_input(value):
    """Converts a value for pippin.Model.predict()."""
    if isinstance(value, bytes):
        return value.decode()
    if _is_picture(value) and value.mode == "F":  # a gray image of float16 pixels; other images have bytes
        return np.asarray(value, np.float32).astype(np.float16)[None, None]
    return value


def _to_picture(pixels, feature):
    from PIL import Image  # type: ignore[import]

    planes = np.asarray(pixels)[0]  # [channels, height, width]
    if feature["color_space"] == "grayscale_float16":
        return Image.fromarray(planes[0].astype(np.float32), "F")
    if feature["color_space"] == "grayscale":
        return Image.fromarray(planes[0], "L")
    if feature["color_space"] == "bgr":
        planes = planes[::-1]
    return Image.fromarray(np.ascontiguousarray(planes.transpose(1, 2, 0)), "RGB").convert("RGBA")


def wide(array):
    """float16 as float32, which coremltools' users expect."""
    return array.astype(np.float32) if array.dtype == np.float16 else array


def to_output(value, feature):
    """Converts a result of pippin.Model.predict() for callers of predict()."""
    kind = feature["kind"]
    if kind == "multiarray":
        return wide(value)
    if kind == "image":
        return _to_picture(value, feature)
    if kind == "int64":
        return int(value.reshape(-1)[0])
    if kind == "double":
        return float(value.reshape(-1)[0])
    return value  # a text, a dict


def shape_fault(value, feature):
    """Core ML's message for an array whose shape does not fit; None if it does."""
    shape = np.shape(value)
    if feature["kind"] != "multiarray" or shape == ():
        return None
    given = " x ".join(map(str, shape))
    if feature["enumerated_shapes"]:
        if shape in feature["enumerated_shapes"]:
            return None
        return f"MultiArray Shape ({given}) was not in enumerated set of allowed shapes"
    if feature["ranges"]:
        if len(shape) != len(feature["ranges"]):
            return f"MultiArray shape ({given}) has {len(shape)} dimensions, not {len(feature['ranges'])}"
        for axis, (size, (lower, upper)) in enumerate(zip(shape, feature["ranges"])):
            if size < lower or 0 <= upper < size:
                allowed = f"{lower}..{'' if upper < 0 else upper}"
                return f"Size ({size}) of dimension ({axis}) is not in allowed range ({allowed})"
        return None
    if not feature["shape"] or shape == feature["shape"]:
        return None
    declared = " x ".join(map(str, feature["shape"]))
    return (f"MultiArray shape ({given}) does not match the shape ({declared}) specified in the model "
            "description")
