"""How TensorRT-LLM's own list parser and prefix rules read a line, modelled so that `explain` can compare.

Rules of its `test_list_parser.py`, `apply_waives` (outer session) and `apply_waives_ut` (inner session of the
unit tests) of 2026. This is a model for people to read; nothing in this package decides by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.lists.model import Line, Waiver
from harness.lists.nodeid import Level, scopes

__all__ = ["UpstreamHit", "UpstreamLine", "prefixed", "read_upstream", "reading_differences", "upstream_hits"]

# The order in which its parser looks; the first one found is the only one.
_ORDER = ("XFAIL", "SKIP", "UNSTABLE", "TIMEOUT", "ISOLATION")
_PARENTHESES = re.compile(r"\((.*?)\)")
_UNIT_TEST = re.compile(r"(full:[^/]*/)?(unittest/.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class UpstreamLine:
    """A line as upstream reads it. `error` is not empty when it stops the whole pytest session there."""

    name: str
    marker: str = ""
    reason: str = ""
    timeout: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class UpstreamHit:
    """A waiver that upstream applies to a test: in which of its sessions, and how widely it names it."""

    waiver: Waiver
    session: str
    level: Level


def read_upstream(text: str) -> UpstreamLine | None:
    """Read one line by upstream's rules; None when it sees nothing there."""
    line = text.partition("#")[0].strip()
    if not line:
        return None
    marker = next((name for name in _ORDER if f" {name}" in line), "")
    if not marker:
        return UpstreamLine(line)
    name, _, rest = line.partition(f" {marker}")
    name, rest = name.strip(), rest.strip()
    if marker == "ISOLATION":
        return UpstreamLine(name, marker)
    found = _PARENTHESES.search(rest)
    if marker == "TIMEOUT":
        if found and found[1].isdecimal():
            return UpstreamLine(name, marker, timeout=int(found[1][:9]) * 60)
        return UpstreamLine(name, marker, error=f'Invalid syntax for TIMEOUT value: "{rest}"')
    if rest and not found:
        return UpstreamLine(name, marker, error=f'Invalid syntax for reason: "{rest}"')
    return UpstreamLine(name, marker, found[1] if found else "")


def prefixed(name: str, test_prefix: str) -> str:
    """The name after upstream put `--test-prefix` into it, its faults included."""
    if not name.startswith("full:"):
        return f"{test_prefix}/{name}" if test_prefix else name
    if not test_prefix:
        return name.replace("full:", "", 1)
    name = name.lstrip("full:")  # noqa: B005  upstream strips the letters, not the word
    head = test_prefix.split("-")[0]
    return name.replace(head, test_prefix) if head in name else name


def upstream_hits(waivers: Iterable[Waiver], test: str, stage: str) -> tuple[UpstreamHit, ...]:
    """The waivers that upstream applies to a test of a stage: at most one in each of its two sessions."""
    hits = []
    for session, prefix, name_of in (("outer", stage, _outer), ("inner", _inner_prefix(stage), _same)):
        if session == "inner" and not test.startswith("unittest/"):
            continue
        last: dict[str, Waiver] = {}
        for waiver in waivers:
            reading = read_upstream(waiver.text)
            if reading and not reading.error:
                key = prefixed(name_of(reading.name), prefix)
                last[key.replace("unittest/unittest/", "unittest/") if session == "inner" else key] = waiver
        wanted = f"{stage}/{name_of(test)}" if stage else name_of(test)
        hit = next(((last[scope], level) for scope, level in _reach(wanted, session) if scope in last), None)
        if hit:
            hits.append(UpstreamHit(hit[0], session, hit[1]))
    return tuple(hits)


def _outer(name: str) -> str:
    """The outer session runs a unit-test entry, arguments included, as the parameter of one test."""
    found = _UNIT_TEST.fullmatch(name)
    return f"{found[1] or ''}test_unittests.py::test_unittests_v2[{found[2]}]" if found else name


def _same(name: str) -> str:
    return name


def _inner_prefix(stage: str) -> str:
    return f"{stage}/unittest" if stage else "unittest"


def _reach(name: str, session: str) -> Iterator[tuple[str, Level]]:
    """The outer session compares whole ids; the inner one goes up to the file, never to a folder."""
    for scope, level in scopes(name):
        if scope == name or (session == "inner" and level is not Level.FOLDER):
            yield scope, level


def reading_differences(line: Line) -> Iterator[str]:
    """Sentences on where upstream reads a line otherwise than this package, whatever the test and stage."""
    reading = read_upstream(line.text)
    if reading is None:
        yield "upstream sees no line here"
        return
    if reading.error:
        yield f"upstream stops the whole session here: {reading.error}"
        return
    name = (f"full:{line.prefix}/" if line.prefix else "") + line.test.text
    if reading.name != name:
        yield f"upstream takes '{reading.name}' for the name"
    lost = ", ".join(marker.name for marker in line.markers if marker.name != reading.marker)
    if lost:
        yield f"upstream reads one marker a line, here {reading.marker or 'none'}; it loses {lost}"
    reason = next((m.value.text for m in line.markers if m.name == reading.marker and m.value), "")
    if reading.marker != "TIMEOUT" and reason != reading.reason.strip():
        yield f"upstream cuts the reason at the first ')': '{reading.reason}'"
    if line.prefix and (stripped := reading.name.lstrip("full:")) != reading.name.removeprefix("full:"):  # noqa: B005
        yield f"upstream strips the letters of 'full:' and not the word, which leaves '{stripped}'"
