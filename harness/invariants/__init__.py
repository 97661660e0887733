"""What must hold: predicates on each snapshot, relations between traces. Pure, no torch."""

from __future__ import annotations

from harness.invariants.acceptance import accepted_lengths
from harness.invariants.baked import graphs_read_present_storage
from harness.invariants.base import Predicate, View
from harness.invariants.budgets import forwards_keep_to_their_budget
from harness.invariants.capacity import spans_seats
from harness.invariants.comparison import lost_contexts, same_drafts
from harness.invariants.conserve import rows_are_conserved
from harness.invariants.fresh import rows_are_reset
from harness.invariants.generations import results_meet_their_owner
from harness.invariants.monitor import PREDICATES, Monitor
from harness.invariants.positions import positions_follow
from harness.invariants.refusals import refusals_are_loud
from harness.invariants.relations import RELATIONS, Relation
from harness.invariants.representation import indices_are_representable
from harness.invariants.rollback import states_are_rolled_back
from harness.invariants.room import pools_have_room
from harness.invariants.scratch import dummy_apart
from harness.invariants.seeded import reads_own_context
from harness.invariants.spaces import writes_land_in_own_rows
from harness.invariants.table import ENTRIES, Entry, silent, table_lines
from harness.invariants.tail import tails_hold_sentinel
from harness.invariants.told import fields_survive_copies

__all__ = [
    "ENTRIES",
    "PREDICATES",
    "RELATIONS",
    "Entry",
    "Monitor",
    "Predicate",
    "Relation",
    "View",
    "accepted_lengths",
    "dummy_apart",
    "fields_survive_copies",
    "forwards_keep_to_their_budget",
    "graphs_read_present_storage",
    "indices_are_representable",
    "lost_contexts",
    "pools_have_room",
    "positions_follow",
    "reads_own_context",
    "refusals_are_loud",
    "results_meet_their_owner",
    "rows_are_conserved",
    "rows_are_reset",
    "same_drafts",
    "silent",
    "spans_seats",
    "states_are_rolled_back",
    "table_lines",
    "tails_hold_sentinel",
    "writes_land_in_own_rows",
]
