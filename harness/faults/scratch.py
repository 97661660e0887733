"""K02: padding or a dummy lands on a row that a live request owns."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["SCRATCH_FAULTS"]


def _pad_to_zero(parts: Parts) -> Parts:
    return replace(parts, padding_row=lambda pool: 0)  # noqa: ARG005  # whatever the pool, row 0


SCRATCH_FAULTS = (
    Fault(
        "pad-to-slot-zero", "K02", "nvbugs/6451032",
        "rows of padding are mapped to slot 0, which the first request owns",
        _pad_to_zero,
    ),
)  # fmt: skip
