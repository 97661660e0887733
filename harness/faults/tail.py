"""K03: a stale tail of a persistent graph input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["TAIL_FAULTS"]


def _live_rows_only(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        # A batch of padding alone is warm-up, which the bug's code did fill.
        write_rows(tensor, live, len(live) or padded, sentinel)

    return replace(parts, write_rows=write)


def _tokens_forgotten(parts: Parts) -> Parts:
    write_rows = parts.write_rows

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        write_rows(tensor, live, len(live) if live and tensor.dim() == 2 else padded, sentinel)

    return replace(parts, write_rows=write)


def _filled_once_a_bucket(parts: Parts) -> Parts:
    write_rows, filled = parts.write_rows, dict[int, int]()

    def write(tensor: torch.Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
        # The same bucket as last time: its tail is taken for filled, however many rows were live then.
        known = live and filled.get(tensor.data_ptr()) == padded
        filled[tensor.data_ptr()] = padded
        write_rows(tensor, live, len(live) if known else padded, sentinel)

    return replace(parts, write_rows=write)


def _last_rows_read(parts: Parts) -> Parts:
    return replace(parts, slots_of=lambda batch_to_slot, rows: batch_to_slot[-rows:])


TAIL_FAULTS = (
    Fault(
        "stale-tail", "K03", "SGLang PR 26292",
        "only the live rows of graph inputs are written; rows of padding keep what an earlier step left there",
        _live_rows_only,
    ),
    Fault(
        "stale-tokens", "K03", "vllm-ascend PR 11408",
        "padding is made harmless in every graph input but the tokens",
        _tokens_forgotten,
    ),
    Fault(
        "tail-filled-once", "K03", "vllm-ascend PR 15461",
        "the tail is filled when another bucket is used, not when fewer rows of the same one are live",
        _filled_once_a_bucket,
    ),
    Fault(
        "last-rows-read", "K03", "SGLang PR 32555",
        "the front of the map is refreshed, and its last rows are read",
        _last_rows_read,
    ),
)  # fmt: skip
