"""Cutting one line of a list into words. The only place that knows brackets, quotes and parentheses.

A word ends at white space, but a parameter list `[...]` and a quoted argument may hold some.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

__all__ = ["Piece", "cut"]

_Kind = Literal["word", "marker", "value", "comma", "comment", "open-bracket", "open-quote", "open-parenthesis"]

_SPACE = re.compile(r"\s*")
_MARKER = re.compile(r"(?:SKIP|XFAIL|UNSTABLE|TIMEOUT|ISOLATION)(?=[\s(,#]|$)")
_QUOTED = re.compile(r"""(?:-[km]=?|--[\w-]+=)?(?:"(?:[^"\\]|\\.)*"|'[^']*')(?=\s|$)""")
_QUOTE_OPENS = re.compile(r"""(?:-[km]=?|--[\w-]+=)?["']""")
_WORD = re.compile(r"\S+")
_BRACKET_ENDS = re.compile(r"\](?=\s|$)")
_PARENTHESIS = re.compile(r"[()]")


class Piece(NamedTuple):
    """`start` and `end` are offsets in the line. The kinds `open-...` never end: `end` is the line's."""

    kind: _Kind
    text: str
    start: int
    end: int


def cut(line: str) -> Iterator[Piece]:
    """Yield the words up to the first marker, then markers with their values, then a comment.

    After a marker, what is neither marker, value, comma nor comment comes as words again.
    """
    at = 0
    after_marker = False
    while True:
        at = _skip_space(line, at)
        if at == len(line):
            return
        piece = _after_marker(line, at) if after_marker else None
        piece = piece or _next(line, at)
        yield piece
        at = piece.end
        after_marker = after_marker or piece.kind == "marker"


def _skip_space(line: str, at: int) -> int:
    space = _SPACE.match(line, at)
    assert space is not None
    return space.end()


def _next(line: str, at: int) -> Piece:
    if line[at] == "#":
        return Piece("comment", line[at:].rstrip(), at, len(line))
    if found := _MARKER.match(line, at):
        return Piece("marker", found[0], at, found.end())
    if found := _QUOTED.match(line, at):
        return Piece("word", found[0], at, found.end())
    if _QUOTE_OPENS.match(line, at):
        return Piece("open-quote", line[at:].rstrip(), at, len(line))
    return _word(line, at)


def _word(line: str, at: int) -> Piece:
    found = _WORD.match(line, at)
    assert found is not None  # white space was skipped and the line has not ended
    word, end = found[0], found.end()
    opens = word.find("[", max(word.find("::"), 0))
    if "::" not in word or opens < 0 or word.endswith("]") or word.count("[") <= word.count("]"):
        return Piece("word", word, at, end)
    closing = _BRACKET_ENDS.search(line, end)
    if closing is None:
        return Piece("open-bracket", line[at + opens :].rstrip(), at + opens, len(line))
    return Piece("word", line[at : closing.end()], at, closing.end())


def _after_marker(line: str, at: int) -> Piece | None:
    if line[at] == ",":
        return Piece("comma", ",", at, at + 1)
    return _parenthesized(line, at) if line[at] == "(" else None


def _parenthesized(line: str, at: int) -> Piece:
    depth = 0
    for found in _PARENTHESIS.finditer(line, at):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            inner = line[at + 1 : found.start()]
            start = at + 1 + len(inner) - len(inner.lstrip())
            return Piece("value", inner.strip(), start, found.end())
    return Piece("open-parenthesis", line[at:].rstrip(), at, len(line))
