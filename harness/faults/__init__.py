"""Seeded defects of the embedded engine, to prove that an invariant can fail. `Parts -> Parts`, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from harness.engine import Parts
from harness.faults.base import Fault
from harness.faults.capacity import CAPACITY_FAULTS
from harness.faults.scratch import SCRATCH_FAULTS
from harness.faults.tail import TAIL_FAULTS

__all__ = ["FAULTS", "Fault", "apply_faults"]

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*CAPACITY_FAULTS, *SCRATCH_FAULTS, *TAIL_FAULTS)}


def apply_faults(parts: Parts, names: Sequence[str]) -> Parts:
    """Return `parts` with the named faults in them, applied in the order given."""
    for name in names:
        parts = FAULTS[name].apply(parts)
    return parts
