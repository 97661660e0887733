"""Reading JUnit files of other people: streamed, bounded, no entity and no document type ever followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from harness.errors import Place, UsageError
from harness.lists.lines import parse_entry
from harness.lists.matching import stage_head

__all__ = ["MAX_BYTES", "Outcome", "Result", "chunks", "read_junit"]

Outcome = Literal["passed", "failed", "skipped"]

MAX_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 64
_CHUNK = 64 * 1024
_STAGE_KEYS = ("stage", "test_prefix", "test-prefix", "gpu")
# A suite that bears a stage's name: `H100_PCIe-PyTorch-1`, `H100`. `pytest` is the name of every other one.
_STAGE = re.compile(r"[A-Za-z]\w*(?:-[\w.+-]+)?", re.ASCII)
_FAILED = frozenset({"failure", "error", "rerunFailure", "rerunError", "flakyFailure", "flakyError"})
_TEST_FILE = re.compile(r"test_|.*_test$")
# How upstream runs an entry of its unit tests: as the parameter of one test.
_WRAPPED = re.compile(r"test_unittests_v2\[(.*)\]", re.DOTALL)


class Result(NamedTuple):
    """What became of one test in one run.

    `ids` are the node ids that the file's words may mean, the likeliest first, since a dotted class name does
    not say where the path ends. `head` is that of the stage, "" when the file does not say. `key` tells runs
    apart that two files repeat: None without a time stamp.
    """

    ids: tuple[str, ...]
    head: str
    outcome: Outcome
    key: tuple[str, ...] | None


def read_junit(path: str, take: Callable[[Result], None]) -> None:
    """Hand every test result of a file to `take`. Raises UsageError for what is no JUnit file."""
    from xml.parsers import expat

    reader = _Reader(path, take)
    parser = expat.ParserCreate()
    parser.buffer_text = False
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    try:
        for chunk in chunks(path):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        message = f"is no JUnit file: {expat.errors.messages[error.code]}; give whole files"
        raise UsageError(message, Place(path, error.lineno, error.offset + 1)) from error
    except (ValueError, LookupError) as error:  # an encoding that expat cannot ask Python for
        raise UsageError(f"is no JUnit file: {error}; save it as UTF-8", Place(path)) from error


def chunks(path: str) -> Iterator[bytes]:
    """The bytes of a file, piece by piece. Raises UsageError when it is unreadable or over the limit."""
    size = 0
    try:
        with Path(path).open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise UsageError(f"over {MAX_BYTES >> 20} MiB; split the results", Place(path))
                yield chunk
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}; give a JUnit file", Place(path)) from error


@dataclass
class _Case:
    attributes: dict[str, str]
    outcome: Outcome = "passed"
    properties: dict[str, str] = field(default_factory=dict)

    def saw(self, tag: str, attributes: dict[str, str]) -> None:
        # An XFAIL that passes is a failure in the file, and here the very pass that is looked for.
        strict_pass = attributes.get("message", "").startswith("[XPASS(strict)]")
        if tag in _FAILED and not strict_pass:
            self.outcome = "failed"
        elif tag == "skipped" and self.outcome == "passed":
            self.outcome = "failed" if attributes.get("type") == "pytest.xfail" else "skipped"


@dataclass
class _Suite:
    attributes: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    cases: list[_Case] = field(default_factory=list)


class _Reader:
    """Keeps the suites that are open and the test that is; hands results on when a suite ends."""

    def __init__(self, file: str, take: Callable[[Result], None]) -> None:
        self.file, self.take = file, take
        self.depth = 0
        self.suites: list[_Suite] = []
        self.case: _Case | None = None

    def refuse_doctype(self, *_: object) -> None:
        raise UsageError("has a DOCTYPE, which no JUnit file needs; remove it", Place(self.file))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth == 0 and tag not in ("testsuites", "testsuite"):
            raise UsageError(f"is no JUnit file: its root is '{tag[:40]}'", Place(self.file))
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise UsageError(f"nested deeper than {_MAX_DEPTH} levels, so no JUnit file", Place(self.file))
        if tag == "testsuite":
            outer = self.suites[-1] if self.suites else _Suite()
            self.suites.append(_Suite(outer.attributes | attributes, dict(outer.properties)))
        elif tag == "testcase" and self.suites:
            self.case = _Case(attributes)
            self.suites[-1].cases.append(self.case)
        elif tag == "property" and self.suites:
            owner = self.case or self.suites[-1]
            owner.properties[attributes.get("name", "").lower()] = attributes.get("value", "")
        elif self.case:
            self.case.saw(tag, attributes)

    def end(self, tag: str) -> None:
        self.depth -= 1
        if tag == "testcase":
            self.case = None
        elif tag == "testsuite":
            suite = self.suites.pop()
            for case in suite.cases:
                self.take(_result(suite, case))


def _result(suite: _Suite, case: _Case) -> Result:
    stage = _stage(suite, case)
    ids = tuple(_node_ids(case.attributes, stage))
    stamp = suite.attributes.get("timestamp", "")
    host, time = suite.attributes.get("hostname", ""), case.attributes.get("time", "")
    key = (stamp, host, stage, ids[0], case.outcome, time)
    return Result(ids, stage_head(stage), case.outcome, key if stamp else None)


def _stage(suite: _Suite, case: _Case) -> str:
    for properties in (case.properties, suite.properties):
        for key in _STAGE_KEYS:
            if properties.get(key):
                return properties[key].strip()
    name = suite.attributes.get("name", "")
    if name != "pytest" and _STAGE.fullmatch(name):
        return name
    # Upstream puts the stage in front of every node id.
    head = re.split(r"[./]", case.attributes.get("file") or case.attributes.get("classname", ""))[0]
    return head if re.match(r"[A-Z]\w*-", head) else ""


def _node_ids(attributes: dict[str, str], stage: str) -> Iterator[str]:
    name, classname = attributes.get("name", ""), attributes.get("classname", "")
    classname = classname.removeprefix(f"{stage}.") if stage else classname
    if wrapped := _WRAPPED.fullmatch(name):
        entry, _ = parse_entry(wrapped[1], Place("", 0, 1))
        yield wrapped[1]
        yield from (target.text for target in entry.targets) if entry else ()
        return
    file = attributes.get("file", "").replace("\\", "/").removeprefix("./")
    file = file.removeprefix(f"{stage}/") if stage else file
    dotted = file.removesuffix(".py").replace("/", ".")
    if file and f"{classname}.".startswith(f"{dotted}."):
        classes = classname[len(dotted) + 1 :].split(".") if classname != dotted else []
        yield "::".join([file, *classes, name])
        return
    parts = classname.split(".") if classname else []
    counts = sorted(range(1, len(parts) + 1), key=lambda n: not _TEST_FILE.match(parts[n - 1]))
    for count in counts:
        yield "::".join(["/".join(parts[:count]) + ".py", *parts[count:], name])
    if not parts:
        yield name
