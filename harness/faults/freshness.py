"""K06: a row given to somebody new still holds what its last owner left there."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["FRESHNESS_FAULTS"]


def _length_survives(parts: Parts) -> Parts:
    claim = parts.claim_row
    return replace(parts, claim_row=lambda pool, request, position: (claim(pool, request, position)[0], False))


def _state_survives(parts: Parts) -> Parts:
    return replace(parts, resets_state=lambda: False)


def _table_survives(parts: Parts) -> Parts:
    return replace(parts, clears_table=lambda: False)


FRESHNESS_FAULTS = (
    Fault(
        "length-survives", "K06", "nvbugs/5485886",
        "a slot is handed on with the context length of the request that had it before",
        _length_survives,
    ),
    Fault(
        "state-survives", "K06", "lmdeploy PR 4434",
        "a seat is handed on with the recurrent state of the request that sat there before",
        _state_survives,
    ),
    Fault(
        "table-survives", "K06", "SGLang PR 8103",
        "behind the pages of a seat's new owner its table still names those that the last one needed",
        _table_survives,
    ),
)  # fmt: skip
