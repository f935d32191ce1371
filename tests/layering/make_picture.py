#!/usr/bin/env python3
"""Draws docs/architecture.svg: the folders of pippin/ and their rooms, ordered by includes.

    make_picture.py ROOT            writes the picture
    make_picture.py ROOT --check    status 1 if the picture is out of date

A folder is drawn above all folders that it includes; lines that others imply are left out. Tests are ignored.
"""

import math
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"pippin/([^"]+)"', re.M)
WIDTH, ROW, BOX, LINE = 1000, 96, 116, 15


def is_test(path):
    return path.stem.endswith(("_test", "testing", "_testing_main", "_benchmark")) or path.stem == "fake_model"


def includes_of(root):
    """Folder -> the folders that it includes, and folder -> its rooms -> the rooms that they include."""
    folders, rooms = {}, {}
    for path in sorted((root / "pippin").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".inc", ".cu", ".cuh"} or is_test(path):
            continue
        parts = path.relative_to(root / "pippin").parts
        room = parts[1] if len(parts) > 2 else ""
        folders.setdefault(parts[0], set())
        below = rooms.setdefault(parts[0], {}).setdefault(room, set())
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            to = target.split("/")
            if to[0] != parts[0]:
                folders[parts[0]].add(to[0])
            elif (to[1] if len(to) > 2 else "") != room and not (room == "" and path.suffix == ".cpp"):
                below.add(to[1] if len(to) > 2 else "")
    return folders, rooms


def levels_of(below):
    """The length of the longest path down."""
    levels = {}

    def level(name):
        if name not in levels:
            levels[name] = max((level(other) + 1 for other in below[name]), default=0)
        return levels[name]

    for name in below:
        level(name)
    return levels


def reduced(below):
    """Without the lines that others imply."""
    def reach(name):
        return {other for first in below[name] for other in {first} | reach(first)}

    return {name: {other for other in others if not any(other in reach(third) for third in others)}
            for name, others in below.items()}


def layout(below):
    """Folder -> (x, y) of its box, directly below the first folder that includes it; and the height of the picture."""
    above = {name: {other for other in below if name in below[other]} for name in below}
    depths = levels_of(above)
    levels = {name: max(depths.values()) - depth for name, depth in depths.items()}
    rows = [sorted(name for name in below if levels[name] == level) for level in range(max(levels.values()) + 1)]
    places = {}
    for level, row in enumerate(rows):
        gap = WIDTH / len(row)
        if level:  # above the folders that it includes
            row.sort(key=lambda name: (math.fsum(places[o][0] for o in below[name]) / max(1, len(below[name])), name))
        for i, name in enumerate(row):
            places[name] = (gap * (i + 0.5), (len(rows) - level - 0.5) * ROW)
    return places, len(rows) * ROW


def picture(root):
    folders, rooms = includes_of(root)
    below = reduced(folders)
    places, height = layout(below)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
             'font-family="sans-serif" font-size="13" text-anchor="middle">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    for name in sorted(below):
        for other in sorted(below[name]):
            (x, y), (u, v) = places[name], places[other]
            lines.append(f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}" stroke="#9aa5b1"/>')
    for name, (x, y) in sorted(places.items()):
        inner = levels_of({room: others for room, others in rooms[name].items()})
        names = sorted((room for room in inner if room), key=lambda room: (-inner[room], room))
        shown = [" ".join(names[i:i + 3]) for i in range(0, len(names), 3)]
        high = 24 + LINE * len(shown)
        wide = max(BOX, 6.2 * max((len(row) for row in shown), default=0) + 12)
        lines.append(f'<rect x="{x - wide / 2:.0f}" y="{y - high / 2:.0f}" width="{wide:.0f}" height="{high}" rx="5" '
                     'fill="#eef3f8" stroke="#52667a"/>')
        top = y - high / 2 + 17
        lines.append(f'<text x="{x:.0f}" y="{top:.0f}" font-weight="bold" fill="#1f2933">{name}</text>')
        for i, row in enumerate(shown):
            lines.append(f'<text x="{x:.0f}" y="{top + LINE * (i + 1):.0f}" font-size="11" fill="#3e4c59">{row}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    root = Path(sys.argv[1])
    target = root / "docs" / "architecture.svg"
    drawn = picture(root)
    if sys.argv[2:]:
        if not target.is_file() or target.read_text(encoding="utf-8") != drawn:
            print("docs/architecture.svg is not what the includes say: python3 tests/layering/make_picture.py .")
            return 1
        return 0
    target.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
