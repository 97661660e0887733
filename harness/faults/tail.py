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


TAIL_FAULTS = (
    Fault(
        "stale-tail", "K03", "SGLang PR 26292",
        "only the live rows of graph inputs are written; rows of padding keep what an earlier step left there",
        _live_rows_only,
    ),
)  # fmt: skip
