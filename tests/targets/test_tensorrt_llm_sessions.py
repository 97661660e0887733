"""What a session can do, and what a healthy tree does that is no finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from laying import lay_tree

from harness.invariants import Monitor, same_drafts
from harness.launch import Launcher, Run
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Scenario,
    Step,
    Warmup,
)
from harness.trace import EventKind, Outcome, Trace

WORKERS = {"E": ("e", "d", "dflash"), "F": ("f", "d", "dflash"), "G": ("g", "e", "dflash"),
           "d": ("e", "d", "dspark"), "e": ("g", "e", "dspark")}  # fmt: skip
CAPTURED: tuple[Operation, ...] = (Warmup(), Capture(4), Capture(2))


def run(folder: Path, family: str, operations: Sequence[Operation], variant: str = "") -> Trace:
    dflash, dspark, worker = WORKERS[family]
    source = folder / f"{family}{variant.strip('?')}"
    if not source.exists():
        lay_tree(source, dflash, dspark, "fixed")
    scenario = Scenario(Config(worker, 4, 4, (2, 4)), tuple(operations))
    with Launcher("tensorrt_llm", source=f"{source}{variant}", isolation="none") as launcher:
        trace = launcher.run(Run(scenario, Monitor(scenario)))
    assert trace.violations == []
    return trace


def test_family_e_never_gives_a_disaggregated_request_a_row(tmp_path: Path) -> None:
    scenario = Scenario(
        Config("dflash", 4, 4, (2, 4)), (*CAPTURED, Admit("r0", 4), AdmitDisaggregated("r1", 6), Step())
    )
    source = lay_tree(tmp_path / "E", "e", "d", "fixed")
    with Launcher("tensorrt_llm", source=str(source), isolation="none") as launcher:
        trace = launcher.run(Run(scenario, Monitor(scenario)))
    assert [(v.invariant, v.rule, v.request) for v in trace.violations] == [("I-SEEDED", "not-its-row", "r1")]


def alone(name: str, prompt: int = 4, steps: int = 6) -> tuple[Operation, ...]:
    return (Warmup(), Admit(name, prompt), *[Step((name,), graph=False)] * steps)


@pytest.fixture(params=WORKERS)
def family(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_drafts_of_a_chunked_prompt_are_those_of_a_whole_one(tmp_path: Path, family: str) -> None:
    whole = run(tmp_path, family, alone("r0", 9))
    chunked = run(tmp_path, family, (*CAPTURED, Admit("r0", 9, (4, 3, 2)), *[Step()] * 5))
    assert chunked.outcome is Outcome.OK
    assert same_drafts(whole, chunked) == []
    drafted = [state.drafts for snapshot in chunked.snapshots for state in snapshot.requests.values()]
    assert len(set(drafted)) > 3, "a drafter that always says the same would prove nothing"


def test_accepted_lengths_vary_and_every_length_occurs(tmp_path: Path, family: str) -> None:
    trace = run(tmp_path, family, (*CAPTURED, Admit("r0", 4), Admit("r1", 4), Admit("r2", 4), *[Step()] * 6))
    accepted = {state.accepted for snapshot in trace.snapshots[5:] for state in snapshot.requests.values()}
    assert {0, 3} < accepted


def test_requests_come_and_go_and_a_used_slot_is_as_a_fresh_one(tmp_path: Path, family: str) -> None:
    reference = run(tmp_path, family, alone("r5"))
    busy = (*CAPTURED, *(Admit(f"r{i}", 4) for i in range(4)), Step(), Finish("r1"), Step(), Abort("r0"), Step(),
            Admit("r5", 4), *[Step()] * 5)  # fmt: skip
    trace = run(tmp_path, family, busy)
    assert trace.outcome is Outcome.OK
    assert same_drafts(reference, trace) == []


def test_a_slot_is_released_in_the_next_batch_and_not_at_the_end(tmp_path: Path, family: str) -> None:
    trace = run(tmp_path, family, (*CAPTURED, Admit("r0", 4), Admit("r1", 4), Step(), Finish("r0"), Step()))
    after_finish, after_step = trace.snapshots[-2:]
    assert len(after_finish.pools[0].retiring) == 1
    assert after_step.pools[0].retiring == ()
    assert any(e.kind is EventKind.RELEASE and e.request == "r0" for e in after_step.events)


def test_a_request_absent_from_a_batch_is_declared_to_lose_its_context(tmp_path: Path, family: str) -> None:
    reference = run(tmp_path, family, alone("r0"))
    trace = run(
        tmp_path, family, (*CAPTURED, Admit("r0", 4), Admit("r1", 4), Step(), Step(("r1",)), *[Step()] * 3)
    )
    lost = trace.snapshots[-1].requests["r0"].context_lost
    assert lost == (family != "e"), "family e takes lengths from the manager's history"
    assert not trace.snapshots[-1].requests["r1"].context_lost
    assert same_drafts(reference, trace) == []


@pytest.mark.parametrize("family", ["F", "G", "d", "e"])
def test_a_disaggregated_request_gets_a_row_in_its_first_step(tmp_path: Path, family: str) -> None:
    trace = run(tmp_path, family, (*CAPTURED, Admit("r0", 4), AdmitDisaggregated("r1", 6), Step(), Step()))
    assert trace.outcome is Outcome.OK
    assert "r1" in trace.snapshots[-1].pools[0].owners


def test_disaggregated_context_arrives_with_the_managers_pages(tmp_path: Path) -> None:
    here = run(tmp_path, "e", alone("r1", 6))
    elsewhere = run(tmp_path, "e", (*CAPTURED, AdmitDisaggregated("r1", 6), *[Step()] * 5))
    assert same_drafts(here, elsewhere) == []
    assert elsewhere.snapshots[-1].requests["r1"].drafts != ()


def test_both_kinds_of_dummy_go_to_the_dummy_row(tmp_path: Path, family: str) -> None:
    trace = run(tmp_path, family, (*CAPTURED, Admit("r0", 4), Step(), Finish("r0"), Idle(dp_dummy=True), Idle()))
    idle = trace.snapshots[-2]
    (rows,) = (item for item in idle.graph_inputs if item.name == "worker._batch_to_slot")
    assert rows.tail == (4, 4)
    assert (idle.batch, idle.graph) == ((), 2)
    assert trace.snapshots[-1].padded == 0


def test_warm_up_in_a_bucket_keeps_slots_only_until_the_next_batch(tmp_path: Path, family: str) -> None:
    trace = run(tmp_path, family, (Warmup(), Capture(4), Warmup(4), Admit("r0", 4)))
    assert trace.snapshots[-1].pools[0].owners == {"r0": trace.snapshots[-1].pools[0].owners["r0"]}
    assert trace.snapshots[-1].pools[0].retiring == ()


def test_draft_length_zero_and_back(tmp_path: Path) -> None:
    operations = (*CAPTURED, Admit("r0", 4), Step(), DraftLen(0), Step(), Step(), DraftLen(3), Step(), Step())
    trace = run(tmp_path, "G", operations)
    assert trace.outcome is Outcome.OK
    assert [len(s.requests["r0"].emitted) for s in trace.snapshots[6:8]] == [1, 1]
    assert trace.snapshots[-1].requests["r0"].context_lost, "the worker stored nothing while it stood aside"
    assert run(tmp_path, "d", (*CAPTURED, DraftLen(0))).outcome is Outcome.UNSUPPORTED
    assert "their whole block or nothing" in run(tmp_path, "G", (DraftLen(1),)).detail


def test_what_no_stand_in_can_do_is_unsupported(tmp_path: Path) -> None:
    trace = run(tmp_path, "E", (Warmup(), Admit("r0", 4), Preempt("r0")))
    assert (trace.outcome, trace.at) == (Outcome.UNSUPPORTED, 2)
    assert "'preempt'" in trace.detail


@pytest.mark.parametrize("layout", ["paged", "managed", "mla"])
def test_layouts_draft_alike(tmp_path: Path, layout: str) -> None:
    dense = run(tmp_path, "G", alone("r1"))
    operations = (*CAPTURED, Admit("r0", 9, (5, 4)), Admit("r1", 4), *[Step()] * 5)
    assert same_drafts(dense, run(tmp_path, "G", operations, f"?layout={layout}")) == []


def test_a_tensor_that_no_opening_places_is_shown_as_unclassified_or_fixed(tmp_path: Path) -> None:
    trace = run(tmp_path, "G", (*CAPTURED,), "?layout=managed")
    space = {buffer.name: buffer.space for buffer in trace.snapshots[-1].buffers}
    assert space["worker._ctx_kv_buf[0]"] == "fixed", "pages are the manager's, sized by memory"
    assert space["worker._ctx_block_tables"] == "slots"
    assert space["metadata.batch_indices_cuda"] == "batch"
