"""Row digests on a GPU in one pass over the bytes, as a Triton kernel. `digests.add_words` says what they are."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from harness.host.words import CROSS, GOLDEN, MIX, Words

__all__ = ["add_words"]

_ROWS, _COLUMNS, _TURNS = 4, 1024, 8  # a program's tile, and how many of them it adds up
_WARPS = 8  # 16 words a thread and turn: enough in flight to cover the memory's latency, 94 registers

_GOLDEN, _MIX0, _MIX1, _CROSS = (tl.constexpr(constant) for constant in (GOLDEN, *MIX, CROSS))


@triton.jit  # type: ignore[untyped-decorator]  # triton has no annotations
def _add(  # type: ignore[no-untyped-def]  # and reads those of a kernel as its own
    words, sums, rows, outer, run, by_outer, by_row, by_entry,
    WIDE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TURNS: tl.constexpr,  # noqa: N803  # as everywhere
):  # fmt: skip
    pieces = tl.cdiv(run, COLUMNS * TURNS)
    segment = tl.program_id(0).to(tl.int64) // pieces  # a run of one entry and outer index
    first = (tl.program_id(0) % pieces).to(tl.int64) * COLUMNS * TURNS
    row = tl.program_id(1).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    start = words + (segment % outer) * by_outer + (segment // outer) * by_entry + row[:, None] * by_row
    total = tl.zeros((ROWS, COLUMNS), tl.int64)
    for turn in range(TURNS):
        column = first + turn * COLUMNS + tl.arange(0, COLUMNS)
        inside = (row < rows)[:, None] & (column < run)[None, :]
        word = tl.load(start + column[None, :], mask=inside, other=0).to(tl.int64)
        # The weights are made once for all rows of the tile.
        z = (segment * run + column + 1).to(tl.uint64) * _GOLDEN
        z = (z ^ (z >> 30)) * _MIX0
        z = (z ^ (z >> 27)) * _MIX1
        weight = ((z ^ (z >> 31)) | 1).to(tl.int64)[None, :]
        total += word * weight
        if WIDE:
            total += (word >> 32) * (weight ^ _CROSS)
    tl.atomic_add(sums + row, tl.sum(total, 1), mask=row < rows)


def add_words(words: Words, sums: torch.Tensor) -> None:
    """Add the digests to int64 [rows]; one launch, no copy of the tensor."""
    outer, rows, entries, run = words.values.shape
    by_outer, by_row, by_entry, _ = words.values.stride()
    grid = (entries * outer * triton.cdiv(run, _COLUMNS * _TURNS), triton.cdiv(rows, _ROWS))
    _add[grid](
        words.values, sums, rows, outer, run, by_outer, by_row, by_entry,
        WIDE=words.width == 8, ROWS=_ROWS, COLUMNS=_COLUMNS, TURNS=_TURNS,
        num_warps=_WARPS,
    )  # fmt: skip
