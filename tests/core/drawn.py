"""Random records for property tests: legal scenarios from the pure model, traces of any shape."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from harness.legality import Model
from harness.scenario import (
    OPERATIONS,
    WEIGHTS,
    WORKERS,
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
    Prefill,
    Rebind,
    Resume,
    Scenario,
    Step,
    Warmup,
)

_NAMES = st.sampled_from(["r0", "r1", "r2", "r3", "long name", "ü"])
_LENGTHS = st.integers(1, 9)
_CHUNKS = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)

_DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "capture": st.builds(Capture, st.integers(1, 6)),
    "warmup": st.builds(Warmup, st.none() | st.integers(1, 6)),
    "admit": st.builds(Admit, _NAMES, _LENGTHS, st.just(()), st.none() | st.integers(0, 3))
    | st.builds(lambda name, chunks: Admit(name, sum(chunks), chunks, None, True), _NAMES, _CHUNKS),
    "prefill": st.builds(Prefill, _NAMES),
    "admit_disaggregated": st.builds(AdmitDisaggregated, _NAMES, _LENGTHS),
    "step": st.builds(
        Step, st.none() | st.lists(_NAMES, max_size=3).map(tuple), st.sampled_from([None, True, False])
    ),
    "finish": st.builds(Finish, _NAMES),
    "abort": st.builds(Abort, _NAMES),
    "preempt": st.builds(Preempt, _NAMES),
    "resume": st.builds(Resume, _NAMES),
    "idle": st.builds(Idle, st.booleans()),
    "draft_len": st.builds(DraftLen, st.integers(0, 4)),
    "rebind": st.just(Rebind()),
}
assert set(_DRAWN) == set(OPERATIONS)

operations: st.SearchStrategy[Operation] = st.one_of(*_DRAWN.values())


@st.composite
def configs(draw: st.DrawFn) -> Config:
    rows = draw(st.integers(1, 6))
    overlap = draw(st.booleans())
    seats = draw(st.integers(2 * rows, 14) if overlap else st.just(0) | st.integers(rows, 8))
    buckets = draw(st.sets(st.integers(1, rows), max_size=4))
    order = draw(st.permutations(sorted(buckets)))
    worker = draw(st.sampled_from(WORKERS))
    return Config(
        worker, seats, rows, tuple(order), draw(st.integers(1, 4)), sampling=draw(st.booleans()), overlap=overlap,
        page_size=draw(st.sampled_from([0, 4])), recurrent=draw(st.booleans()),
        verify=draw(st.integers(0, 3)) if worker == "dspark" else 0, weights=draw(st.sampled_from(WEIGHTS)),
    )  # fmt: skip


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw operations freely and keep those that are legal where they stand."""
    config = draw(configs())
    model, kept = Model(config), []
    for operation in draw(st.lists(operations, max_size=25)):
        if model.problem(operation) is None:
            model.apply(operation)
            kept.append(operation)
    return Scenario(config, tuple(kept), draw(st.sampled_from(["", "a name"])))
