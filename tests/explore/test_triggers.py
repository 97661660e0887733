"""Every seeded fault has a trigger, and every trigger is legal."""

from __future__ import annotations

from harness.explore import TRIGGERS, scenarios_for
from harness.faults import FAULTS
from harness.legality import check
from harness.scenario import WORKERS


def test_every_fault_has_a_trigger_and_every_trigger_a_fault() -> None:
    assert set(TRIGGERS) == set(FAULTS)


def test_every_trigger_is_legal() -> None:
    for fault in TRIGGERS:
        for scenario in scenarios_for(fault):
            check(scenario)


def test_a_trigger_runs_both_workers_except_where_one_alone_has_what_breaks() -> None:
    dspark_alone = {fault for fault in TRIGGERS if {s.config.worker for s in scenarios_for(fault)} != set(WORKERS)}
    # Confidences, and a rolling window.
    assert dspark_alone == {"budget-for-each", "unverified-accepted", "window-keeps-rejected"}


def test_a_bugs_own_story_is_told_with_the_options_that_another_fault_needs() -> None:
    for fault, option in (("state-survives", "recurrent"), ("table-survives", "page_size")):
        plain, optional = scenarios_for("length-survives"), scenarios_for(fault)
        assert [told.operations for told in optional] == [told.operations for told in plain]
        assert {told.config.options for told in optional} == {(option,)}
        assert all(told.name.endswith(option) for told in optional)
