"""A healthy snapshot made by hand, to be broken in one place by `dataclasses.replace`.

Three seats, batches of up to three; requests a and b own rows 0 and 1; a stepped alone, padded to 2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.invariants import Monitor, Predicate
from harness.scenario import Admit, Config, Operation, Scenario, Step
from harness.trace import Buffer, GraphInput, Pool, RequestState, Snapshot, Violation

CONFIG = Config("dflash", num_seq_slots=3, max_num_requests=3, buckets=(2, 3))
SLOTS = Pool("slots", capacity=3, dummy=3, owners={"a": 0, "b": 1}, free=(2,))
CONTEXT = Buffer("worker.context", "slots", 4, 0, 1, 1, True, 100, 0, (10, 20, 30, 40))
MAP = Buffer("worker.batch_to_slot", "slots", 3, 0, 1, 0, False, 200, 0)
SLOT_MAP = GraphInput("worker.batch_to_slot", sentinel=3, pool="slots", live=(0,), tail=(3,))
TOKENS = GraphInput("inputs.tokens", sentinel=0, pool="", live=(5, 6, 7, 8), tail=(0, 0, 0, 0))
STEPPED = {"a": RequestState(position=5, emitted=(9,), accepted=0, drafts=(1, 2, 3))}

HEALTHY = Snapshot(
    operation=2, buffers=(CONTEXT, MAP), pools=(replace(SLOTS, name="seats"), SLOTS),
    graph_inputs=(SLOT_MAP, TOKENS), requests=STEPPED, metadata={"max_num_requests": 3},
    batch=("a",), padded=2, graph=2,
)  # fmt: skip
OPERATIONS: tuple[Operation, ...] = (Admit("a", 4), Admit("b", 4), Step(("a",)))


def snapshot(**changes: Any) -> Snapshot:
    return replace(HEALTHY, **changes)


def judged(
    predicate: Predicate,
    now: Snapshot,
    before: Snapshot | None = None,
    *,
    operations: tuple[Operation, ...] = OPERATIONS,
    config: Config = CONFIG,
) -> list[Violation]:
    """Return what `predicate` says of `now` (and nothing of `before`, which it only sees)."""
    monitor = Monitor(Scenario(config, operations), [predicate])
    if before is not None:
        monitor(before)
    return monitor(now)
