#!/usr/bin/env python3
"""Writes the table in unicode_blocks.cpp from Unicode's Blocks.txt (Debian: unicode-data).

    make_unicode_blocks.py [/usr/share/unicode/Blocks.txt]
"""

import pathlib
import re
import sys

BLOCKS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode/Blocks.txt")
TARGET = pathlib.Path(__file__).with_name("unicode_blocks.cpp")


def main():
    text = BLOCKS.read_text()
    version = re.search(r"Blocks-(\d+)", text)[1]
    rows = [f"    // Blocks.txt of Unicode {version}, by make_unicode_blocks.py"]
    for first, last, name in re.findall(r"^([0-9A-F]+)\.\.([0-9A-F]+); (.+)$", text, re.M):
        key = re.sub(r"[ _-]", "", name).lower()
        rows.append(f'    {{"{key}", 0x{int(first, 16):X}, 0x{int(last, 16):X}}},')
    source = TARGET.read_text()
    begin = source.index("kBlocks[] = {\n") + len("kBlocks[] = {\n")
    end = source.index("};", begin)
    TARGET.write_text(source[:begin] + "\n".join(rows) + "\n" + source[end:])


if __name__ == "__main__":
    main()
