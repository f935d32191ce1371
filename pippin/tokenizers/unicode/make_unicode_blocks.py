#!/usr/bin/env python3
"""Writes the table in unicode_blocks.cpp from Unicode's Blocks.txt (Debian: unicode-data).

    make_unicode_blocks.py [/usr/share/unicode/Blocks.txt]
"""

import pathlib
import re
import sys
import textwrap

BLOCKS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode/Blocks.txt")
TARGET = pathlib.Path(__file__).with_name("unicode_blocks.cpp")


def main():
    text = BLOCKS.read_text()
    version = re.search(r"Blocks-(\d+)", text)[1]
    words = []
    for first, last, name in re.findall(r"^([0-9A-F]+)\.\.([0-9A-F]+); (.+)$", text, re.M):
        words += [re.sub(r"[ _-]", "", name).lower(), f"{int(first, 16):X}", f"{int(last, 16):X}"]
    rows = textwrap.wrap(" ".join(words), 92)
    table = "".join(f'\n    "{row} "' for row in rows[:-1]) + f'\n    "{rows[-1]}"'
    source = TARGET.read_text()
    begin = source.index("kBlocks =") + len("kBlocks =")
    end = source.index(";", begin)
    source = re.sub(r"of Unicode \d+", f"of Unicode {version}", source[:begin]) + table + source[end:]
    TARGET.write_text(source)


if __name__ == "__main__":
    main()
