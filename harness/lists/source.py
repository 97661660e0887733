"""Reading a file people maintain: bounded, byte for byte recoverable, tolerant of how it was saved."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import Place, UsageError
from harness.lists.model import Problem

__all__ = ["RawLine", "Source", "clean_lines", "read_source", "readable"]

# Far above any list in use (the longest known waiver file has 62 kB); reading stays under 200 MB.
MAX_BYTES = 8 * 1024 * 1024
MAX_LINES = 50_000
MAX_LINE_BYTES = 16 * 1024

# What is no part of a line of text; U+0085, U+2028 and U+2029 are line breaks to YAML and to nobody else.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_UNDECODABLE = re.compile("[\ud800-\udfff]")
_CONFLICT = re.compile(r"(?:<{7}|>{7}|\|{7})(?: |$)|={7}$")


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line as it is on disk. `number` counts from 1; `body + ending` are its bytes."""

    number: int
    body: bytes
    ending: bytes

    @property
    def text(self) -> str:
        """The line without ending and BOM. An undecodable byte becomes a lone surrogate, to be restored."""
        body = self.body.removeprefix(codecs.BOM_UTF8) if self.number == 1 else self.body
        return body.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: its name as given, its bytes, its lines. The lines joined are the bytes."""

    file: str
    data: bytes = field(repr=False)
    lines: tuple[RawLine, ...] = field(repr=False)

    @classmethod
    def of(cls, data: bytes, file: str) -> Source:
        """Split bytes into lines at LF, CRLF and CR. Raises UsageError over the limits or for UTF-16."""
        if len(data) > MAX_BYTES:
            raise UsageError(f"over {MAX_BYTES >> 20} MiB, which no list is; give a list file", Place(file))
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise UsageError("is UTF-16; save it as UTF-8", Place(file))
        if data.count(b"\n") + data.count(b"\r") > MAX_LINES:
            raise UsageError(f"over {MAX_LINES} lines, which no list has; split it", Place(file))
        pieces = data.splitlines(keepends=True)
        return cls(file, data, tuple(_raw_line(i, piece) for i, piece in enumerate(pieces, 1)))


def _raw_line(number: int, piece: bytes) -> RawLine:
    body = piece.rstrip(b"\r\n")
    return RawLine(number, body, piece[len(body) :])


def read_source(path: str | os.PathLike[str]) -> Source:
    """Read a file. Raises UsageError when it is missing, unreadable or over the limits."""
    file = os.fspath(path)
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {cause}; give the path of a readable file", Place(file)) from error
    return Source.of(data, file)


def clean_lines(source: Source) -> tuple[list[str], list[Problem]]:
    """Every line as harmless text, same number of lines, same columns; and what had to be made harmless.

    A line that is no text of a list at all (too long, a merge conflict's marker) becomes empty.
    """
    lines: list[str] = []
    problems: list[Problem] = []
    if source.data.startswith(codecs.BOM_UTF8):
        problems.append(
            Problem(
                "byte-order-mark",
                Place(source.file, 1, 1),
                "the file starts with a byte order mark, which upstream reads as part of the first name",
                "save it as UTF-8 without BOM",
                "warning",
            )
        )
    for raw in source.lines:
        text, problem = _clean(raw, source.file)
        lines.append(text)
        if problem:
            problems.append(problem)
    return lines, problems


def _clean(raw: RawLine, file: str) -> tuple[str, Problem | None]:
    place = Place(file, raw.number, 1)
    if len(raw.body) > MAX_LINE_BYTES:
        return "", Problem(
            "line-too-long", place, f"line of {len(raw.body)} bytes", f"expected at most {MAX_LINE_BYTES}"
        )
    text = raw.text
    if _CONFLICT.match(text):
        return "", Problem(
            "conflict-marker", place, "marker of an unresolved merge", "resolve it and remove the marker"
        )
    if found := _CONTROL.search(text):
        shown = f"control character U+{ord(found[0]):04X}"
        place = place._replace(column=found.start() + 1)
        return readable(text), Problem("control-character", place, shown, "expected plain text", "warning")
    if found := _UNDECODABLE.search(text):
        shown = f"byte 0x{ord(found[0]) - 0xDC00:02X} is not UTF-8"
        place = place._replace(column=found.start() + 1)
        return readable(text), Problem("bad-encoding", place, shown, "save the file as UTF-8", "warning")
    return text, None


def readable(text: str) -> str:
    """The text with every character that is none for a person replaced, one for one."""
    return _UNDECODABLE.sub("\ufffd", _CONTROL.sub("\ufffd", text))
