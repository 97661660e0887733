"""`-k` expressions that no known test fulfils."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from harness.lists.checks.finding import Finding, find, named
from harness.lists.expression import ExpressionError, evaluate
from harness.lists.known import KnownTests, TestFile
from harness.lists.model import Line
from harness.lists.nodeid import NodeId, normalized

__all__ = ["check_expressions", "fulfils"]

_WORD = re.compile(r"[()]|[\w:+\-.\[\]\\/]+")
_PLAIN = re.compile(r"(?:\s|[()]|[\w:+\-.\[\]\\/])*")  # without `=` and `,`, which stand in marks' arguments alone
# Far above any list: a hostile one shall not cost minutes.
_MAX_TOKENS = 200
_MAX_EXPRESSIONS = 1000
_MAX_NAMES = 5000


def check_expressions(lines: Iterable[Line], known: KnownTests | None) -> Iterator[Finding]:
    """Check every `-k` whose tests are all known. Names are compared, marks are not."""
    if known is None:
        return
    for line in islice((line for line in lines if line.keyword), _MAX_EXPRESSIONS):
        assert line.keyword is not None
        if count := _unfulfilled(line.keyword.text, _names(line, known)):
            message = f"-k '{line.keyword.text[:80]}' fits the name of none of {count} tests"
            expected = "correct it, unless it means a mark"
            yield find("matches-nothing", line.keyword.place, message, expected, subject=named(line))


def _unfulfilled(expression: str, names: Iterable[str | None]) -> int:
    """How many names there are, none of which fulfils an expression; 0 when one does or may do so."""
    count = 0
    for name in islice(names, _MAX_NAMES):
        if name is None or fulfils(expression, name) is not False:
            return 0
        count += 1
    return count if count < _MAX_NAMES else 0


def fulfils(expression: str, name: str) -> bool | None:
    """Whether a name fulfils a `-k` expression: words joined by and, or, not. None when it is no such thing."""
    words = _WORD.findall(expression)
    if not words or len(words) > _MAX_TOKENS or not _PLAIN.fullmatch(expression.strip()):
        return None
    lowered = name.lower()
    try:
        return evaluate(expression, lambda word: word.lower() in lowered)
    except ExpressionError:
        return None


def _names(line: Line, known: KnownTests) -> Iterator[str | None]:
    """The names that pytest compares, one a test; None for a test whose names are not all known."""
    for target in line.targets:
        path, wanted, parameters = NodeId.of(normalized(target.text))
        if parameters is not None:
            yield None
            return
        paths = [path] if known.file(path) else [p for p in known.paths() if p.startswith(f"{path}/")]
        for inner in paths:
            file = known.file(inner)
            yield from _in_file(inner.rpartition("/")[2], file, "::".join(wanted)) if file else (None,)


def _in_file(base: str, file: TestFile, wanted: str) -> Iterator[str | None]:
    if file.open or file.open_classes:
        yield None
    for name, parameters in file.functions.items():
        if not wanted or name == wanted or name.startswith(f"{wanted}::"):
            if parameters is None:
                yield None
            else:
                yield from (f"{base} {name}[{one}]" for one in parameters or ("",))
