"""What a list or waiver file says, with the place of every token. Plain data: no reading, no matching."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple, get_args

from harness.errors import Place

__all__ = ["MARKERS", "Entry", "Line", "Marker", "MarkerName", "Problem", "Reason", "Token", "Waiver"]

MarkerName = Literal["SKIP", "XFAIL", "UNSTABLE", "TIMEOUT", "ISOLATION"]
MARKERS: tuple[MarkerName, ...] = get_args(MarkerName)


class Token(NamedTuple):
    """A piece of a file as it is written there, and where it starts."""

    text: str
    place: Place

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Problem:
    """Something a person should repair.

    `code` is a stable kebab-case name, `message` says what is wrong, `suggestion` what is expected instead
    (may be empty). A warning does not change what is read; an error means that this piece was not read.
    """

    code: str
    place: Place
    message: str
    suggestion: str = ""
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.place}: {self.code} {self.message}" + (f"; {self.suggestion}" if self.suggestion else "")


@dataclass(frozen=True, slots=True)
class Marker:
    """`SKIP (why)`, `TIMEOUT (90)`, `ISOLATION`. `value` is the text in parentheses, None without."""

    name: MarkerName
    token: Token
    value: Token | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a test is waived. `text` is all that stands in the parentheses; the rest is read from it.

    `bug` is the URL as written, `until` the last day on which the waiver holds, `note` all that
    is no known field.
    """

    text: str = ""
    bug: str = ""
    owner: str = ""
    until: date | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one line of any list says: `[full:<prefix>/]test [arguments] [markers] [# comment]`.

    `test` is the target with its arguments exactly as written, without the prefix; it is what upstream calls
    the name. `targets` are its paths and node ids, `keyword` and `markexpr` the values of `-k` and `-m`,
    `options` every other option word. `prefix` is the text between `full:` and the first slash.
    `text` is the whole piece as written, without the comment; for the YAML form of waivers, the line that
    says the same. `last_line` is the file line on which the piece ends: `place.line`, save in YAML.
    """

    place: Place
    last_line: int
    text: str
    prefix: Token | None = None
    test: Token
    targets: tuple[Token, ...]
    keyword: Token | None = None
    markexpr: Token | None = None
    options: tuple[Token, ...] = ()
    markers: tuple[Marker, ...] = ()
    comment: Token | None = None

    @property
    def has_arguments(self) -> bool:
        """Whether anything but paths and node ids narrows what runs."""
        return bool(self.keyword or self.markexpr or self.options)

    @property
    def head(self) -> str:
        """The stage-name head this line is limited to, "" when it holds everywhere."""
        return self.prefix.text if self.prefix else ""

    @property
    def isolated(self) -> bool:
        """Whether the test wants a process of its own."""
        return self.marker("ISOLATION") is not None

    @property
    def timeout(self) -> int | None:
        """Seconds this line allows the test, None when it does not say."""
        found = self.marker("TIMEOUT")
        return int(found.value.text) * 60 if found and found.value else None

    def marker(self, name: MarkerName) -> Marker | None:
        """The marker of this name, if the line has it."""
        return next((marker for marker in self.markers if marker.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Line):
    """A line of a test list: what to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver(Line):
    """A line of a waiver file: which test, where, what outcome (its markers), why, until when."""

    reason: Reason = Reason()
