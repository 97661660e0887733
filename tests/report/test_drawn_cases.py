"""Which cases are drawn, and how they are run for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import cast

from sections import result
from traces import SCENARIO, trace

from harness.launch import Launcher, Run
from harness.pictures import draw
from harness.trace import Trace
from harness.verdicts import CaseResult


class Recorder:
    """Stands where a launcher does, answers every run with the same trace, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Run] = []

    def run_all(self, runs: Iterable[Run]) -> Iterator[tuple[int, Trace]]:
        self.asked += runs
        yield from reversed([(index, trace()) for index in range(len(self.asked))])


def on_the_trace(found: CaseResult) -> CaseResult:
    return replace(found, case=replace(found.case, scenario=SCENARIO))


RESULTS = [
    on_the_trace(result("dflash", "exact", "bucket", (2,), word))
    for word in ("ok", "FAIL", "silent", "crash", "hang", "n/a", "ok")
]


def drawn(healthy: bool) -> tuple[Recorder, list[str]]:
    recorder = Recorder()
    maps = draw(cast("Launcher", recorder), RESULTS, ("a-fault",), healthy)
    return recorder, [found.word for found in maps]


def test_a_silent_and_a_loud_case_of_a_finding_are_drawn_in_this_order() -> None:
    assert drawn(healthy=False)[1] == ["silent", "FAIL", "crash", "hang"]


def test_one_case_that_holds_is_drawn_when_it_is_asked_for() -> None:
    assert drawn(healthy=True)[1] == ["silent", "FAIL", "crash", "hang", "ok"]


def test_a_crash_or_a_hang_runs_no_further_than_to_the_operation_that_it_ended_in() -> None:
    recorder, _ = drawn(healthy=False)
    assert [len(run.scenario.operations) for run in recorder.asked] == [5, 5, 1, 1]


def test_what_ended_before_its_first_operation_has_no_map() -> None:
    recorder = Recorder()
    ended = [replace(RESULTS[3], at=at) for at in (-1, 0)]
    assert draw(cast("Launcher", recorder), ended, ()) == []
    assert recorder.asked == []


def test_they_run_with_the_same_faults_without_probes_and_without_a_stop() -> None:
    recorder, _ = drawn(healthy=True)
    assert {(run.faults, run.probes) for run in recorder.asked} == {(("a-fault",), False)}
    assert all(list(run.watch(trace().snapshots[0])) == [] for run in recorder.asked)


def test_the_trace_is_judged_anew_so_that_what_came_later_is_marked_too() -> None:
    recorder = Recorder()
    (found,) = draw(cast("Launcher", recorder), [RESULTS[1]], ())
    assert found.case == ("dflash", "exact", "bucket", "2")
    assert any("I-CAP: pool slots offers 1 rows for 2 seats" in text for text in found.lines[0].broken)
    assert all(line.cells[1].broken for line in found.lines)
