"""K07: an index of one space used in another: slot, seat, batch row."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["SPACE_FAULTS"]


def _slots_by_row(parts: Parts) -> Parts:
    return replace(parts, slots_of=lambda map_, rows: torch.arange(rows, device=map_.device))


def _sampled_by_row(parts: Parts) -> Parts:
    return replace(parts, sampling_rows=lambda seats: torch.arange(seats.shape[0], device=seats.device))


def _relayed_by_row(parts: Parts) -> Parts:
    # Who has stepped last in that row is remembered nowhere, so nothing can tell that it was somebody else.
    return replace(parts, relay_key=lambda row, seat: row, applies=lambda left, generation: True)  # noqa: ARG005


def _results_by_seat(parts: Parts) -> Parts:
    return replace(parts, result_row=lambda row, seat: seat)  # noqa: ARG005  # the bug


SPACE_FAULTS = (
    Fault(
        "slots-by-batch-row", "K07", "TensorRT-LLM PR 7100",
        "rows 0..B-1 are read and written instead of the slots of the batch",
        _slots_by_row,
    ),
    Fault(
        "sampled-by-batch-row", "K07", "TensorRT-LLM PR 12588",
        "sampling parameters are kept by seat and read by batch row",
        _sampled_by_row,
    ),
    Fault(
        "relayed-by-batch-row", "K07", "vllm-ascend #13863",
        "what a step leaves for the next one is kept by batch row, and rows move up when a request ends",
        _relayed_by_row,
    ),
    Fault(
        "results-by-seat", "K07", "vLLM PR 49738",
        "results are laid out by batch row and read by seat",
        _results_by_seat,
    ),
)  # fmt: skip
