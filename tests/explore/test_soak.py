"""The soak of random operations: it ends well on the healthy engine, and finds what is seeded."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import explore_finds, soak
from benchmarks.matrix_cuda_equals_cpu import difference
from harness.explore import Row
from harness.explore.matrix import Catch
from harness.faults import FAULTS
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.scenario import Admit, Config, DraftLen, Scenario, Step
from harness.scenario_file import read_scenario


def test_the_healthy_engine_holds_in_random_operations_under_every_oracle() -> None:
    tally = soak.soak(400, seed=5)
    assert tally.broken is None
    assert tally.operations.total() > 400
    assert tally.related == 1


def test_a_seeded_fault_is_found_and_left_as_a_scenario_that_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.yml"
    code = soak.main(["--operations", "2000", "--fault", "stale-tail", "--save", str(file)])
    assert code == 1
    assert f"harness replay {file} --fault stale-tail" in capsys.readouterr().out
    assert read_scenario(file).operations


def test_a_step_that_writes_what_an_earlier_one_wrote_and_took_back_breaks_nothing() -> None:
    # The first step verifies no draft but writes their places, zeros; b then draws 0 and drafts 0, and the second
    # step, of fewer drafts, writes just that once more.
    operations = (Admit("r5", 1), Admit("r14", 10), Step(), DraftLen(1), Step())
    scenario = Scenario(Config("dflash", 2, 2, (), draft_len=2, sampling=True), operations)
    with Launcher(isolation="none") as launcher:
        trace = launcher.run(Run(scenario, Monitor(scenario)))
    assert [trace.snapshots[2].requests["r14"].emitted, trace.snapshots[4].requests["r14"].emitted[:1]] == [
        (0,),
        (0,),
    ]
    assert trace.violations == []


def test_a_soak_goes_on_behind_the_chunks_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, int]] = []

    def stub(operations: int, seed: int, *others: object) -> soak.Tally:
        del others
        asked.append((operations, seed))
        return soak.Tally(Counter(step=operations), Counter(dflash=1))

    monkeypatch.setattr(soak, "soak", stub)
    log = tmp_path / "log.json"
    for operations in (30_000, 50_000, 45_000):
        assert soak.main(["--operations", str(operations), "--seed", "7", "--log", str(log)]) == 0
    assert asked == [(20_000, 7), (10_000, 8), (20_000, 9)]
    assert [chunk.seed for chunk in soak.read_log(log)] == [7, 8, 9]
    assert "50000 operations in 3 sessions (3 dflash)" in capsys.readouterr().out


def test_each_kind_of_fault_is_searched_for_by_the_catalogues_first_bug_of_it() -> None:
    planted = explore_finds.planted_faults()
    assert [each.kind for each in planted] == [f"K{number:02}" for number in range(1, 17)]
    assert [FAULTS[each.fault].kind for each in planted] == [each.kind for each in planted]
    assert (planted[0].bug, planted[0].fault) == ("nvbugs/6535874", "capacity-from-bucket")
    assert min(each.reproducer for each in planted) > 1


def test_two_devices_differ_where_a_first_violation_does() -> None:
    catch = Catch("I-TAIL", "predicate", "stale", "inputs.seats", "padded", 4, "step()", "told")
    later = Catch("I-TAIL", "predicate", "stale", "inputs.seats", "padded", 5, "step()", "told")
    assert difference(Row("fault", catches=(catch,)), Row("fault", catches=(catch, later))) == ""
    assert "operation 4, step() and I-TAIL" in difference(
        Row("fault", catches=(catch,)), Row("fault", catches=(later,))
    )
    assert difference(Row("fault", catches=(catch,)), Row("fault")).endswith("and nothing")
