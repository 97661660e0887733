"""What a waiver does to a test: marks before it runs, a word for how it ended after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.errors import UsageError
from harness.lists import Level, Waiver, WaiverIndex, read_waives
from harness.pytest_plugin.folding import attach
from harness.pytest_plugin.naming import plain_id
from harness.pytest_plugin.words import set_word
from harness.results.records import Word

if TYPE_CHECKING:
    from harness.pytest_plugin.selection import Chosen

__all__ = ["WAIVED", "Waived", "WaiverWords", "apply_waivers", "read_index"]


@dataclass(frozen=True)
class Waived:
    """A test's waiver, how widely it names the test, and the words for either end: `passes` and `fails`.

    `passes` None means that it does not run.
    """

    waiver: Waiver
    level: Level
    fails: Word
    passes: Word | None


WAIVED = pytest.StashKey[Waived]()
"""On every item that has a waiver."""

_WORDS = {
    "SKIP": (Word.WAIVED, None),
    "XFAIL": (Word.EXPECTED, Word.FIXED),
    "UNSTABLE": (Word.UNSTABLE_FAILED, Word.UNSTABLE_PASSED),
}


def read_index(file: str, stage: str) -> WaiverIndex:
    """Read a waiver file for one stage. Raises `UsageError` at its first broken line."""
    waives = read_waives(Path(file))
    errors = [problem for problem in waives.problems if problem.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more: `harness waives check`)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0]}{more}")
    return WaiverIndex(waives.waivers, stage)


def apply_waivers(chosen: Sequence[Chosen], index: WaiverIndex, run_waived: bool) -> dict[str, Waived]:
    """Mark waived tests: SKIP skips, XFAIL must fail, UNSTABLE runs and never fails the run. Return them by id.

    `run_waived`: all of them run and none fails the run, since what they do is the evidence that is looked for.
    """
    found: dict[str, Waived] = {}
    for one in chosen:
        applied = index.find(one.id, one.entries)
        if applied is None:
            continue
        item = one.item
        waiver = applied.waiver
        marker = next((name for name in _WORDS if waiver.marker(name)), None)  # type: ignore[arg-type]
        if marker is not None:
            fails, passes = (Word.WAIVED_FAILED, Word.WAIVED_PASSED) if run_waived else _WORDS[marker]
            waived = Waived(waiver, applied.level, fails, passes)
            item.stash[WAIVED] = found[plain_id(item.nodeid)] = waived
            item.add_marker(_mark(waived))
        if waiver.timeout:
            item.add_marker(pytest.mark.timeout(waiver.timeout))
        if waiver.isolated:
            item.add_marker(pytest.mark.isolation)
    return found


def _mark(waived: Waived) -> pytest.MarkDecorator:
    reason = f"waived: {waived.waiver.reason.text or 'no reason given'} [{waived.waiver.place}]"
    if waived.passes is None:
        return pytest.mark.skip(reason=reason)
    return pytest.mark.xfail(reason=reason, strict=waived.passes is Word.FIXED)


class WaiverWords:
    """Puts on the reports of waived tests what pytest's outcome does not say, in the process that ran them."""

    def __init__(self, waived: Mapping[str, Waived], root: Path) -> None:
        self._waived, self._root = waived, root

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Before anything shows, sends or records the report."""
        waived = self._waived.get(plain_id(report.nodeid))
        word = None if waived is None else _word(waived, report)
        if waived is None or word is None:
            return
        set_word(report, word)
        waiver = waived.waiver
        bugs = [waiver.reason.bug] if waiver.reason.bug else []
        attach(report, bugs=bugs, waiver=waiver.text, waiver_place=f"{waiver.place.file}:{waiver.place.line}")
        if word is Word.FIXED:
            from harness.pytest_plugin.patching import note_fixed  # only a failure pays for it

            note_fixed(report, waiver, waived.level, self._root)


def _word(waived: Waived, report: pytest.TestReport) -> Word | None:
    """The word for one phase; None where the waiver says nothing of it: a test that skipped itself, for one."""
    if report.outcome == "skipped":
        is_known = waived.passes is None or "wasxfail" in report.__dict__
        return waived.fails if is_known else None
    if report.when != "call" or waived.passes is None:
        return None
    if waived.passes is Word.FIXED:  # strict: what passed is a failure without an exception
        return Word.FIXED if report.outcome == "failed" else None
    return waived.passes if report.outcome == "passed" else waived.fails  # as where the device or a limit says so
