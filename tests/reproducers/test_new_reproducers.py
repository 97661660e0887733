"""Every catalogued bug: silent on a right engine, seen with its fault, and told by the invariant of its kind."""

from __future__ import annotations

import pytest

from harness.catalogue import CatalogueEntry, find_bug, load_catalogue, load_reproducer
from harness.faults import FAULTS
from harness.launch import Launcher
from harness.legality import check
from harness.reproduce import Parameters, reproduce
from harness.trace import Outcome
from harness.verdicts import CaseResult

BUGS = [entry for entry in load_catalogue() if entry.bug != "nvbugs/6535874"]  # that one has tests of its own
NAMES = [entry.bug for entry in BUGS]

# What tells each bug first, worker by worker.
FIRST_SEEN = {
    "nvbugs/6451032": {"I-SCRATCH:padding-on-seat:worker.batch_to_slot"},
    "#16767": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
    "#17619": {"I-POS:position", "I-SEEDED:unwritten"},  # DFlash, DSpark
    "#18343": {"I-LOUD:swallowed:slots"},
    "#19320": {"I-POS:dummy-climbs:slots"},
    "observed/warmup-slots": {"I-CONSERVE:leak:slots"},
    "observed/absent-request": {"I-POS:position"},
    "observed/reused-id": {"I-SEEDED:unwritten", "I-POS:position"},  # DFlash, DSpark
    "observed/first-generation-forward": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
    "observed/manager-replaced": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
}


def _results(entry: CatalogueEntry, launcher: Launcher, *faults: str) -> list[CaseResult]:
    return reproduce(load_reproducer(entry), Parameters(), launcher, faults)


@pytest.mark.parametrize("entry", BUGS, ids=NAMES)
def test_every_invariant_holds_on_a_right_engine(launcher: Launcher, entry: CatalogueEntry) -> None:
    results = _results(entry, launcher)
    assert {result.case.worker for result in results} == {"dflash", "dspark"}
    assert {result.outcome for result in results} == {Outcome.OK}


@pytest.mark.parametrize("entry", BUGS, ids=NAMES)
def test_the_fault_is_seen_in_every_case_and_again_in_a_fresh_process(
    launcher: Launcher, entry: CatalogueEntry
) -> None:
    results = _results(entry, launcher, entry.fault)
    assert {result.outcome for result in results} == {Outcome.VIOLATION}
    assert {result.signature for result in results} == FIRST_SEEN[entry.bug]
    assert all(result.confirmed for result in results)


def test_a_replaced_manager_is_also_seen_in_the_graphs_that_read_old_tensors(launcher: Launcher) -> None:
    entry = find_bug("observed/manager-replaced")
    seen = {v.signature for result in _results(entry, launcher, entry.fault) for v in result.violations}
    assert "I-BAKED:moved:worker.context" in seen


def test_padding_on_slot_zero_costs_the_owner_its_drafts_though_nothing_is_raised(launcher: Launcher) -> None:
    entry = find_bug("nvbugs/6451032")
    for result in _results(entry, launcher, entry.fault):
        assert result.left_alone is not None
        assert result.left_alone.raised == ""


@pytest.mark.parametrize("entry", BUGS, ids=NAMES)
def test_an_entry_names_a_fault_of_its_kind_and_scenarios_that_are_legal(entry: CatalogueEntry) -> None:
    assert FAULTS[entry.fault].kind == entry.kind
    reproducer = load_reproducer(entry)
    assert reproducer.bug == entry.bug
    for case in reproducer.cases(Parameters(regimes=reproducer.regimes)):
        check(case.scenario)


def test_bugs_are_found_by_number_name_and_pull_request() -> None:
    for text in ("#16767", "16772", "https://github.com/NVIDIA/TensorRT-LLM/issues/16767"):
        assert find_bug(text).bug == "#16767"
    assert find_bug("Observed/Reused-ID").bug == "observed/reused-id"
