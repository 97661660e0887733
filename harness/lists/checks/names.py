"""Names: does what a line names exist, and if not, what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from harness.lists.checks.finding import Finding, find, named
from harness.lists.known import Kind, KnownTests, Resolution, Status, Suggester, resolve
from harness.lists.model import Line, Token
from harness.lists.nodeid import NodeId, normalized

__all__ = ["check_names"]

_CODES = {
    Kind.FOLDER: "unknown-folder",
    Kind.FILE: "unknown-file",
    Kind.CLASS: "unknown-class",
    Kind.TEST: "unknown-test",
    Kind.PARAMETER: "unknown-parameter",
}
# `RequestTest/invalidInputs.py::...`, `KvCacheManagerV2ColdPageTest.py::...`, `Suite.Name`, `Suite/Name.Case/0`
_GTEST_FILE = re.compile(r"(?:\w+/)*[A-Z]\w*Test(?:s|\.py|/\w+(?:\.py)?)(?:::.*)?", re.ASCII | re.DOTALL)
_GTEST_NAME = re.compile(r"(?:\w+/)?[A-Z]\w*\.\w+(?:/\w+)*", re.ASCII)
_FILE = re.compile(r"[^\[]*\.\w+(?:::.*)?", re.DOTALL)


def check_names(lines: Iterable[Line], known: KnownTests | None) -> Iterator[Finding]:
    """Check every target of every line; the shape alone when no tests are known."""
    suggester = Suggester(known) if known else None
    for line in lines:
        for target in line.targets:
            found = _shape(line, target, known, suggester)
            if found is None and known is not None and suggester is not None:
                found = _existence(line, target, known, suggester)
            if found:
                yield found


def _shape(line: Line, target: Token, known: KnownTests | None, suggester: Suggester | None) -> Finding | None:
    """What can be no test's name, whatever tests there are."""
    text = normalized(target.text)
    if known and resolve(known, text).status is not Status.MISSING:
        return None
    if _GTEST_FILE.fullmatch(text) or (_GTEST_NAME.fullmatch(text) and not text.endswith(".py")):
        message = f"'{text}' is made of the name of a C++ test, which pytest does not know"
        expected = "name the pytest test that runs it, e.g. cpp/test_unit_tests.py::..."
        return find("not-a-test-id", target.place, message, expected, subject=named(line, target))
    is_folder = "/" in text and "::" not in text and "[" not in text
    if _FILE.fullmatch(text) or is_folder or not re.search(r"::|\[|^Test[A-Z]|^test_", text):
        return None
    close = suggester.suggest_homeless(text) if suggester else []
    expected = _did_you_mean(close) or "expected path/file.py::Class::test"
    return find("no-file", target.place, f"'{text}' has no file", expected, subject=named(line, target))


def _existence(line: Line, target: Token, known: KnownTests, suggester: Suggester) -> Finding | None:
    result = resolve(known, target.text)
    if result.status is Status.FOUND:
        return None
    subject = named(line, target)
    if result.status is Status.OPEN:
        message = f"cannot tell whether {result.kind.value} '{_short(result.name)}' exists: {result.why}"
        return find("unverifiable", target.place, message, subject=subject)
    if result.kind is Kind.PARAMETER and (whole := suggester.completions(target.text)):
        message = f"'[{_short(result.name)}]' is only the start of an id"
        return find("truncated-parameter", target.place, message, _did_you_mean(whole), subject=subject)
    message = _missing(result, target, known)
    return find(
        _CODES[result.kind],
        target.place,
        message,
        _did_you_mean(suggester.suggest(target.text)),
        subject=subject,
    )


def _missing(result: Resolution, target: Token, known: KnownTests) -> str:
    name = _short(result.name)
    if result.kind in (Kind.FILE, Kind.FOLDER):
        return f"there is no {result.kind.value} '{name}'"
    path, names, _ = NodeId.of(normalized(target.text))
    if result.kind is not Kind.PARAMETER:
        return f"{path} has no {result.kind.value} '{name}'"
    file = known.file(path)
    if file is not None and not file.functions["::".join(names)]:
        return f"{names[-1]} has no parameters, but the line gives '[{name}]'"
    return f"{names[-1]} has no parameters '[{name}]'"


def _did_you_mean(names: Sequence[str]) -> str:
    return f"did you mean {' or '.join(names)}?" if names else ""


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."
