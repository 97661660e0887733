"""From the words of one line to the parts of the model, or to the problem that breaks the line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

from harness.errors import Place
from harness.lists.model import MARKERS, Line, Marker, MarkerName, Problem, Token
from harness.lists.words import Piece, cut

__all__ = ["LineParser"]

_L = TypeVar("_L", bound=Line)

_PREFIX = re.compile(r"full:([^/\s\[\]]+)/(?=[^\s/])")
_OPTION = re.compile(r"-([km])=?(.*)", re.DOTALL)
_MINUTES = re.compile(r"[0-9]{1,6}")


@dataclass
class LineParser:
    """The parts of one line, collected by `run`; `problems` says why it is broken, if it is.

    It stops at the first problem: what follows a broken piece cannot be told from it.
    """

    text: str
    place: Place
    prefix: Token | None = None
    _targets: list[Token] = field(default_factory=list)
    _options: list[Token] = field(default_factory=list)
    _selectors: dict[str, Token] = field(default_factory=dict)
    markers: list[Marker] = field(default_factory=list)
    comment: Token | None = None
    _comment_start: int = -1
    problems: list[Problem] = field(default_factory=list)
    _waiting: str = ""  # "k" or "m" while its value is still to come
    _start: int = -1
    _end: int = -1

    def run(self, alone: bool = False) -> None:
        """Read the line; `alone`: markers without a test."""
        for piece in cut(self.text):
            if piece.kind == "comment":
                self.comment = self._token(piece.text, piece.start)
                self._comment_start = piece.start
            elif piece.kind == "marker":
                self._add_marker(piece)
            elif piece.kind == "value":
                self._add_value(piece)
            elif piece.kind == "word" and not self.markers and not alone:
                self._add_word(piece)
            elif piece.kind != "comma":
                self._refuse(piece)
                return
            if self.problems:
                return
        self._finish(alone)

    def _finish(self, alone: bool) -> None:
        if self._waiting:
            place = self._token("", self._end).place
            self.report(
                "missing-value", place, f"-{self._waiting} has no expression", f'write -{self._waiting} "..."'
            )
        if self._start < 0 and self.markers and not alone:
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

    def _add_word(self, piece: Piece) -> None:
        text, start = piece.text, piece.start
        first = self._start < 0
        if self._waiting:
            self._selectors[self._waiting] = self._token(_unquoted(text), start + (text[:1] in "\"'"))
            self._waiting = ""
        elif first:
            text, start = self._take_prefix(text, start)
            self._targets.append(self._token(text, start))
        elif text.startswith("-"):
            self._add_option(piece)
        elif _path_like(text):
            self._targets.append(self._token(text, start))
        elif marker := _meant_marker(text, self.text[piece.end :]):
            place = self._token(text, start).place
            self.report("unknown-marker", place, f"unknown marker '{text}'", f"did you mean {marker}?")
        elif self._selectors and not self._options:
            place, expected = self._token(text, start).place, 'quote the whole expression: -k "a and b"'
            self.report("bare-word", place, f"'{text}' stands outside the expression", expected)
        else:
            (self._options or self._targets).append(self._token(text, start))
        self._start, self._end = (start if first else self._start), piece.end

    def _take_prefix(self, text: str, start: int) -> tuple[str, int]:
        if not text.startswith("full:"):
            return text, start
        found = _PREFIX.match(text)
        if found is None:
            place = self._token(text, start).place
            self.report(
                "bad-prefix", place, f"'{text}' names no stage head and test", "expected full:<head>/<test>"
            )
            return text, start
        self.prefix = self._token(found[1], start + len("full:"))
        return text[found.end() :], start + found.end()

    def _add_option(self, piece: Piece) -> None:
        found = _OPTION.fullmatch(piece.text) if not piece.text.startswith("--") else None
        if found is None:
            self._options.append(self._token(piece.text, piece.start))
        elif found[1] in self._selectors:
            place = self._token(piece.text, piece.start).place
            self.report("option-twice", place, f"a second -{found[1]}", "join both expressions with 'and'")
        elif found[2]:
            at = piece.start + found.start(2)
            self._selectors[found[1]] = self._token(_unquoted(found[2]), at + (found[2][0] in "\"'"))
        else:
            self._waiting = found[1]

    def _add_marker(self, piece: Piece) -> None:
        name: MarkerName = next(name for name in MARKERS if name == piece.text)
        token = self._token(name, piece.start)
        if any(marker.name == name for marker in self.markers):
            self.report("marker-twice", token.place, f"a second {name}", "keep one")
        self.markers.append(Marker(name, token))

    def _add_value(self, piece: Piece) -> None:
        marker, value = self.markers[-1], self._token(piece.text, piece.start)
        if marker.value is not None:
            self.report("text-after-marker", value.place, f"a second value of {marker.name}", "keep one")
        elif marker.name == "TIMEOUT" and not (_MINUTES.fullmatch(value.text) and int(value.text)):
            expected = "expected minutes from 1 to 999999: TIMEOUT (90)"
            self.report("bad-timeout", value.place, f"'{_short(value.text)}' is no number of minutes", expected)
        self.markers[-1] = Marker(marker.name, marker.token, value)

    def _refuse(self, piece: Piece) -> None:
        """Report a piece that cannot stand where it stands."""
        place, shown = self._token(piece.text, piece.start).place, _short(piece.text)
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
        elif self.markers and self._start < 0:
            message, expected = "a marker before the test", f"did you mean '{shown} {self.markers[0].name}'?"
            self.report("no-test", self.markers[0].token.place, message, expected)
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
        """Note a problem."""
        self.problems.append(Problem(code, place, message, suggestion))

    def _token(self, text: str, start: int) -> Token:
        return Token(text, Place(self.place.file, self.place.line, self.place.column + start))

    @property
    def test(self) -> Token | None:
        """The target with its arguments, None when the line has none."""
        return self._token(self.text[self._start : self._end], self._start) if self._start >= 0 else None

    def line(self, kind: type[_L], test: Token) -> _L:
        """The parts as a line of the model."""
        return kind(
            place=self.place,
            last_line=self.place.line,
            text=(self.text[: self._comment_start] if self.comment else self.text).strip(),
            prefix=self.prefix,
            test=test,
            targets=tuple(self._targets),
            keyword=self._selectors.get("k"),
            markexpr=self._selectors.get("m"),
            options=tuple(self._options),
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
