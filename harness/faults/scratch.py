"""K02: padding, or a request without a slot, lands on a row that a live request owns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["SCRATCH_FAULTS"]


def _pad_to_zero(parts: Parts) -> Parts:
    return replace(parts, padding_row=lambda pool: 0)  # noqa: ARG005  # whatever the pool, row 0


def _strangers_to_zero(parts: Parts) -> Parts:
    # Slots are given in the prefill alone; the map of requests has 0 for everybody else.
    return replace(parts, row_without_slot=lambda pool: 0)  # noqa: ARG005  # whatever the pool, row 0


def _pad_to_last_seat(parts: Parts) -> Parts:
    # The map has the dummy for padding; a row that the pool cannot give counts as out of range and is clamped.
    return replace(parts, slots_of=lambda map_, rows: parts.slots_of(map_, rows).clamp_max(map_.shape[0] - 1))


def _pad_with_last_live(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        write_rows(tensor, [*live, *[live[-1]] * (padded - len(live))] if live else live, padded, sentinel)

    return replace(parts, write_rows=write)


def _pad_to_free_looking(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        free = [row for row in range(sentinel) if row not in live]
        # What is not in this batch is taken for free: a live request that sits out owns a row all the same.
        write_rows(tensor, live, padded, free[-1] if live and free else sentinel)

    return replace(parts, write_rows=write)


def _sibling_seat(parts: Parts) -> Parts:
    # The worker's fill function knows what a dummy is; the engine's looks for a number, and the dummy has one.
    return replace(parts, padding_seat=lambda pool: pool.capacity - 1)


def _bad_page_zero(parts: Parts) -> Parts:
    return replace(parts, null_page=lambda pool: 0)  # noqa: ARG005  # -1 became 0 on its way


def _pad_with_minus_one(parts: Parts) -> Parts:
    return replace(parts, padding_seat=lambda pool: -1)  # noqa: ARG005  # the mark of padding, used as an index


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
    Fault(
        "pad-to-last-seat", "K02", "SGLang PR 23353",
        "the dummy's index is clamped into the pool, so padding writes its last row, a slot like any other",
        _pad_to_last_seat,
    ),
    Fault(
        "pad-with-last-live", "K02", "TensorRT-LLM PR 9873",
        "rows of padding repeat the last live row, so several rows write one request's state",
        _pad_with_last_live,
    ),
    Fault(
        "pad-to-free-looking", "K02", "TensorRT-LLM PR 13151",
        "padding takes a row that nobody in this batch has; requests that sit the batch out own it",
        _pad_to_free_looking,
    ),
    Fault(
        "dummy-keeps-a-seat", "K02", "TensorRT-LLM PR 12962",
        "one of two fill functions gives the dummy the seat that it once had; somebody else sits there now",
        _sibling_seat,
    ),
    Fault(
        "bad-page-is-page-zero", "K02", "TensorRT-LLM PR 19040",
        "a table entry without a page reads as page 0, which some request holds",
        _bad_page_zero,
    ),
    Fault(
        "pad-with-minus-one", "K02", "vLLM #43810",
        "the -1 that marks padding is used as an index and means the last row there is",
        _pad_with_minus_one,
    ),
)  # fmt: skip
