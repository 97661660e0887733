"""K09: position arithmetic drifts."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["POSITION_FAULTS"]


def _dummy_climbs(parts: Parts) -> Parts:
    return replace(parts, empty_dummy=lambda lengths, dummy: None)  # noqa: ARG005  # it is never emptied


def _handover_one_too_far(parts: Parts) -> Parts:
    # A lag of one step is assumed that a hand-over does not have.
    return replace(parts, handed_over=lambda position: (position + 1, position + 1))


POSITION_FAULTS = (
    Fault(
        "dummy-climbs", "K09", "#19320",
        "the dummy row's position is never set back, and every padded step appends to it",
        _dummy_climbs,
    ),
    Fault(
        "handover-one-too-far", "K09", "SGLang PR 37505",
        "a request that comes over is taken for one token further than it is",
        _handover_one_too_far,
    ),
)  # fmt: skip
