"""From the reports of a test's phases to its one result."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from typing import Any

import pytest

from harness.pytest_plugin.words import has_word, word_of
from harness.results.records import FAILING, Result, Word, bounded

__all__ = ["attach", "fold", "from_collector"]

_ATTRIBUTE = "harness_facts"
_MESSAGE_LIMIT = 300
# What differs from run to run in a message that is the same: addresses, object ids.
_VARYING = re.compile(r"0x[0-9a-fA-F]+|\b\d{6,}\b")
_QUIET = frozenset({Word.PASSED, Word.SKIPPED, Word.WAIVED, Word.UNSUPPORTED})


def attach(report: pytest.TestReport, **facts: Any) -> None:
    """Give a report fields of its `Result`: bugs, waiver, waiver_place, replay, signature, devices, reused.

    Plain values and lists: xdist carries them from a worker to the controller.
    """
    report.__dict__.setdefault(_ATTRIBUTE, {}).update(facts)


def fold(nodeid: str, reports: Sequence[pytest.TestReport], attempt: int, options: Sequence[str]) -> Result:
    """Return the result of a test whose phases gave these reports, in their order.

    `options`: what its replay command needs beside the id. A subtest's report gives its text, never the word:
    the test's own report tells how it ended.
    """
    duration = round(sum([report.duration for report in reports]), 6)
    worker = getattr(reports[0], "worker_id", "") if reports else ""
    if all(map(_only_passes, reports)):
        return Result(nodeid, Word.PASSED, time.time(), duration, worker=worker, attempt=attempt)
    word, told = Word.PASSED, None
    for report in reports:
        said = None if isinstance(report, pytest.SubtestReport) else word_of(report)
        if said is not None and (told is None or _outranks(said, word)):
            word, told = said, report
    if told is None or (word is Word.PASSED and _ATTRIBUTE not in told.__dict__):
        return Result(nodeid, word, time.time(), duration, worker=worker, attempt=attempt)
    facts: dict[str, Any] = {}
    for report in reports:
        facts |= report.__dict__.get(_ATTRIBUTE, {})
    failed = [report for report in reports if report.outcome == "failed"]
    message = _message(failed[0] if failed else told)  # a subtest's own words, where one failed
    values: dict[str, Any] = {"message": message, "worker": worker}
    if word in FAILING:
        values["text"] = bounded(_text(failed))
        values["signature"] = word.value if word in (Word.CRASHED, Word.HUNG) else _VARYING.sub("*", message)
        values["phase"] = told.when if word is Word.ERROR else ""
    if word not in _QUIET:
        values["replay"] = shlex.join(["pytest", nodeid, *options])
    values |= {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
    return Result(nodeid, word, time.time(), duration, attempt=attempt, **values)


def _only_passes(report: pytest.TestReport) -> bool:
    """Whether a phase says nothing but that it passed: so do those of most tests, and they pay for no more."""
    return report.outcome == "passed" and _ATTRIBUTE not in report.__dict__ and not has_word(report)


def from_collector(report: pytest.CollectReport) -> Result:
    """Return the result that stands for the tests of a file or class that could not be collected."""
    last = report.longreprtext.strip().rpartition("\n")[2]
    message = _first_line([last.removeprefix("E").strip() or "could not be collected"])
    return Result(
        report.nodeid,
        Word.ERROR,
        time.time(),
        message=message,
        text=bounded(report.longreprtext),
        signature=f"collection: {_VARYING.sub('*', message)}",
        replay=shlex.join(["pytest", report.nodeid]),
        phase="collect",
    )


def _outranks(new: Word, old: Word) -> bool:
    # A process that died tells more than what was said before; a failure more than no failure; a call's word more
    # than a set-up's. What comes after a failure, such as a tear-down that trips over it, does not replace it.
    if new in (Word.CRASHED, Word.HUNG):
        return True
    return old not in FAILING and (new in FAILING or old is Word.PASSED)


def _message(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):  # a skip: path, line, reason
        return _first_line([longrepr[2].removeprefix("Skipped: ")])
    crash = getattr(longrepr, "reprcrash", None)
    if crash is not None:
        return _first_line(crash.message.splitlines())
    reason = getattr(report, "wasxfail", "")
    return _first_line(str(longrepr).splitlines() if longrepr else [reason])


def _first_line(lines: Sequence[str]) -> str:
    return (lines[0] if lines else "")[:_MESSAGE_LIMIT]


def _text(failed: Sequence[pytest.TestReport]) -> str:
    """Every phase and subtest that failed, and what the last one had captured."""
    parts = [report.longreprtext for report in failed]
    if failed:
        parts += [f"--- {name} ---\n{content.rstrip()}" for name, content in failed[-1].sections if content]
    return "\n\n".join(filter(None, parts))
