"""A trace by hand: two seats promised, a pool with one row whose dummy stands on the second."""

from __future__ import annotations

from dataclasses import replace

from harness.scenario import Admit, Capture, Config, Finish, Scenario, Step
from harness.trace import Buffer, GraphInput, Outcome, Pool, Snapshot, Trace, Violation

SCENARIO = Scenario(
    Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=(2,)),
    (Capture(2), Admit("a", 4), Step(("a",)), Finish("a"), Admit("b", 4)),
)
POOL = Pool("slots", capacity=1, dummy=1, owners={}, free=(0,))
SMALL = Violation("I-CAP", "capacity", "pool slots offers 1 rows for 2 seats", 0, "2", "1", "slots")
DUMMY = Violation("I-SCRATCH", "dummy-is-a-seat", "the dummy is a seat", 0, "outside", "1", "slots", 1)


def context(*digests: int) -> Buffer:
    return Buffer("worker.context", "slots", 2, 0, 1, 1, True, 1, 0, digests)


def points_at(*rows: int) -> GraphInput:
    return GraphInput("worker.map", sentinel=1, pool="slots", live=(), tail=rows)


def shot(operation: int, pool: Pool, digests: tuple[int, int], padding: tuple[int, ...] = ()) -> Snapshot:
    batch = ("a",) if operation == 2 else ()
    return Snapshot(
        operation, (context(*digests),), (pool,), (points_at(*padding),), {}, {}, batch=batch,
        padded=2 if operation in (0, 2) else 0, graph=2 if operation == 2 else None,
    )  # fmt: skip


def trace() -> Trace:
    """Capture; a comes; a steps with a row of padding; a ends, its row retires; b cannot come."""
    owned = replace(POOL, owners={"a": 0}, free=())
    return Trace(
        SCENARIO, "embedded", "cpu", outcome=Outcome.ERROR, at=4, detail="NoFreeSlotError: none",
        snapshots=[
            shot(0, POOL, (5, 5), (1, 1)),
            shot(1, owned, (6, 5)),
            shot(2, owned, (7, 8), (1,)),
            shot(3, replace(POOL, free=(), retiring=(0,)), (9, 8)),
        ],
    )  # fmt: skip
