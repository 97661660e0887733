"""One line of a list or waiver file: parsing and printing. Printing what was parsed and parsing it again
gives the same line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TypeVar

from harness.errors import Place
from harness.lists.model import MARKERS, Entry, Line, Marker, MarkerName, Problem, Token, Waiver
from harness.lists.reason import parse_reason
from harness.lists.words import Piece, cut

__all__ = ["format_line", "parse_entry", "parse_markers", "parse_waiver"]

_L = TypeVar("_L", bound=Line)

_PREFIX = re.compile(r"full:([^/\s\[\]]+)/(?=[^\s/])")
_OPTION = re.compile(r"-([km])=?(.*)", re.DOTALL)
_MINUTES = re.compile(r"[0-9]{1,6}")


def parse_entry(text: str, place: Place) -> tuple[Entry | None, list[Problem]]:
    """Read one test-list line that starts at `place`. None for an empty line, a comment and a broken line."""
    parser = _Parser(text, place)
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
    parser = _Parser(text, place)
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
    parser = _Parser(text, place)
    parser.run(alone=True)
    return ((), parser.problems) if parser.problems else (tuple(parser.markers), [])


def format_line(line: Line) -> str:
    """The line in its one normal form: single blanks, markers with a blank before `(`, the comment last."""
    parts = [(f"full:{line.prefix}/" if line.prefix else "") + line.test.text]
    parts += [m.name if m.value is None else f"{m.name} ({m.value})" for m in line.markers]
    if line.comment:
        parts.append(line.comment.text)
    return " ".join(parts)


@dataclass
class _Parser:
    """Collects the parts of one line; `problems` says why it is broken, if it is."""

    text: str
    place: Place
    prefix: Token | None = None
    targets: list[Token] = field(default_factory=list)
    options: list[Token] = field(default_factory=list)
    selectors: dict[str, Token] = field(default_factory=dict)
    markers: list[Marker] = field(default_factory=list)
    comment: Token | None = None
    comment_start: int = -1
    problems: list[Problem] = field(default_factory=list)
    waiting: str = ""  # "k" or "m" while its value is still to come
    start: int = -1
    end: int = -1

    def run(self, alone: bool = False) -> None:
        for piece in cut(self.text):
            if piece.kind == "comment":
                self.comment = self.token(piece.text, piece.start)
                self.comment_start = piece.start
            elif piece.kind == "marker":
                self.add_marker(piece)
            elif piece.kind == "value":
                self.add_value(piece)
            elif piece.kind == "word" and not self.markers and not alone:
                self.add_word(piece)
            elif piece.kind != "comma":
                self.refuse(piece)
                return
            if self.problems:
                return
        self.finish(alone)

    def finish(self, alone: bool) -> None:
        if self.waiting:
            place = self.token("", self.end).place
            self.report(
                "missing-value", place, f"-{self.waiting} has no expression", f'write -{self.waiting} "..."'
            )
        if self.start < 0 and self.markers and not alone:
            self.report(
                "no-test",
                self.markers[0].token.place,
                "a marker without a test",
                "start the line with a test",
            )
        timeout = next((m for m in self.markers if m.name == "TIMEOUT" and m.value is None), None)
        if timeout:
            self.report(
                "bad-timeout", timeout.token.place, "TIMEOUT has no value", "expected minutes: TIMEOUT (90)"
            )

    def add_word(self, piece: Piece) -> None:
        text, start = piece.text, piece.start
        first = self.start < 0
        if self.waiting:
            self.selectors[self.waiting] = self.token(_unquoted(text), start + (text[:1] in "\"'"))
            self.waiting = ""
        elif first:
            text, start = self.take_prefix(text, start)
            self.targets.append(self.token(text, start))
        elif text.startswith("-"):
            self.add_option(piece)
        elif _path_like(text):
            self.targets.append(self.token(text, start))
        elif marker := _meant_marker(text, self.text[piece.end :]):
            place = self.token(text, start).place
            self.report("unknown-marker", place, f"unknown marker '{text}'", f"did you mean {marker}?")
        else:
            (self.options if self.options else self.targets).append(self.token(text, start))
        self.start, self.end = (start if first else self.start), piece.end

    def take_prefix(self, text: str, start: int) -> tuple[str, int]:
        if not text.startswith("full:"):
            return text, start
        found = _PREFIX.match(text)
        if found is None:
            place = self.token(text, start).place
            self.report(
                "bad-prefix", place, f"'{text}' names no stage head and test", "expected full:<head>/<test>"
            )
            return text, start
        self.prefix = self.token(found[1], start + len("full:"))
        return text[found.end() :], start + found.end()

    def add_option(self, piece: Piece) -> None:
        found = _OPTION.fullmatch(piece.text) if not piece.text.startswith("--") else None
        if found is None:
            self.options.append(self.token(piece.text, piece.start))
        elif found[1] in self.selectors:
            place = self.token(piece.text, piece.start).place
            self.report("option-twice", place, f"a second -{found[1]}", "join both expressions with 'and'")
        elif found[2]:
            at = piece.start + found.start(2)
            self.selectors[found[1]] = self.token(_unquoted(found[2]), at + (found[2][0] in "\"'"))
        else:
            self.waiting = found[1]

    def add_marker(self, piece: Piece) -> None:
        name: MarkerName = next(name for name in MARKERS if name == piece.text)
        token = self.token(name, piece.start)
        if any(marker.name == name for marker in self.markers):
            self.report("marker-twice", token.place, f"a second {name}", "keep one")
        self.markers.append(Marker(name, token))

    def add_value(self, piece: Piece) -> None:
        marker, value = self.markers[-1], self.token(piece.text, piece.start)
        if marker.value is not None:
            self.report("text-after-marker", value.place, f"a second value of {marker.name}", "keep one")
        elif marker.name == "TIMEOUT" and not (_MINUTES.fullmatch(value.text) and int(value.text)):
            expected = "expected minutes from 1 to 999999: TIMEOUT (90)"
            self.report(
                "bad-timeout", value.place, f"'{_short(value.text)}' is no number of minutes", expected
            )
        self.markers[-1] = Marker(marker.name, marker.token, value)

    def refuse(self, piece: Piece) -> None:
        """Report a piece that cannot stand where it stands."""
        place, shown = self.token(piece.text, piece.start).place, _short(piece.text)
        if piece.kind == "open-bracket":
            self.report("open-bracket", place, "'[' is never closed", "close the parameters with ']'")
        elif piece.kind == "open-quote":
            self.report(
                "open-quote", place, f"the quote of {shown} is never closed", "close it before the next blank"
            )
        elif piece.kind == "open-parenthesis":
            self.report(
                "open-parenthesis", place, "'(' is never closed", f"did you mean {_short(piece.text + ')')}?"
            )
        elif marker := _close_marker(piece.text) or ("" if self.markers else ", ".join(MARKERS)):
            self.report("unknown-marker", place, f"unknown marker '{shown}'", f"did you mean {marker}?")
        elif self.markers[-1].value is None:
            rest = _short(self.text[piece.start :].strip())
            expected = f"did you mean {self.markers[-1].name} ({rest})?"
            self.report("reason-without-parentheses", place, f"'{rest}' stands outside parentheses", expected)
        else:
            self.report(
                "text-after-marker", place, f"'{shown}' after a marker", "expected a marker or '# comment'"
            )

    def report(self, code: str, place: Place, message: str, suggestion: str) -> None:
        self.problems.append(Problem(code, place, message, suggestion))

    def token(self, text: str, start: int) -> Token:
        return Token(text, Place(self.place.file, self.place.line, self.place.column + start))

    @property
    def test(self) -> Token | None:
        return self.token(self.text[self.start : self.end], self.start) if self.start >= 0 else None

    def line(self, kind: type[_L], test: Token) -> _L:
        return kind(
            place=self.place,
            last_line=self.place.line,
            text=(self.text[: self.comment_start] if self.comment else self.text).strip(),
            prefix=self.prefix,
            test=test,
            targets=tuple(self.targets),
            keyword=self.selectors.get("k"),
            markexpr=self.selectors.get("m"),
            options=tuple(self.options),
            markers=tuple(self.markers),
            comment=self.comment,
        )


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return re.sub(r'\\(["\\$`])', r"\1", inner) if text[0] == '"' else inner
    return text


def _path_like(text: str) -> bool:
    return "/" in text or "::" in text or text.endswith(".py")


def _meant_marker(text: str, rest: str) -> str:
    """The marker that `text` seems to misspell, several when it could be any; "" for an ordinary word."""
    if text.startswith("("):
        return f"SKIP {_short(text + rest)}"
    spelt_like_one = text.isupper() or "(" in text or rest.lstrip().startswith("(")
    return _close_marker(text) or (", ".join(MARKERS) if spelt_like_one else "")


def _close_marker(text: str) -> str:
    from difflib import get_close_matches  # paid for only when something is wrong

    word = text.partition("(")[0].rstrip(":,").upper()
    return next(iter(get_close_matches(word, MARKERS, n=1, cutoff=0.6)), "")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
