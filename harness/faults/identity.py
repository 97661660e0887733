"""K12: an id or a row that is used again is taken for its earlier owner."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["IDENTITY_FAULTS"]


def _reuse_continues(parts: Parts) -> Parts:
    claim = parts.claim_row

    def claim_known(pool: SlotPool, request: str, position: int) -> tuple[int, bool]:
        row = pool.row(request)
        if row is None:
            return claim(pool, request, position)
        if position:  # "does not start at 0, so it goes on": the next chunk of a prompt, or so it seems
            pool.revive(request)
            return row, False
        pool.release(request)
        return claim(pool, request, position)

    # A request's end is noticed with the next batch; an id that is used again before that is still known.
    return replace(parts, claim_row=claim_known, give_back=lambda pool, request: pool.retire(request))


def _late_result_applies(parts: Parts) -> Parts:
    return replace(parts, applies=lambda left, generation: True)  # noqa: ARG005  # the seat was all that was asked


def _retired_row_known(parts: Parts) -> Parts:
    return replace(parts, known_slot=lambda pool, request: pool.row(request))


IDENTITY_FAULTS = (
    Fault(
        "reuse-continues", "K12", "observed: an id reused at once with a prefix hit",
        "an id used again before any batch without it, with a prefix hit, continues the old context",
        _reuse_continues,
    ),
    Fault(
        "late-result-applies", "K12", "SGLang PR 36093",
        "what a step left for a seat is applied to whoever sits there next",
        _late_result_applies,
    ),
    Fault(
        "retired-row-known", "K12", "SGLang PR 19035",
        "a row is found by its request's id alone, so a new request of that id gets one that is being given back",
        _retired_row_known,
    ),
)  # fmt: skip
