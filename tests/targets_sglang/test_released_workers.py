"""The released engine itself, as it was fetched: healthy in every story, and caught with every planted fault."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from released import NEWEST, source_of

from harness.invariants import Monitor, same_drafts
from harness.launch import Launcher, Run
from harness.scenario import WORKERS, Abort, Admit, Capture, Config, Finish, Operation, Prefill, Scenario, Step
from harness.trace import Outcome, Trace
from repro_cases.stories import alone, captures, sweep

pytestmark = [pytest.mark.released, pytest.mark.timeout(900)]

SEATS = 5
# fault -> what says so first: an invariant's or relation's rule, or what the engine raises
CAUGHT = {
    "capacity-from-bucket": "I-CAP rows",
    "commit-one-short": "R-ALONE drafts",
    "eager-for-ever": "I-LOUD eager",
    "freed-a-step-late": "I-ROOM refused",
    "length-survives": "I-GEN generation",
    "lengths-drift": "I-POS position",
    "mirror-not-copied": "I-FIELD copy",
    "pad-to-live-row": "I-SCRATCH padding-aliases",
    "prompt-lengths-not-filtered": "I-FIELD length",
    "refusal-ignored": "I-LOUD swallowed",
    "relay-by-batch-row": "R-ALONE drafts",
    "relay-not-seeded": "I-POS position",
    "relay-rows-not-filtered": "R-ALONE drafts",
    "reserve-too-small": "I-BUDGET overrun",
    "reserved-row-given": "I-SCRATCH dummy-owned",
    "result-overwritten": "the result of the step before was overwritten",
    "reuse-uncounted": "I-GEN uncounted",
    "row-leaks": "I-CONSERVE lost",
    "sampler-moves": "I-BAKED moved",
    "sampler-too-small": "The size of tensor a",
    "sentinel-missing": "I-TAIL stale",
    "stale-tail": "I-SCRATCH padding-aliases",
    "view-into-free-list": "I-REPR moved",
}
# Requests come until all rows are held; of a full batch one goes and, before the next step, somebody comes:
# another one, then one of the same name.
AGAIN: tuple[Operation, ...] = (
    *(Admit(f"r{seat}", 4) for seat in range(SEATS - 1)), Step(), Step(),
    Finish("r0"), Admit("new", 4), Step(), Finish("new"), Admit("new", 4), Step(),
)  # fmt: skip


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher("sglang", source=source_of(NEWEST), limit=300.0) as launched:
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
    known = launcher.describe().faults
    assert known.keys() == CAUGHT.keys()
    for fault, expected in CAUGHT.items():
        trace = run(launcher, scenario, fault)
        if trace.outcome is Outcome.UNSUPPORTED:
            assert (fault, worker) == ("result-overwritten", "dspark")
            continue
        assert any(text.startswith(expected) or expected in text for text in told(trace, reference)), fault


@pytest.mark.parametrize("worker", WORKERS)
def test_requests_come_and_go_in_every_way_and_draft_as_they_do_alone(launcher: Launcher, worker: str) -> None:
    operations: tuple[Operation, ...] = (
        Capture(4), Capture(1), Capture(2), Admit("r0", 6, chunks=(2, 4)), Step(),
        Admit("r1", 6, chunks=(3, 3), pause=True), Step(), Prefill("r1"), Step(), Step(("r1",)),
        Admit("r2", 4), Step(("r2", "r0")), Abort("r0"), Step(), Step(graph=False), Step(),
    )  # fmt: skip
    scenario = Scenario(config(worker), operations)
    comes = [Admit("r0", 6), Admit("r1", 6), Admit("r2", 4)]
    from repro_cases.stories import each_alone

    reference = run(launcher, each_alone(config(worker), comes, 8))
    assert told(run(launcher, scenario), reference) == [""]


@pytest.mark.parametrize("worker", WORKERS)
def test_a_tape_and_an_eager_step_draft_the_same(launcher: Launcher, worker: str) -> None:
    for graph in (True, False):
        steps: tuple[Operation, ...] = tuple(Step(graph=graph) for _ in range(3))
        scenario = Scenario(config(worker), (Capture(4), Admit("r0", 4), Admit("r1", 5), *steps))
        trace = run(launcher, scenario)
        assert trace.outcome is Outcome.OK
        drafts = [list(snapshot.requests["r1"].drafts) for snapshot in trace.snapshots[3:]]
        if graph:
            taped = drafts
    assert taped == drafts
