"""Seeded defects of the embedded engine, to prove that an invariant can fail. `Parts -> Parts`, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engine import Parts
from harness.faults.baked import BAKED_FAULTS
from harness.faults.base import Fault
from harness.faults.budget import BUDGET_FAULTS
from harness.faults.capacity import CAPACITY_FAULTS
from harness.faults.fields import FIELD_FAULTS
from harness.faults.freshness import FRESHNESS_FAULTS
from harness.faults.headroom import HEADROOM_FAULTS
from harness.faults.identity import IDENTITY_FAULTS
from harness.faults.leaks import LEAK_FAULTS
from harness.faults.position import POSITION_FAULTS
from harness.faults.refusal import REFUSAL_FAULTS
from harness.faults.representation import REPRESENTATION_FAULTS
from harness.faults.rollback import ROLLBACK_FAULTS
from harness.faults.scratch import SCRATCH_FAULTS
from harness.faults.seeding import SEEDING_FAULTS
from harness.faults.spaces import SPACE_FAULTS
from harness.faults.tail import TAIL_FAULTS

__all__ = ["FAULTS", "Fault", "apply_faults"]

_BY_KIND = (
    CAPACITY_FAULTS, SCRATCH_FAULTS, TAIL_FAULTS, HEADROOM_FAULTS, LEAK_FAULTS, FRESHNESS_FAULTS, SPACE_FAULTS,
    SEEDING_FAULTS, POSITION_FAULTS, ROLLBACK_FAULTS, BAKED_FAULTS, IDENTITY_FAULTS, FIELD_FAULTS, BUDGET_FAULTS,
    REFUSAL_FAULTS, REPRESENTATION_FAULTS,
)  # fmt: skip

FAULTS: dict[str, Fault] = {fault.name: fault for faults in _BY_KIND for fault in faults}


def apply_faults(parts: Parts, names: Sequence[str]) -> Parts:
    """Return `parts` with the named faults in them, applied in the order given."""
    for name in names:
        parts = FAULTS[name].apply(parts)
    return parts
