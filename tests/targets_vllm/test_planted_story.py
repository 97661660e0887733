"""The one story that brings out every planted fault of a fetched engine, a worker that has no such place, and the
pages that name them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from harness.explore import Row, planted_for
from harness.explore.matrix import fill_row
from harness.legality import check
from harness.oracles import Judgement
from harness.scenario import WORKERS, Admit, Finish, Scenario
from harness.targets.common.description import PlantedFault
from harness.targets.sglang.faults import FAULTS as SGLANG
from harness.targets.vllm.faults import FAULTS as VLLM
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


@pytest.mark.parametrize(("page", "faults"), [("sglang", SGLANG), ("vllm", VLLM)])
def test_the_page_of_a_target_names_every_fault_under_its_kind_and_there_is_one_of_each_kind(
    page: str, faults: dict[str, PlantedFault]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / f"targets-{page}.md").read_text()
    rows = re.findall(r"^\| (K\d\d) \| (.*?) \|", text, re.MULTILINE)
    told = {name: kind for kind, names in rows for name in re.findall(r"`(.*?)`", names)}
    assert told == {name: fault.kind for name, fault in faults.items()}
    assert set(told.values()) == {f"K{number:02}" for number in range(1, 17)}
