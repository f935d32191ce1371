#!/usr/bin/env python3
"""Writes html_entities.inc: HTML's named characters, and numbers that map to other characters, from html.unescape in
Python's library.

    python3 pippin/chat/make_html_entities.py
"""

import html
import html.entities
import pathlib
import unicodedata

TARGET = pathlib.Path(__file__).with_name("html_entities.inc")
WIDTH = 110


def spelled(text):
    """Text for a string literal: printable characters unchanged, others as octal bytes."""
    seen = text.isprintable() and not set(text) & set("\"\\ ") and not any(map(unicodedata.combining, text))
    return text if seen else "".join(f"\\{byte:03o}" for byte in text.encode())


def rows(entries):
    row = ""
    for entry in entries:
        if len(row) + len(entry) > WIDTH:
            yield row
            row = ""
        row += entry
    yield row


def main():
    names = html.entities.html5
    # Names that do not need ";" are stored without it.
    pairs = [(name, text) for name, text in sorted(names.items()) if not (name.endswith(";") and names.get(name[:-1]) == text)]
    lines = ["// By make_html_entities.py.", "// clang-format off", "constexpr std::string_view kNames ="]
    lines += [f'    "{row}"' for row in rows(f"{name}={spelled(text)} " for name, text in pairs)]
    lines[-1] += ";"
    lines.append("constexpr Number kReplacedNumbers[] = {")
    lines += ["    " + row for row in rows(f"{{0x{number:X}, 0x{ord(text):X}}}, " for number, text in sorted(html._invalid_charrefs.items()))]
    lines += ["};", "// clang-format on"]
    TARGET.write_text("".join(line.rstrip(" ") + "\n" for line in lines))


if __name__ == "__main__":
    main()
