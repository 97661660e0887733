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
    return replace(parts, padding_row=lambda pool: pool.capacity - 1)


def _pad_with_last_live(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        # One dummy would do for the whole tail, it was said; the nearest row at hand is the batch's last.
        write_rows(tensor, [*live, *[live[-1]] * (padded - len(live))] if live else live, padded, sentinel)

    return replace(parts, write_rows=write)


def _pad_to_free_looking(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        free = [row for row in range(sentinel) if row not in live]
        # What is not in this batch is taken for free: a live request that sits out owns a row all the same.
        write_rows(tensor, live, padded, free[-1] if live and free else sentinel)

    return replace(parts, write_rows=write)


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
        "rows of padding are mapped to the pool's last row, which is a seat like any other",
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
)  # fmt: skip
