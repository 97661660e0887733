"""The one story that brings out every planted fault of a fetched engine, and a worker that has no such place."""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.explore import Row, planted_for
from harness.explore.matrix import fill_row
from harness.legality import check
from harness.oracles import Judgement
from harness.scenario import WORKERS, Admit, Finish, Scenario
from harness.trace import Outcome, Trace, Violation


def judgement(scenario: Scenario, outcome: Outcome, *found: Violation) -> Judgement:
    return Judgement(Trace(scenario, "t", "cpu", outcome=outcome, detail="no such buffers"), list(found))


def test_it_is_legal_for_both_workers_and_pads_captures_and_fills_the_pool_and_gives_rows_anew() -> None:
    scenarios = planted_for("any")
    assert [scenario.config.worker for scenario in scenarios] == list(WORKERS)
    for scenario in scenarios:
        check(scenario)
        assert scenario.capture_order == (2, 4)
        names = [operation.request for operation in scenario.operations if isinstance(operation, Admit)]
        assert sorted(names) == ["r0", "r0", "r1", "r1", "r2", "r3", "r4", "r4"]
        at_once = [
            (gone.request, come.request)
            for gone, come in pairwise(scenario.operations)
            if isinstance(gone, Finish) and isinstance(come, Admit)
        ]
        assert at_once == [("r2", "r4"), ("r4", "r4")], "into a full pool, with no step in between"
    assert planted_for("any") == planted_for("another")


@pytest.mark.parametrize("unsupported", [(WORKERS[1],), WORKERS])
def test_a_fault_is_unsupported_where_no_worker_has_its_place(unsupported: tuple[str, ...]) -> None:
    def judge(scenario: Scenario, faults: tuple[str, ...]) -> Judgement:
        assert faults == ("f",)
        if scenario.config.worker in unsupported:
            return judgement(scenario, Outcome.UNSUPPORTED)
        return judgement(scenario, Outcome.OK, Violation("I-TAIL", "stale", "told", 3, "0", "1"))

    row = fill_row(Row("f", "K03"), planted_for("f"), judge)
    one_ran = len(unsupported) == 1
    assert (row.scenarios, row.holds, bool(row.unsupported)) == (int(one_ran), one_ran, not one_ran)
