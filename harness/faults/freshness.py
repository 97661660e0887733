"""K06: a row given to somebody new still holds what its last owner left there."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["FRESHNESS_FAULTS"]


def _length_survives(parts: Parts) -> Parts:
    claim = parts.claim_row
    return replace(parts, claim_row=lambda pool, request, position: (claim(pool, request, position)[0], False))


FRESHNESS_FAULTS = (
    Fault(
        "length-survives", "K06", "nvbugs/5485886",
        "a slot is handed on with the context length of the request that had it before",
        _length_survives,
    ),
)  # fmt: skip
