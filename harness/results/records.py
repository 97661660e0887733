"""What a results log says, line by line, and the closed set of words for how a test ended.

Every line is one JSON object, `kind` first; a field that has its default is left out. Times are seconds since
1970, durations and limits seconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from math import isfinite
from typing import TypeAlias

from harness.codec import CodecError, decode

__all__ = [
    "FAILING",
    "FORMAT",
    "TEXT_LIMIT",
    "End",
    "Header",
    "Plan",
    "Record",
    "Result",
    "Started",
    "Word",
    "bounded",
    "parse_line",
    "selection_digest",
    "to_line",
]

FORMAT = 1
TEXT_LIMIT = 20_000  # characters of a failure's text: a log of ten thousand failures stays readable


class Word(str, Enum):
    """How a test ended. Waived, skipped, deselected, reused and unsupported are five different things."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # set-up or tear-down raised
    CRASHED = "crashed"  # its process ended under it
    HUNG = "hung"  # it was ended at its limit
    WAIVED = "waived"  # not run: a SKIP waiver
    EXPECTED = "expected"  # an XFAIL waiver, and it failed as it should
    FIXED = "fixed"  # an XFAIL waiver, and it passed: a failure until the waiver goes
    UNSTABLE_PASSED = "unstable-passed"
    UNSTABLE_FAILED = "unstable-failed"
    WAIVED_PASSED = "waived-passed"  # run in spite of its waiver: evidence
    WAIVED_FAILED = "waived-failed"
    SKIPPED = "skipped"  # by itself or by a mark
    UNSUPPORTED = "unsupported"  # the target cannot do it
    FLAKY = "flaky"  # failed, and passed when it was confirmed in a fresh process
    REUSED = "reused"  # not run: its result is that of an earlier run
    DESELECTED = "deselected"  # counted, without a line each


FAILING = frozenset({Word.FAILED, Word.ERROR, Word.CRASHED, Word.HUNG, Word.FIXED})
"""The words that fail a run."""


@dataclass(frozen=True)
class Header:
    """The first line, and the first line of every session that goes on from the log.

    run        one id for the whole run; `session` counts from 1.
    list, context, match, shard   what was to run: file, block, facts, "I/N"; with the digests of the list and of
               the durations file it is what a session must share with the first one.
    stage      the stage's name (`--test-prefix`).
    commit, config   of the tree under test, and options that change results: equal pairs can be compared.
    """

    run: str
    session: int
    at: float
    format: int = FORMAT
    command: tuple[str, ...] = ()
    list: str = ""
    list_sha256: str = ""
    context: str = ""
    match: str = ""
    shard: str = ""
    durations: str = ""
    durations_sha256: str = ""
    waives: str = ""
    waives_sha256: str = ""
    stage: str = ""
    commit: str = ""
    config: str = ""
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What a session has to run, its shard alone: `tests`. `selected` is how many all shards have together.

    sha256   of the sorted ids that all shards have together (`selection_digest`).
    """

    tests: tuple[str, ...]
    selected: int
    sha256: str


@dataclass(frozen=True)
class Started:
    """A test is about to run. `worker` is "" without xdist, `limit` 0 for none."""

    id: str
    at: float
    worker: str = ""
    pid: int = 0
    limit: float = 0.0


@dataclass(frozen=True)
class Result:
    """How a test ended, after its last phase. A later line of the same test counts in place of an earlier one.

    bugs       bug ids as waivers write them.
    waiver     the waiver's text and `waiver_place` its `file:line`.
    replay     the command that runs this test again.
    signature  of the violation, or of what was raised: what groups failures.
    devices    UUIDs of the GPUs it had.
    attempt    counts from 1.
    phase      where it went wrong, for an error: `setup`, `teardown`, or `collect` for what is no test but a file
               or class of which no test is known.
    reused     the run, or the session of this run, that the result was taken from.
    """

    id: str
    outcome: Word
    at: float
    duration: float = 0.0
    message: str = ""
    text: str = ""
    bugs: tuple[str, ...] = ()
    waiver: str = ""
    waiver_place: str = ""
    replay: str = ""
    signature: str = ""
    worker: str = ""
    host: str = ""
    devices: tuple[str, ...] = ()
    attempt: int = 1
    phase: str = ""
    reused: str = ""

    @property
    def fails(self) -> bool:
        """Whether it fails the run."""
        return self.outcome in FAILING


@dataclass(frozen=True)
class End:
    """The session finished by itself. `exit` is pytest's status, `counts` tests by word."""

    at: float
    exit: int
    counts: dict[str, int] = field(default_factory=dict)


Record: TypeAlias = Header | Plan | Started | Result | End

_KINDS: dict[str, type[Record]] = {
    "header": Header,
    "plan": Plan,
    "started": Started,
    "result": Result,
    "end": End,
}
_ALWAYS = frozenset({"format"})  # written although it has its default
# Of each kind: how its lines begin, and for every field its name, its default and what stands before its value.
_BEGINNINGS = {cls: f'{{"kind":"{kind}"' for kind, cls in _KINDS.items()}
_FIELDS = {
    cls: [(one.name, MISSING if one.name in _ALWAYS else one.default, f',"{one.name}":') for one in fields(cls)]
    for cls in _BEGINNINGS
}
_quoted = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(separators=(",", ":")).encode


def to_line(record: Record) -> bytes:
    """Return the record as a line of ASCII, its newline included.

    Two lines are written for every test: most values are texts and numbers, which need no encoder.
    """
    parts = [_BEGINNINGS[type(record)]]
    of = vars(record)
    for name, default, lead in _FIELDS[type(record)]:
        value = of[name]
        if value == default:
            continue
        if isinstance(value, str):
            parts.append(lead + _quoted(value))
        elif type(value) is int or (type(value) is float and isfinite(value)):
            parts.append(lead + repr(value))
        else:
            parts.append(lead + _encode(value))
    parts.append("}\n")
    return "".join(parts).encode("ascii")


def parse_line(line: bytes) -> Record:
    """Read a line. Raises `CodecError`, a `ValueError`, saying what is wrong with it."""
    try:
        data = json.loads(line)
    except ValueError:
        raise CodecError("no JSON") from None
    if not isinstance(data, dict) or data.get("kind") not in _KINDS:
        raise CodecError(f"no line of a results log; expected a kind of {', '.join(_KINDS)}")
    cls: type[Record] = _KINDS[data.pop("kind")]
    return decode(cls, data)


def selection_digest(tests: Iterable[str]) -> str:
    """Return what tells one set of tests from another: SHA-256 of their ids, sorted, a line each."""
    return hashlib.sha256("\n".join(sorted(tests)).encode("utf-8", "surrogatepass")).hexdigest()


def bounded(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text, without its middle when it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
