"""What must hold: predicates on each snapshot, relations between traces. Pure, no torch."""

from __future__ import annotations

from harness.invariants.baked import graphs_read_present_storage
from harness.invariants.base import Predicate, View
from harness.invariants.capacity import spans_seats
from harness.invariants.comparison import lost_contexts, same_drafts
from harness.invariants.conserve import rows_are_conserved
from harness.invariants.monitor import PREDICATES, Monitor
from harness.invariants.positions import positions_follow
from harness.invariants.refusals import refusals_are_loud
from harness.invariants.relations import RELATIONS, Relation
from harness.invariants.scratch import dummy_apart
from harness.invariants.seeded import reads_own_context
from harness.invariants.tail import tails_hold_sentinel

__all__ = [
    "PREDICATES",
    "RELATIONS",
    "Monitor",
    "Predicate",
    "Relation",
    "View",
    "dummy_apart",
    "graphs_read_present_storage",
    "lost_contexts",
    "positions_follow",
    "reads_own_context",
    "refusals_are_loud",
    "rows_are_conserved",
    "same_drafts",
    "spans_seats",
    "tails_hold_sentinel",
]
