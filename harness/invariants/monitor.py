"""Runs the predicates over a run's snapshots as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.invariants.baked import graphs_read_present_storage
from harness.invariants.base import Predicate, View
from harness.invariants.budgets import forwards_keep_to_their_budget
from harness.invariants.capacity import rows_for_a_batch, spans_seats
from harness.invariants.conserve import rows_are_conserved
from harness.invariants.fresh import rows_are_reset
from harness.invariants.generations import results_meet_their_owner
from harness.invariants.history import History
from harness.invariants.positions import positions_follow
from harness.invariants.refusals import refusals_are_loud
from harness.invariants.representation import indices_are_representable, rows_that_were_refused
from harness.invariants.rollback import states_are_rolled_back
from harness.invariants.room import pools_have_room, refusals_that_raised
from harness.invariants.scratch import dummy_apart
from harness.invariants.seeded import reads_own_context
from harness.invariants.spaces import writes_land_in_own_rows
from harness.invariants.tail import tails_hold_sentinel
from harness.invariants.told import fields_survive_copies
from harness.scenario import Scenario
from harness.trace import Snapshot, Trace, Violation

__all__ = ["PREDICATES", "Monitor"]

# The most telling first: a run is reported by what the first of them says.
PREDICATES: dict[str, Predicate] = {
    "I-CAP": spans_seats,
    "I-FIELD": fields_survive_copies,
    "I-BUDGET": forwards_keep_to_their_budget,
    "I-GEN": results_meet_their_owner,
    "I-SEEDED": reads_own_context,
    "I-SCRATCH": dummy_apart,
    "I-FRESH": rows_are_reset,
    "I-TAIL": tails_hold_sentinel,
    "I-SPACE": writes_land_in_own_rows,
    "I-POS": positions_follow,
    "I-ROLLBACK": states_are_rolled_back,
    "I-CONSERVE": rows_are_conserved,
    "I-ROOM": pools_have_room,
    "I-LOUD": refusals_are_loud,
    "I-BAKED": graphs_read_present_storage,
    "I-REPR": indices_are_representable,
}

# What may be said of an operation that raised: it is half done, but what was too small for it is there to see.
_AT_AN_ERROR: dict[str, tuple[Predicate, ...]] = {
    "I-CAP": (spans_seats, rows_for_a_batch),
    "I-ROOM": (refusals_that_raised,),
    "I-REPR": (rows_that_were_refused,),
}


class Monitor:
    """Judges one run. Feeding it all snapshots of a trace gives what it said while the run went on."""

    def __init__(self, scenario: Scenario, predicates: Sequence[Predicate] | None = None) -> None:
        self._scenario = scenario
        self._predicates = list(PREDICATES.values()) if predicates is None else list(predicates)
        self._history = History(scenario)
        self._before: Snapshot | None = None
        self._used: list[int] = []

    def __call__(self, now: Snapshot) -> list[Violation]:
        """Return what `now` breaks, with the orders that led there."""
        operation = self._scenario.operations[now.operation]
        if now.graph is not None:
            self._used.append(now.graph)
        history = self._history
        history.follow(now)
        view = View(
            self._scenario.config, operation, now, self._before,
            history.live, history.written, history.captured(now), history.earlier,
            history.buckets, history.again,
        )  # fmt: skip
        found = [violation for predicate in self._predicates for violation in predicate(view)]
        history.remember(now)
        self._before = now
        return [replace(violation, orders=self._orders(now.operation)) for violation in found]

    def ended(self, trace: Trace) -> list[Violation]:
        """Return what names the error in which a run ended; nothing where it ended otherwise, or nothing does."""
        left = trace.left
        if left is None:
            return []
        operation = self._scenario.operations[left.operation]
        view = View(self._scenario.config, operation, left, self._before, self._history.live)
        return [
            replace(violation, orders=self._orders(left.operation))
            for name, predicates in _AT_AN_ERROR.items()
            if PREDICATES[name] in self._predicates
            for predicate in predicates
            for violation in predicate(view)
        ]

    def _orders(self, operation: int) -> str:
        done = replace(self._scenario, operations=self._scenario.operations[: operation + 1])
        captured = ">".join(map(str, done.capture_order)) or "none"
        used = ">".join(str(b) for b, last in zip(self._used, [0, *self._used], strict=False) if b != last)
        return f"captured {captured}, used {used or 'none'}"
