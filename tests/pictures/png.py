"""A PNG made small: 256 colours, the rare ones replaced by their nearest. Standard library only."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_COLOURS = 256
_Colour = bytes  # red, green, blue


def shrink(png: bytes) -> bytes:
    """Return the picture of a PNG of 8 bits a channel without transparency, in a palette."""
    header = b"".join(data for kind, data in _chunks(png) if kind == b"IHDR")
    width, height, depth, kind = struct.unpack(">IIBB", header[:10])
    assert (depth, kind) == (8, 2), "expected eight bits for each of red, green and blue"
    packed = b"".join(data for kind, data in _chunks(png) if kind == b"IDAT")
    rows = list(_rows(zlib.decompress(packed), width * 3))
    pixels = [[row[at : at + 3] for at in range(0, len(row), 3)] for row in rows]
    counts = Counter(pixel for row in pixels for pixel in row)
    palette = [colour for colour, _ in counts.most_common(_COLOURS)]
    places = {colour: palette.index(_nearest(colour, palette)) for colour in counts}
    body = b"".join(b"\0" + bytes(places[pixel] for pixel in row) for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, data)
        for name, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", b"".join(palette)),
            (b"IDAT", zlib.compress(body, 9)),
            (b"IEND", b""),
        )
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rows(raw: bytes, size: int) -> Iterator[bytes]:
    """Undo the filters of the PNG specification, section 9."""
    above = bytes(size)
    for start in range(0, len(raw), size + 1):
        row = bytearray(raw[start + 1 : start + 1 + size])
        for at in range(size):
            left, corner = (row[at - 3], above[at - 3]) if at >= 3 else (0, 0)
            row[at] = (row[at] + _predicted(raw[start], left, above[at], corner)) & 255
        above = bytes(row)
        yield above


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    if kind == 4:
        guess = left + above - corner
        return min(
            (left, above, corner), key=lambda value: abs(guess - value)
        )  # the first one where two are equal
    return (0, left, above, (left + above) // 2)[kind]


def _nearest(colour: _Colour, palette: list[_Colour]) -> _Colour:
    return min(palette, key=lambda other: sum((a - b) ** 2 for a, b in zip(colour, other, strict=True)))
