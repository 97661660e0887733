"""What must hold: predicates on each snapshot, relations between traces. Pure, no torch."""

from __future__ import annotations

from harness.invariants.base import Predicate, View
from harness.invariants.capacity import spans_seats
from harness.invariants.monitor import PREDICATES, Monitor
from harness.invariants.relations import same_drafts
from harness.invariants.scratch import dummy_apart
from harness.invariants.tail import tails_hold_sentinel

__all__ = [
    "PREDICATES",
    "Monitor",
    "Predicate",
    "View",
    "dummy_apart",
    "same_drafts",
    "spans_seats",
    "tails_hold_sentinel",
]
