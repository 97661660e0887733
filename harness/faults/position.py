"""K09: position arithmetic drifts."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["POSITION_FAULTS"]


def _dummy_climbs(parts: Parts) -> Parts:
    return replace(parts, empty_dummy=lambda lengths, dummy: None)  # noqa: ARG005  # it is never emptied


POSITION_FAULTS = (
    Fault(
        "dummy-climbs", "K09", "#19320",
        "the dummy row's position is never set back, and every padded step appends to it",
        _dummy_climbs,
    ),
)  # fmt: skip
