"""The normal form of one waiver's lines. What it says is never changed, only how it is spelt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from harness.lists.edits.document import Item, ending_of, text_of
from harness.lists.source import Source, readable
from harness.lists.words import cut

__all__ = ["normal_item", "normal_line", "stripped"]

_BLANKS = re.compile(r"[ \t]+")
# `test: value` or `marker: value` on one line, without quotes and comment.
_PLAIN_FIELD = re.compile(r"(\s*(?:-\s+)?(test|markers?):[ \t]+)([^\s'\"|>&*!%@`\[{#][^#]*)")


def normal_line(text: str) -> str:
    """A readable line of the text form with single blanks, `MARKER (value)`, and no blanks at its ends.

    Parameters, quoted arguments, comments and the commas between markers stay as they are written.
    """
    parts: list[str] = []
    after_comma = False
    for piece in cut(readable(text)):
        # Offsets are those of the readable text; the bytes are those of the line itself.
        raw = text[piece.start : piece.start + len(piece.text)]
        if piece.kind == "value":
            raw = f"({_BLANKS.sub(' ', raw)})"
        is_comma = piece.kind == "comma"
        if parts and not is_comma and (not after_comma or piece.kind == "comment"):
            parts.append(" ")
        parts.append(raw)
        after_comma = is_comma
    return "".join(parts)


def normal_item(item: Item, form: str) -> Item:
    """The same waiver in normal form; the item itself when it is, or when rewriting would change the waiver."""
    if item.waiver is None:
        return item
    if form == "text":
        line = item.lines[0]
        text = normal_line(text_of(line))
        lines: tuple[bytes, ...] = (text.encode("utf-8", "surrogateescape") + ending_of(line),)
    else:
        lines = tuple(_normal_yaml_line(line) for line in stripped(item.lines))
        if lines != item.lines and not _says_the_same(item, lines):
            lines = item.lines
    return replace(item, lines=lines, comments=stripped(item.comments))


def stripped(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    """The lines without blanks at their ends."""
    pairs = ((line, ending_of(line)) for line in lines)
    return tuple(line.removesuffix(ending).rstrip(b" \t") + ending for line, ending in pairs)


def _normal_yaml_line(line: bytes) -> bytes:
    found = _PLAIN_FIELD.fullmatch(text_of(line))
    if not found:
        return line
    # Markers alone are read as those of some test.
    value = normal_line(found[3]) if found[2] == "test" else normal_line(f"x {found[3]}").removeprefix("x ")
    return (found[1] + value).encode("utf-8", "surrogateescape") + ending_of(line)


def _says_the_same(item: Item, lines: tuple[bytes, ...]) -> bool:
    from harness.lists.waives_yaml import parse_waives_yaml

    before, after = (
        [
            (w.head, _BLANKS.sub(" ", w.test.text), w.reason, [(m.name, str(m.value or "")) for m in w.markers])
            for w in parse_waives_yaml(Source.of(b"".join(piece), "")).waivers
        ]
        for piece in (item.lines, lines)
    )
    return before == after
