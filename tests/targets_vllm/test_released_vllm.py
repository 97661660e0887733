"""The released engine itself, as it was fetched: healthy in every story, and caught with every planted fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fetched_vllm import NEWEST, source_of

from harness.invariants import Monitor, same_drafts
from harness.launch import Launcher, Run
from harness.scenario import (
    WORKERS,
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    Finish,
    Idle,
    Operation,
    Preempt,
    Prefill,
    Resume,
    Scenario,
    Step,
    Warmup,
)
from harness.trace import Outcome, Trace
from repro_cases.stories import alone, captures, each_alone, sweep

pytestmark = [pytest.mark.released, pytest.mark.timeout(1800)]

SEATS = 5
# fault -> what says so: an invariant's or relation's rule, or what a kernel or the engine raises
CAUGHT = {
    "anchor-by-batch-row": "R-ALONE drafts",
    "capacity-from-bucket": "I-CAP rows",
    "commit-one-short": "R-ALONE drafts",
    "context-not-seeded": "R-ALONE drafts",
    "drafts-not-cleared": "I-FRESH not-reset",
    "eager-for-ever": "I-LOUD eager",
    "lengths-drift": "I-POS position",
    "new-rows-first": "I-ROOM refused",
    "pad-to-live-row": "I-SCRATCH padding-aliases",
    "pad-to-slot-zero": "I-SCRATCH padding-aliases",
    "refusal-ignored": "I-LOUD swallowed",
    "reserve-too-small": "I-BUDGET overrun",
    "results-come-late": "I-GEN generation",
    "reuse-continues": "I-GEN uncounted",
    "row-leaks": "I-CONSERVE lost",
    "row-zero-is-none": "I-REPR refused",
    "sampler-moves": "I-BAKED moved",
    "sampler-too-small": "sampler",
    "seeds-not-copied": "I-FIELD copy",
    "sentinel-missing": "I-TAIL stale",
    "stale-tail": "I-TAIL stale",
}
# Requests come until all rows are held; of a full batch one goes and, before the next step, somebody comes:
# another one, then one of the same name.
AGAIN: tuple[Operation, ...] = (
    *(Admit(f"r{seat}", 4) for seat in range(SEATS - 1)), Step(), Step(),
    Finish("r0"), Admit("new", 4), Step(), Finish("new"), Admit("new", 4), Step(),
)  # fmt: skip


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher("vllm", source=source_of(NEWEST), limit=600.0) as launched:
        yield launched


def config(worker: str) -> Config:
    return Config(worker, SEATS, SEATS, (1, 2, 4))


def told(trace: Trace, reference: Trace) -> list[str]:
    """Return all that was found, what was left behind where something was raised, and what was raised."""
    found = [*trace.violations, *Monitor(trace.scenario).ended(trace), *same_drafts(reference, trace)]
    return [*(f"{violation.invariant} {violation.rule}" for violation in found), trace.detail]


def run(launcher: Launcher, scenario: Scenario, *faults: str) -> Trace:
    return launcher.run(Run(scenario, Monitor(scenario), faults, keep_going=True))


@pytest.mark.parametrize("worker", WORKERS)
def test_every_planted_fault_is_caught_and_the_engine_without_one_holds(launcher: Launcher, worker: str) -> None:
    scenario = Scenario(config(worker), (*captures((2, 4, 1), "bucket"), *sweep(config(worker)), *AGAIN))
    reference = run(launcher, alone(config(worker), SEATS, SEATS))
    assert told(run(launcher, scenario), reference) == [""]
    assert launcher.describe().faults.keys() == CAUGHT.keys()
    for fault, expected in CAUGHT.items():
        trace = run(launcher, scenario, fault)
        seen = told(trace, reference)
        if expected == "sampler":  # a kernel, or what shapes its argument, has no room for two requests
            assert (trace.outcome, trace.at) == (Outcome.ERROR, 0), fault
            assert "out of bounds" in trace.detail or "is invalid for input" in trace.detail
            continue
        assert any(text.startswith(expected) for text in seen), (fault, seen)


def test_a_kernel_that_stores_behind_a_pool_says_which_and_never_goes_on(launcher: Launcher) -> None:
    scenario = Scenario(config("dflash"), (Capture(2), Capture(4), Admit("r0", 4), Step()))
    trace = run(launcher, scenario, "capacity-from-bucket")
    assert trace.outcome is Outcome.ERROR
    assert "_gumbel_sample_kernel: stored out of bounds" in trace.detail


@pytest.mark.parametrize("worker", WORKERS)
def test_requests_come_and_go_in_every_way_and_draft_as_they_do_alone(launcher: Launcher, worker: str) -> None:
    operations: tuple[Operation, ...] = (
        Warmup(), Capture(4), Capture(1), Warmup(2), Capture(2), Admit("r0", 6, chunks=(2, 4)), Step(),
        Admit("r1", 6, chunks=(3, 3), pause=True), Step(), Prefill("r1"), Step(), Step(("r1",)), Idle(),
        AdmitDisaggregated("r2", 5), Step(("r2", "r0")), Preempt("r1"), Step(), Resume("r1"), Step(), Finish("r0"),
        Admit("r0", 6, cached=5), Step(graph=False), Abort("r2"), Step(), Admit("r3", 24), Step(), Step(),
    )  # fmt: skip
    scenario = Scenario(config(worker), operations)
    comes: list[Admit | AdmitDisaggregated] = [
        Admit("r0", 6),
        Admit("r1", 6),
        AdmitDisaggregated("r2", 5),
        Admit("r3", 24),
    ]
    assert told(run(launcher, scenario), run(launcher, each_alone(config(worker), comes, 9))) == [""]


@pytest.mark.parametrize("worker", WORKERS)
def test_a_tape_and_an_eager_step_draft_the_same(launcher: Launcher, worker: str) -> None:
    drafts = []
    for graph in (True, False):
        steps: tuple[Operation, ...] = tuple(Step(graph=graph) for _ in range(3))
        trace = run(launcher, Scenario(config(worker), (Capture(4), Admit("r0", 4), Admit("r1", 5), *steps)))
        assert trace.outcome is Outcome.OK
        assert [snapshot.graph for snapshot in trace.snapshots[3:]] == [4 if graph else None] * 3
        drafts.append([list(snapshot.requests["r1"].drafts) for snapshot in trace.snapshots[3:]])
    assert drafts[0] == drafts[1]


def test_a_report_names_what_is_the_engines_own_and_what_stands_in_for_the_rest(launcher: Launcher) -> None:
    description = launcher.describe()
    assert description.version == NEWEST
    own, stand_ins = " ".join(description.own), " ".join(description.stand_ins)
    assert "vllm.v1.worker (" in own
    assert "value of platforms.current_platform" in stand_ins
    assert "vllm.distributed.parallel_state" in stand_ins
