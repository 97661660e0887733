"""One line of a list or waiver file: parsing and printing. Printing what was parsed and parsing it again
gives the same line."""

from __future__ import annotations

import re
from dataclasses import replace

from harness.errors import Place
from harness.lists.model import MARKERS, Entry, Line, Marker, Problem, Token, Waiver
from harness.lists.parser import LineParser
from harness.lists.reason import parse_reason

__all__ = ["format_line", "parse_entry", "parse_markers", "parse_waiver"]

# One word that is a path or an id, and nothing more: what most lines of a list are.
_PLAIN = re.compile(r"(?!full:)[\w./][\w./:-]*(?:\[[\w./:=-]*\])?", re.ASCII)


def parse_entry(text: str, place: Place) -> tuple[Entry | None, list[Problem]]:
    """Read one test-list line that starts at `place`. None for an empty line, a comment and a broken line."""
    if _PLAIN.fullmatch(text) and text not in MARKERS:  # what the parser would return: long lists are plain
        test = Token(text, place)
        return Entry(place=place, last_line=place.line, text=text, test=test, targets=(test,)), []
    parser = LineParser(text, place)
    parser.run()
    if parser.prefix:
        parser.report(
            "prefix-in-list",
            parser.prefix.place,
            "a list entry has a prefix",
            f"remove 'full:{parser.prefix}/'",
        )
    if parser.test is None or parser.problems:
        return None, parser.problems
    return parser.line(Entry, parser.test), []


def parse_waiver(text: str, place: Place) -> tuple[Waiver | None, list[Problem]]:
    """Read one waiver line that starts at `place`. None for an empty line, a comment and a broken line.

    A reason with an unreadable field is a problem of its own; the waiver still holds.
    """
    parser = LineParser(text, place)
    parser.run()
    if parser.test and not parser.markers and not parser.problems:
        parser.report(
            "no-marker",
            parser.test.place,
            "nothing says what is waived",
            "add e.g. 'SKIP (https://nvbugs/...)'",
        )
    if parser.test is None or parser.problems:
        return None, parser.problems
    reason, problems = parse_reason(
        next((m.value for m in parser.markers if m.value and m.name != "TIMEOUT"), None)
    )
    return replace(parser.line(Waiver, parser.test), reason=reason), problems


def parse_markers(text: str, place: Place) -> tuple[tuple[Marker, ...], list[Problem]]:
    """Read markers alone, as `XFAIL (why), TIMEOUT (90)`. None of them when one is broken."""
    parser = LineParser(text, place)
    parser.run(alone=True)
    return ((), parser.problems) if parser.problems else (tuple(parser.markers), [])


def format_line(line: Line) -> str:
    """The line in its one normal form: single blanks, markers with a blank before `(`, the comment last."""
    parts = [(f"full:{line.prefix}/" if line.prefix else "") + line.test.text]
    parts += [m.name if m.value is None else f"{m.name} ({m.value})" for m in line.markers]
    if line.comment:
        parts.append(line.comment.text)
    return " ".join(parts)
