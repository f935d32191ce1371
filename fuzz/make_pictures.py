#!/usr/bin/env python3
"""Writes the JPEG and BMP files of fuzz/corpus/image: python3 fuzz/make_pictures.py (needs Pillow).

The bitmaps show the same picture as the PNGs there: three columns, two rows."""
import io
import pathlib
import struct

from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "corpus" / "image"

COLORS = [[(255, 0, 1), (2, 128, 3), (4, 5, 250)], [(6, 7, 8), (9, 10, 11), (12, 13, 14)]]


def bmp(bits, rows, palette=(), header=40, compression=0, from_top=False, masks=()):
    """`rows`: the bytes of each row from the top, without padding."""
    rows = [row + b"\0" * (-len(row) % 4) for row in rows]
    if not from_top:
        rows.reverse()
    height = -len(rows) if from_top else len(rows)
    if header == 12:
        info = struct.pack("<IHHHH", 12, 3, 2, 1, bits)
        colors = b"".join(bytes((b, g, r)) for r, g, b in palette)
    else:
        info = struct.pack("<IiiHHIIiiII", header, 3, height, 1, bits, compression, 0, 2835, 2835, len(palette), 0)
        extra = b"".join(struct.pack("<I", mask) for mask in masks)
        info += extra if header == 40 else extra + b"\0" * (header - 40 - len(extra))
        colors = b"".join(bytes((b, g, r, 0)) for r, g, b in palette)
    offset = 14 + len(info) + len(colors)
    pixels = b"".join(rows)
    return struct.pack("<2sIHHI", b"BM", offset + len(pixels), 0, 0, offset) + info + colors + pixels


def bgr(row):
    return b"".join(bytes((b, g, r)) for r, g, b in row)


def bgra(row, alpha):
    return b"".join(bytes((b, g, r, alpha)) for r, g, b in row)


def packed565(row):
    return b"".join(struct.pack("<H", r >> 3 << 11 | g >> 2 << 5 | b >> 3) for r, g, b in row)


def jpeg(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95, **options)
    return out.getvalue()


# Two flat halves of 16 columns, so that JPEG's loss stays below the tests' tolerance.
halves = Image.new("RGB", (32, 16), (250, 20, 30))
halves.paste((20, 200, 90), (16, 0, 32, 16))
exif = Image.Exif()
exif[0x0112] = 6  # rotated by 90 degrees
SIX = [color for row in COLORS for color in row]
MASKS_565 = (0xF800, 0x07E0, 0x001F)
MASKS_8888 = (0xFF0000, 0x00FF00, 0x0000FF, 0xFF000000)

PICTURES = {
    "color.jpg": jpeg(halves, subsampling=0),
    "progressive.jpg": jpeg(halves, subsampling=2, progressive=True),
    "turned.jpg": jpeg(halves, subsampling=0, exif=exif),
    "gray.jpg": jpeg(halves.convert("L")),
    "cmyk.jpg": jpeg(halves.convert("CMYK")),
    "bits24.bmp": bmp(24, [bgr(row) for row in COLORS]),
    "from_top.bmp": bmp(24, [bgr(row) for row in COLORS], from_top=True),
    "core.bmp": bmp(24, [bgr(row) for row in COLORS], header=12),
    "bits32.bmp": bmp(32, [bgra(row, 0) for row in COLORS]),
    "opaque.bmp": bmp(32, [bgra(row, 255) for row in COLORS], header=124, compression=3, masks=MASKS_8888),
    "transparent.bmp": bmp(32, [bgra(row, 128) for row in COLORS], header=124, compression=3, masks=MASKS_8888),
    "palette8.bmp": bmp(8, [b"\0\1\2", b"\3\4\5"], SIX),
    "palette4.bmp": bmp(4, [b"\x01\x20", b"\x34\x50"], SIX),
    "gray1.bmp": bmp(1, [b"\x40", b"\xa0"], [(0, 0, 0), (255, 255, 255)]),
    "bits565.bmp": bmp(16, [packed565(row) for row in COLORS], compression=3, masks=MASKS_565),
    "runs.bmp": bmp(8, [b"\3\0\0\0", b"\3\1\0\1"], SIX, compression=1),
}

for name, content in PICTURES.items():
    (FOLDER / name).write_bytes(content)
print(f"{len(PICTURES)} pictures")
