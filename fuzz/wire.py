"""Core ML's protobuf messages, byte by byte."""
import struct


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    """A protobuf field: an int, or length-delimited content."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, str):
        content = content.encode()
    return varint(number << 3 | 2) + varint(len(content)) + content


def array_type(shape, extra=b""):
    return field(1, b"".join(varint(n) for n in shape)) + field(2, 65568) + extra


def feature(name, kind, content, optional=False):
    return field(1, name) + field(2, "about it") + field(
        3, field(kind, content) + (field(1000, 1) if optional else b""))


def size_range(lower, upper):
    return field(1, lower) + field(2, upper)


def description(inputs, outputs, states=()):
    return (b"".join(field(1, f) for f in inputs) + b"".join(field(10, f) for f in outputs) +
            b"".join(field(13, f) for f in states) +
            field(100, field(1, "short") + field(3, "author") + field(
                100, field(1, "key") + field(2, "value"))))


def number(index, value):
    return varint(index << 3 | 1) + struct.pack("<d", value)


def doubles(index, values):
    return field(index, struct.pack(f"<{len(values)}d", *values))


def translated(kind, inputs, outputs, content, more=b""):
    return field(1, 5) + field(2, description(inputs, outputs) + more) + field(kind, content)
