"""I-TAIL: rows of padding in graph inputs hold the sentinel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import OPERATIONS, SLOT_MAP, TOKENS, judged, snapshot

from harness.invariants import Monitor, tails_hold_sentinel
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Admit, Capture, Config, Finish, Scenario, Step


def test_a_tail_of_sentinels_holds() -> None:
    assert judged(tails_hold_sentinel, snapshot()) == []


def test_a_stale_row_is_named_once_a_buffer_by_its_batch_row() -> None:
    stale = replace(TOKENS, tail=(0, 0, 0, 0, 0, 7, 8, 9))
    (violation,) = judged(tails_hold_sentinel, snapshot(graph_inputs=(SLOT_MAP, stale), padded=3))
    assert (violation.rule, violation.buffer, violation.row) == ("stale", "inputs.tokens", 2)
    assert (violation.expected, violation.seen) == ("0", "7")
    assert violation.message == "batch row 2 of inputs.tokens is padding and holds 7"


def test_a_tail_is_judged_after_forwards_alone() -> None:
    stale = replace(SLOT_MAP, tail=(1,))
    now = snapshot(operation=1, graph_inputs=(stale,))
    assert judged(tails_hold_sentinel, now) == []
    assert len(judged(tails_hold_sentinel, now, operations=(OPERATIONS[0], Capture(2)))) == 1


@pytest.mark.parametrize("worker", WORKERS)
def test_an_engine_that_writes_live_rows_alone_breaks_it(launcher: Launcher, worker: str) -> None:
    operations = (Capture(4), Admit("r0", 4), Admit("r1", 4), Admit("r2", 4), Step(), Finish("r0"), Step())
    scenario = Scenario(Config(worker, 4, 4, (4,)), operations)
    assert launcher.run(Run(scenario, Monitor(scenario))).violations == []
    found = launcher.run(Run(scenario, Monitor(scenario, [tails_hold_sentinel]), ("stale-tail",))).violations
    assert {v.buffer for v in found} == {
        "inputs.tokens", "inputs.positions", "inputs.seats", "worker.batch_to_slot",
    }  # fmt: skip
    assert {(v.operation, v.row) for v in found} == {(4, 3)}
    assert found[0].orders == "captured 4, used 4"


def test_without_poison_a_tail_that_was_never_live_would_look_right(launcher: Launcher) -> None:
    scenario = Scenario(Config("dflash", 4, 4, (4,)), (Capture(4), Admit("r0", 4), Step()))
    blind = Run(scenario, Monitor(scenario, [tails_hold_sentinel]), ("stale-tail",), probes=False)
    assert launcher.run(blind).violations == []
    assert launcher.run(replace(blind, probes=True, watch=Monitor(scenario))).violations != []
