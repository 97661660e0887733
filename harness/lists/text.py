"""Reading the line-by-line forms: flat test lists and `waives.txt`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from harness.errors import Place
from harness.lists.lines import parse_entry, parse_waiver
from harness.lists.model import Entry, Line, Problem, Waiver
from harness.lists.source import Source, clean_lines, read_source

__all__ = ["TestList", "WaiverFile", "parse_test_list", "parse_waives_text", "read_test_list"]

_L = TypeVar("_L", bound=Line)

# Upstream renders the text form as a mako template first. Nothing of a list is ever run here.
_TEMPLATE = re.compile(r"\$\{|^\s*%(?!%)|</?%")


@dataclass(frozen=True, slots=True)
class TestList:
    """A flat list: one entry a line. `source` keeps every byte."""

    __test__ = False  # not a class of tests, whatever pytest thinks of the name

    source: Source = field(repr=False)
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def file(self) -> str:
        """The file's name as it was given."""
        return self.source.file


@dataclass(frozen=True, slots=True)
class WaiverFile:
    """A waiver file of either form. `source` keeps every byte; a broken line is in `problems` only."""

    source: Source = field(repr=False)
    waivers: tuple[Waiver, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def file(self) -> str:
        """The file's name as it was given."""
        return self.source.file


def read_test_list(path: str | os.PathLike[str]) -> TestList:
    """Read a flat `.txt` list. Raises UsageError when the file cannot be read at all."""
    return parse_test_list(read_source(path))


def parse_test_list(source: Source) -> TestList:
    """Read a flat list from a source. Never raises."""
    entries, problems = _parse(source, parse_entry)
    return TestList(source, entries, problems)


def parse_waives_text(source: Source) -> WaiverFile:
    """Read `waives.txt` from a source. Never raises."""
    waivers, problems = _parse(source, parse_waiver)
    return WaiverFile(source, waivers, problems)


def _parse(
    source: Source, parse: Callable[[str, Place], tuple[_L | None, list[Problem]]]
) -> tuple[tuple[_L, ...], tuple[Problem, ...]]:
    lines, problems = clean_lines(source)
    found: list[_L] = []
    may_be_template = b"%" in source.data or b"${" in source.data
    for number, text in enumerate(lines, 1):
        place = Place(source.file, number, 1)
        if may_be_template and not text.lstrip().startswith("#") and (template := _TEMPLATE.search(text)):
            place = place._replace(column=template.start() + 1)
            problems.append(
                Problem(
                    "template-syntax",
                    place,
                    f"'{template[0].strip()}' is mako, which is never run",
                    "write it out",
                )
            )
            continue
        line, more = parse(text, place)
        problems += more
        if line:
            found.append(line)
    return tuple(found), tuple(sorted(problems, key=lambda problem: problem.place))
