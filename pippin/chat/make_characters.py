#!/usr/bin/env python3
"""Writes the tables in characters.cpp that utf8proc lacks, and characters.json, the digests that characters_test.cpp
compares, from Python's str methods for every code point.

    /usr/bin/python3 pippin/chat/make_characters.py      (Python 3.11: Unicode 14)
"""

import json
import pathlib
import textwrap
import unicodedata

HERE = pathlib.Path(__file__).parent
ALL = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
PROPERTIES = ["isalpha", "isalnum", "isdecimal", "isdigit", "isnumeric", "isspace", "isupper", "islower", "istitle", "isprintable"]
MAPPINGS = ["upper", "lower", "title", "capitalize", "swapcase", "casefold"]
# Digests per range of code points, so that a difference can be located.
PARTS = [0, 0x80, 0x250, 0x400, 0x1000, 0x2000, 0x3000, 0xA000, 0xB000, 0x10000, 0x20000, 0x110000]


def ranges(holds):
    found = []
    for character in filter(holds, ALL):
        code = ord(character)
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def is_ignorable(character):
    """Whether the final sigma rule skips the character: a letter before it counts, but it is not a letter itself."""
    return ("A" + character + "\u03a3").lower()[-1] == "\u03c2" != ("1" + character + "\u03a3").lower()[-1]


def tables():
    category = unicodedata.category
    yield "Range kUpper", ranges(lambda c: c.isupper() and category(c) != "Lu")
    yield "Range kLower", ranges(lambda c: c.islower() and category(c) != "Ll")
    yield "Range kDigits", ranges(lambda c: c.isdigit() and category(c) != "Nd")
    yield "Range kNumbers", ranges(lambda c: c.isnumeric() and category(c)[0] != "N")
    yield "Range kIgnorable", ranges(lambda c: is_ignorable(c) and category(c) not in ("Mn", "Me", "Cf", "Lm", "Sk"))
    for name in ["upper", "title"]:
        several = [(c, getattr(c, name)()) for c in ALL if len(getattr(c, name)()) > 1]
        yield f"Several k{name.capitalize()}Letters", [[ord(c), list(map(ord, text))] for c, text in several]


def spelled(entry):
    return "{" + ", ".join(spelled(part) for part in entry) + "}" if isinstance(entry, list) else f"0x{entry:X}"


def fnv(text):
    digest = 0x811C9DC5
    for byte in text.encode():
        digest = (digest ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{digest:08x}"


def digests(name, describe):
    """For each part: a line for every assigned code point that has a description."""
    result = []
    for first, end in zip(PARTS, PARTS[1:]):
        lines = [f"{ord(c):x} {describe(c)}\n" for c in ALL
                 if first <= ord(c) < end and unicodedata.category(c) != "Cn" and describe(c)]
        result.append(fnv("".join(lines)))
    return result


def main():
    assert unicodedata.unidata_version == "14.0.0"
    rows = []
    for head, entries in tables():
        rows.append(f"constexpr {head}[] = {{")
        rows += textwrap.wrap(", ".join(map(spelled, entries)), 100, initial_indent="    ", subsequent_indent="    ")
        rows.append("};")
    target = HERE / "characters.cpp"
    source = target.read_text()
    marks = "// By make_characters.py.\n", "// End of what make_characters.py writes.\n"
    begin, end = source.index(marks[0]) + len(marks[0]), source.index(marks[1])
    target.write_text(source[:begin] + "// clang-format off\n" + "\n".join(rows) + "\n// clang-format on\n" + source[end:])

    tests = {"parts": PARTS, "assigned": sum(ranges(lambda c: unicodedata.category(c) != "Cn"), [])}
    tests.update({name: digests(name, lambda c: "1" if getattr(c, name)() else "") for name in PROPERTIES})
    tests.update({name: digests(name, lambda c: getattr(c, name)() if getattr(c, name)() != c else "") for name in MAPPINGS})
    # In the middle of a word, the final sigma rule and str.title depend on the neighbours.
    tests["sigma"] = digests("sigma", lambda c: ("a" + c + "\u03a3" + c + "a").lower() + ("1" + c + "\u03a3").lower() + ("a\u03a3" + c).lower())
    tests["words"] = digests("words", lambda c: ("a" + c + "bC").title())
    lines = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in tests.items()]
    (HERE / "characters.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
