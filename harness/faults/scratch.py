"""K02: padding, or a request without a slot, lands on a row that a live request owns."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["SCRATCH_FAULTS"]


def _pad_to_zero(parts: Parts) -> Parts:
    return replace(parts, padding_row=lambda pool: 0)  # noqa: ARG005  # whatever the pool, row 0


def _strangers_to_zero(parts: Parts) -> Parts:
    # Slots are given in the prefill alone; the map of requests has 0 for everybody else.
    return replace(parts, row_without_slot=lambda pool: 0)  # noqa: ARG005  # whatever the pool, row 0


SCRATCH_FAULTS = (
    Fault(
        "pad-to-slot-zero", "K02", "nvbugs/6451032",
        "rows of padding are mapped to slot 0, which the first request owns",
        _pad_to_zero,
    ),
    Fault(
        "strangers-to-slot-zero", "K02", "#16767",
        "slots are given at prefill alone; requests prefilled elsewhere all share slot 0",
        _strangers_to_zero,
    ),
)  # fmt: skip
