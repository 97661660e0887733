"""Runs the predicates over a run's snapshots as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.invariants.baked import graphs_read_present_storage
from harness.invariants.base import Predicate, View
from harness.invariants.capacity import spans_seats
from harness.invariants.conserve import rows_are_conserved
from harness.invariants.history import History
from harness.invariants.positions import positions_follow
from harness.invariants.refusals import refusals_are_loud
from harness.invariants.scratch import dummy_apart
from harness.invariants.seeded import reads_own_context
from harness.invariants.tail import tails_hold_sentinel
from harness.scenario import Scenario
from harness.trace import Snapshot, Violation

__all__ = ["PREDICATES", "Monitor"]

# The most telling first: a run is reported by what the first of them says.
PREDICATES: dict[str, Predicate] = {
    "I-CAP": spans_seats,
    "I-SEEDED": reads_own_context,
    "I-SCRATCH": dummy_apart,
    "I-TAIL": tails_hold_sentinel,
    "I-POS": positions_follow,
    "I-CONSERVE": rows_are_conserved,
    "I-LOUD": refusals_are_loud,
    "I-BAKED": graphs_read_present_storage,
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
            history.live, history.written, history.captured(now),
        )  # fmt: skip
        found = [violation for predicate in self._predicates for violation in predicate(view)]
        self._before = now
        return [replace(violation, orders=self._orders(now.operation)) for violation in found]

    def _orders(self, operation: int) -> str:
        done = replace(self._scenario, operations=self._scenario.operations[: operation + 1])
        captured = ">".join(map(str, done.capture_order)) or "none"
        used = ">".join(str(b) for b, last in zip(self._used, [0, *self._used], strict=False) if b != last)
        return f"captured {captured}, used {used or 'none'}"
