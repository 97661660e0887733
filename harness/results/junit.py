"""JUnit from results, as the schema `junit-10.xsd` of the Jenkins xunit plugin allows it.

A test case there has a name, a class and a time, no properties: what else is known of a test stands in lines of
its `system-out`, what is known of the run in the suite's properties. Written as text: a schema is kept
by what is left out, a library's model of JUnit would have to be kept from adding it, and ten thousand elements
that are only to be printed cost a run more than its waivers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from harness.files import write_atomically
from harness.results.records import Header, Result, Word

__all__ = ["render_junit", "write_junit"]

# Word -> (element, its type). Readers of evidence take `pytest.xfail` for a failure that fails nothing.
_ELEMENTS: Mapping[Word, tuple[str, str]] = {
    Word.FAILED: ("failure", "failed"),
    Word.FIXED: ("failure", "fixed"),
    Word.ERROR: ("error", "error"),
    Word.CRASHED: ("error", "crashed"),
    Word.HUNG: ("error", "hung"),
    Word.FLAKY: ("flakyFailure", "flaky"),
    Word.EXPECTED: ("skipped", "pytest.xfail"),
    Word.UNSTABLE_FAILED: ("skipped", "pytest.xfail"),
    Word.WAIVED_FAILED: ("skipped", "pytest.xfail"),
    Word.WAIVED: ("skipped", "waived"),
    Word.SKIPPED: ("skipped", "skipped"),
    Word.UNSUPPORTED: ("skipped", "unsupported"),
    Word.REUSED: ("skipped", "reused"),
}
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Names of tests, mostly: for them nothing has to be looked at twice.
_PLAIN = re.compile(r"[\w ./:\[\]=-]*", re.ASCII)
_IN_CONTENT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
# A reader turns every white space of an attribute into a blank, unless it is written as its number.
_IN_ATTRIBUTE = {**_IN_CONTENT, ord('"'): "&quot;", ord("\n"): "&#10;", ord("\t"): "&#9;"}
# How every reader of pytest's files tells a strict pass from a failure.
_STRICT_PASS = "[XPASS(strict)]"  # noqa: S105  no password


def write_junit(path: Path, header: Header, results: Iterable[Result], counts: Mapping[str, int]) -> None:
    """Replace the file in one step. Raises `UsageError` where that cannot be done."""
    write_atomically(path, render_junit(header, results, counts))


def render_junit(header: Header, results: Iterable[Result], counts: Mapping[str, int]) -> str:
    """Return the text of the file. `counts`: tests by word, among them those that have no result."""
    results = list(results)
    elements = [_ELEMENTS.get(result.outcome, ("", ""))[0] for result in results]
    suite = {
        "name": header.stage or "pytest",
        "tests": str(len(results)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "skipped": str(elements.count("skipped")),
        "time": _seconds(sum(result.duration for result in results)),
        "timestamp": datetime.fromtimestamp(header.at, timezone.utc).isoformat(timespec="seconds"),
        "hostname": header.machine,
    }
    attributes = "".join(f" {name}={_attribute(value)}" for name, value in suite.items())
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n',
        f"  <testsuite{attributes}>\n    <properties>\n",
    ]
    for name, value in _properties(header, counts):
        parts.append(f"      <property name={_attribute(name)} value={_attribute(value)} />\n")
    parts.append("    </properties>\n")
    parts += map(_case, results)
    parts.append("  </testsuite>\n</testsuites>\n")
    return "".join(parts)


def _properties(header: Header, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name in (
        "run",
        "stage",
        "shard",
        "list",
        "context",
        "match",
        "waives",
        "durations_sha256",
        "commit",
        "config",
    ):
        if value := getattr(header, name):
            yield name, value
    yield from header.versions.items()
    for word, count in counts.items():
        yield f"tests {word}", str(count)


def _case(result: Result) -> str:
    classname, name = _split(result.id)
    names = f"classname={_attribute(classname)} name={_attribute(name)}"
    start = f'    <testcase {names} time="{_seconds(result.duration)}"'
    inner = [*_element(result)]
    if lines := list(_lines(result)):
        inner.append(f"      <system-out>{_content(chr(10).join(lines))}</system-out>\n")
    return f"{start}>\n{''.join(inner)}    </testcase>\n" if inner else f"{start} />\n"


def _element(result: Result) -> Iterator[str]:
    """What says that the test did not simply pass."""
    element, kind = _ELEMENTS.get(result.outcome, ("", ""))
    if element:
        message = result.message or result.outcome.value
        if result.outcome is Word.FIXED and not message.startswith(_STRICT_PASS):
            message = f"{_STRICT_PASS} {message}"
        start = f'      <{element} type="{kind}" message={_attribute(message)}'
        yield f"{start}>{_content(result.text)}</{element}>\n" if result.text else f"{start} />\n"


def _lines(result: Result) -> Iterator[str]:
    if result.outcome is not Word.PASSED:
        yield f"outcome: {result.outcome.value}"
    for bug in result.bugs:
        yield f"bug: {bug}"
    if result.waiver:
        yield f"waiver: {result.waiver_place}: {result.waiver}"
    if result.reused:
        yield f"reused from: {result.reused}"
    if result.signature:
        yield f"signature: {result.signature}"
    if result.devices:
        yield f"devices: {' '.join(result.devices)}"
    if result.attempt > 1:
        yield f"attempt: {result.attempt}"
    if result.replay:
        yield f"replay: {result.replay}"


def _split(nodeid: str) -> tuple[str, str]:
    """Class and name as pytest writes them: `a/test_b.py::TestC::test_d[e::f]` is in `a.test_b.TestC`."""
    path, bracket, parameters = nodeid.partition("[")
    *parts, name = path.split("::")
    if parts:
        parts[0] = parts[0].removesuffix(".py").replace("/", ".")
    return ".".join(parts), f"{name}{bracket}{parameters}"


def _seconds(duration: float) -> str:
    return f"{max(0.0, duration):.3f}"


def _attribute(text: str) -> str:
    """The text as an attribute's value, in quotes."""
    return f'"{text}"' if _PLAIN.fullmatch(text) else f'"{_legal(text).translate(_IN_ATTRIBUTE)}"'


def _content(text: str) -> str:
    """The text as an element's content."""
    return _legal(text).translate(_IN_CONTENT)


def _legal(text: str) -> str:
    """The text with every character that XML cannot have written as Python would."""
    return _ILLEGAL.sub(lambda found: ascii(found[0])[1:-1], text)
