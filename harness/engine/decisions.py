"""Small decisions about rows, requests and chunks, each of which a known bug got wrong; `Parts` lists them all.

What belongs to one concern alone (positions, pages, sampling, metadata, ...) stands with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.engine.metadata import SpecMetadata
from harness.engine.pages import PagePool
from harness.engine.requests import Left
from harness.engine.slots import SlotPool
from harness.engine.weights import hashed_number, signed

Tensor = torch.Tensor


def pool_capacity(metadata: SpecMetadata) -> int:
    """Rows of the worker's pools: one for each seat, whatever batch happens to draft first."""
    return metadata.num_seq_slots


def padding_row(pool: SlotPool) -> int:
    """The row that padding reads and writes: the dummy, which nobody can own."""
    return pool.dummy


def write_rows(tensor: Tensor, live: Sequence[int | list[int]], padded: int, sentinel: int) -> None:
    """Fill rows 0..padded of a graph input: the live ones, then the sentinel in every row of padding."""
    columns = tensor.shape[1:]
    tail: int | list[int] = [sentinel] * columns[0] if columns else sentinel
    rows = [*live, *[tail] * (padded - len(live))]
    tensor[:padded].copy_(torch.tensor(rows, dtype=tensor.dtype))


def accept_greedily(tokens: Tensor, chosen: Tensor) -> Tensor:
    """Return int64 [B], 1..K+1: the accepted drafts and the target's own next token.

    tokens [B,K+1] are anchor and drafts, chosen [B,K+1] the target's greedy choice after each of them.
    """
    agrees = chosen[:, :-1] == tokens[:, 1:]
    return agrees.cumprod(1).sum(1) + 1


def keep_drafts(request: str, position: int, drafts: list[int]) -> list[int]:  # noqa: ARG001  # the signature of Revise
    """Verify what the worker drafted."""
    return drafts


def claim_row(pool: SlotPool, request: str, position: int) -> tuple[int, bool]:  # noqa: ARG001  # a bug looked at it
    """Give `request`, whose context begins to be seen at `position`, a row, to be emptied if True."""
    return pool.acquire(request), True


def give_back(pool: SlotPool, request: str) -> None:
    """Take the row of a request that ended back, at once. It has none if it never was in a batch."""
    if pool.row(request) is not None:
        pool.release(request)


def row_without_slot(pool: SlotPool) -> int | None:  # noqa: ARG001  # where a bug sent such rows
    """The row of a request in the batch that owns none: None, it is given one now."""
    return None


def let_go(pool: SlotPool, batch: Sequence[str]) -> Sequence[str]:  # noqa: ARG001  # a bug looked at both
    """Requests that lose their row because of this batch: none, one that is absent from it keeps its own."""
    return ()


def warmup_requests(rows: int) -> tuple[str, ...]:  # noqa: ARG001  # a bug made one a row
    """Requests that a warm-up of `rows` rows brings along: none, its rows are padding."""
    return ()


def prepares_at_once(first: bool) -> bool:  # noqa: ARG001  # where a bug said no
    """Whether a worker maps rows to slots before a forward; `first` is the one that allocates its pools."""
    return True


def unmapped_row(pool: SlotPool) -> int:
    """What the map of batch rows holds before any batch was mapped."""
    return pool.dummy


def survives_rebind() -> bool:
    """Whether requests keep their slots, and what is in them, when the cache's memory is replaced."""
    return True


def seat_capacity(metadata: SpecMetadata) -> int:
    """Seats of the engine: all there are, those beyond a batch being head-room for requests that are ending."""
    return metadata.num_seq_slots


def map_capacity(metadata: SpecMetadata, pool: SlotPool) -> int:  # noqa: ARG001  # a bug took a batch's size
    """Entries of the map of batch rows: as many as rows could be owned."""
    return pool.capacity


def padding_seat(pool: SlotPool) -> int:
    """The seat of padding: the dummy, which nobody can take."""
    return pool.dummy


def known_slot(pool: SlotPool, request: str) -> int | None:
    """The row that `request` owns already, or None; row 0 is a row."""
    return pool.owned(request)


def staged(batch_to_slot: Tensor, padded: int) -> Tensor:  # noqa: ARG001  # bugs made a workspace of that size
    """What forwards read the map of a batch of `padded` rows from: the map itself, which stays where it is."""
    return batch_to_slot


def slots_of(batch_to_slot: Tensor, rows: int) -> Tensor:
    """The slots [rows] of the first rows of a batch: a row of the batch is no slot."""
    return batch_to_slot[:rows]


def committed(count: Tensor, lengths: Tensor) -> Tensor:
    """What is committed of `count` [B] tokens that agree: no draft beyond the `lengths` [B] to be verified."""
    return torch.minimum(count, lengths + 1)


def left_after_resume(left: Left, generation: int) -> Left:
    """What a resumed request verifies: the drafts that it had, for they are made for its text, not for a seat."""
    return Left(generation, left.drafts, left.confidence)


def placeholders(draft_len: int, counted: bool) -> list[int]:
    """Drafts of a request that has none yet: zeros, or none at all where drafts are counted."""
    return [] if counted else [0] * draft_len


def relay_key(row: int, seat: int) -> int:  # noqa: ARG001  # a bug took the row, which others have next time
    """Under what a step leaves its result for the next one: the seat."""
    return seat


def result_row(row: int, seat: int) -> int:  # noqa: ARG001  # a bug took the seat
    """Which row of a forward's outputs is that of the request in batch row `row`: the same."""
    return row


def applies(left: Left, generation: int) -> bool:
    """Whether what was left in a seat is for who sits there now."""
    return left.generation == generation


def seed_of(request: str, seed: int) -> int:
    """The sampling seed of a request, its own wherever it sits and whoever sits beside it."""
    return signed(hashed_number(request, seed))


def temperature_of(request: str, seed: int) -> float:
    """The sampling temperature of a request: 0.5, 1 or 1.5, by its name."""
    return 0.5 + hashed_number(request, seed + 1) % 3 / 2


def sampling_rows(seats: Tensor) -> Tensor:
    """Where the sampling parameters of the batch rows in seats [B] are: they are kept by seat."""
    return seats


def resets_state() -> bool:
    """Whether a seat's recurrent state is set back when somebody sits down."""
    return True


def clears_table() -> bool:
    """Whether a seat's page table forgets its pages when they are given back."""
    return True


def more_pages(pool: PagePool, request: str, count: int) -> list[int]:
    """Give `request` that many pages more; that there are none is an error, and nothing to go on with."""
    return pool.acquire(request, count)


def gives_back(way: str, pool: str) -> bool:  # noqa: ARG001  # bugs forgot one of them on one way
    """Whether a request that leaves by "finish", "abort" or "preempt" gives back what it has in `pool`."""
    return True


def retires(overlap: bool, in_flight: bool) -> bool:
    """Whether a seat stays taken for a step: if a step that its request was part of may be under way."""
    return overlap and in_flight


def idle_requests() -> tuple[str, ...]:
    """Requests that an idle step for other ranks brings along: none, its row is padding."""
    return ()


def idle_rows() -> int:
    """Rows of an idle step: one, as no batch is smaller."""
    return 1


def graph_key(bucket: int, draft_len: int) -> tuple[int, int]:
    """What tells graphs apart: a graph is right for one bucket and one draft length."""
    return bucket, draft_len


def voids_graphs() -> bool:
    """Whether graphs go when memory that they read is replaced."""
    return True
