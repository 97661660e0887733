"""K09: position arithmetic: off by one, chunk-local, drifting."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["POSITION_FAULTS"]


def _dummy_climbs(parts: Parts) -> Parts:
    return replace(parts, empty_dummy=lambda lengths, dummy: None)  # noqa: ARG005  # it is never emptied


def _handover_one_too_far(parts: Parts) -> Parts:
    # A lag of one step is assumed that a hand-over does not have.
    return replace(parts, handed_over=lambda position: (position + 1, position + 1))


def _prefix_from_zero(parts: Parts) -> Parts:
    return replace(parts, after_prefix=lambda cached: (0, 0))  # noqa: ARG005  # lengths are the slot's own


def _chunks_restart(parts: Parts) -> Parts:
    return replace(parts, restarts_context=lambda done, seen_from: done > seen_from)


def _keys_from_chunk_start(parts: Parts) -> Parts:
    return replace(parts, turned_to=lambda positions: positions - positions[:, :1])


def _length_drifts(parts: Parts) -> Parts:
    def advance(length: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        # Moved on by one draft before the verification, and never set back where that one was rejected.
        return length + count.clamp_min(2)

    return replace(parts, advance=advance)


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
    Fault(
        "prefix-from-zero", "K09", "TensorRT-LLM PR 19466",
        "behind a prefix hit the drafter counts its own tokens from 0, and the target from the hit's end",
        _prefix_from_zero,
    ),
    Fault(
        "chunks-restart", "K09", "TensorRT-LLM PR 15808",
        "every chunk of a prompt empties its slot as the first one does",
        _chunks_restart,
    ),
    Fault(
        "keys-from-chunk-start", "K09", "TensorRT-LLM PR 15808",
        "keys are turned to positions that begin anew with every chunk; only where they are stored is absolute",
        _keys_from_chunk_start,
    ),
    Fault(
        "length-drifts", "K09", "nvbugs/5821053",
        "a length is moved on for a draft in advance, and not set back when nothing is accepted",
        _length_drifts,
    ),
)  # fmt: skip
