"""One finding of a check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.errors import Place
from harness.lists.checks.rules import RULES, Severity
from harness.lists.model import Line, Problem, Token
from harness.lists.source import Source, readable

__all__ = ["Finding", "find", "from_problems", "named"]

_MAX_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should look at. `code` is one of `RULES`.

    `subject` is what the finding is about in the words of the file, without any line number: together with
    code and file it is the key by which a baseline knows the finding again.
    """

    code: str
    place: Place
    message: str
    suggestion: str
    severity: Severity
    subject: str

    def __str__(self) -> str:
        severity = "" if self.severity == "error" else f" ({self.severity})"
        suggestion = f"; {self.suggestion}" if self.suggestion else ""
        return f"{self.place}: {self.code}{severity} {self.message}{suggestion}"


def find(code: str, place: Place, message: str, suggestion: str = "", *, subject: str) -> Finding:
    """A finding of the severity that its rule has."""
    severity = RULES[code].severity
    return Finding(code, place, _cut(message), _cut(suggestion), severity, _cut(subject))


def _cut(text: str) -> str:
    """A line of a list may have 16 kB, a sentence about it has not."""
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def named(line: Line, target: Token | None = None) -> str:
    """How a subject names a line, or one of its targets: with the prefix, in single blanks."""
    text = " ".join((target or line.test).text.split())
    return f"full:{line.prefix}/{text}" if line.prefix else text


def from_problems(problems: Iterable[Problem], source: Source) -> Iterator[Finding]:
    """What reading found, as findings about the text of the line on which it was."""
    for problem in problems:
        at = problem.place.line
        text = readable(source.lines[at - 1].text) if 0 < at <= len(source.lines) else ""
        subject = _cut(" ".join(text.split()))
        yield Finding(problem.code, problem.place, problem.message, problem.suggestion, problem.severity, subject)
