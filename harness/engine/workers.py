"""The DFlash and DSpark workers: slot pools allocated at the first draft, and drafting from them.

Index names: B batch rows, K drafted tokens, C context columns, W window columns, L draft layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.engine.draft_models import DFlashModel, DraftModel, DSparkModel, Proposal
from harness.engine.metadata import SpecMetadata
from harness.engine.parts import Parts
from harness.engine.slots import SlotPool

__all__ = ["DFlashWorker", "DSparkWorker", "SpecWorker", "make_worker"]

Tensor = torch.Tensor


class SpecWorker:
    """What both workers share: lazy pools, the slot map, context lengths.

    pool           None until the first forward that drafts; that forward's metadata sizes everything.
    batch_to_slot  int64 [capacity], indexed by batch row.
    ctx_len        int64 [capacity+1]: context tokens of the slot's request, its anchor's position.
    ctx_start      int64 [capacity+1]: the first of them whose state this worker saw, 0 unless the context
                   began elsewhere. Drafts attend to tokens from here on.
    context        the slot's keys and values, [capacity+1, L, columns, 2, n, d].

    A token at position p stands in column p modulo `period`.
    """

    columns: int
    period: int

    def __init__(self, model: DraftModel, parts: Parts, like: Tensor) -> None:
        self.model = model
        self.pool: SlotPool | None = None
        self.batch_to_slot: Tensor
        self.ctx_len: Tensor
        self.ctx_start: Tensor
        self.context: Tensor
        self._parts = parts
        self._like = like
        self._offsets = torch.arange(model.draft_len + 1, device=like.device)
        self._next_columns = torch.arange(1, self.columns + 1, device=like.device)

    def ensure(self, metadata: SpecMetadata) -> SlotPool:
        """Allocate the pools if this is the first draft; return the slot pool."""
        if self.pool is None:
            self._allocate(SlotPool("slots", self._parts.pool_capacity(metadata)))
        assert self.pool is not None
        return self.pool

    def _allocate(self, pool: SlotPool) -> None:
        shape = self.model.shape
        row = (shape.draft_layers, self.columns, 2, shape.kv_heads, shape.head_dim)
        self.pool = pool
        self.context = self._like.new_zeros(pool.rows, *row)
        self.ctx_len = self._like.new_zeros(pool.rows, dtype=torch.int64)
        self.ctx_start = torch.zeros_like(self.ctx_len)
        unmapped = self._parts.unmapped_row(pool)
        self.batch_to_slot = self._like.new_full((pool.capacity,), unmapped, dtype=torch.int64)

    def rebind(self) -> bool:
        """Move everything to other memory. Returns whether it did; if not, the next draft allocates anew."""
        if not self._parts.survives_rebind():
            self.pool = None
            return False
        for name, tensor in self.tensors().items():
            setattr(self, name, tensor.clone())
        return True

    def admit(self, request: str, position: int) -> int:
        """Give `request` a slot for a prefill that starts at `position`. Old keys and values stay, but hidden."""
        assert self.pool is not None
        slot, fresh = self._parts.claim_row(self.pool, request, position)
        if fresh:
            self._begin(slot, position, position)
        return slot

    def release(self, request: str) -> None:
        """Give the slot of a request that ended back, if it ever had one."""
        if self.pool is not None:
            self._parts.give_back(self.pool, request)

    def _begin(self, slot: int, length: int, start: int) -> None:
        self.ctx_len[slot : slot + 1].fill_(length)
        self.ctx_start[slot : slot + 1].fill_(start)

    def prepare(self, batch: Sequence[tuple[str, int]], padded: int) -> None:
        """Map batch rows, (request, position) each, to slots; a request met for the first time gets one here."""
        pool = self.pool
        assert pool is not None
        pool.reclaim()
        for request in self._parts.let_go(pool, [request for request, _ in batch]):
            pool.release(request)
        live = [self._row(pool, request, position) for request, position in batch]
        self._parts.write_rows(self.batch_to_slot, live, padded, self._parts.padding_row(pool))
        self._parts.empty_dummy(self.ctx_len, pool.dummy)

    def _row(self, pool: SlotPool, request: str, position: int) -> int:
        row = pool.row(request)
        if row is None:
            row = self._parts.row_without_slot(pool)
        if row is None:
            row, _ = self._parts.claim_row(pool, request, position)
            self._begin(row, *self._parts.handed_over(position))
        return row

    def store_context(self, slot: int, states: Tensor) -> None:
        """Append the captured states [T,taps*H] of one prefill chunk to the slot's context."""
        slots = torch.tensor([slot], device=states.device)
        beyond = max(0, states.shape[0] - self.columns)  # a window keeps the newest ones only
        start = self.ctx_len[slots] + beyond
        count = torch.full_like(start, states.shape[0] - beyond)
        offsets = torch.arange(states.shape[0] - beyond, device=states.device)
        self._append(slots, states[beyond:], start, count, offsets)

    def follow(self, states: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        """Append what a verification committed; return the rows' slots and new lengths, [B] each.

        states [B*T,taps*H] are the target's at the anchor and the T-1 verified drafts; the first `count` [B]
        of a row's T are committed.
        """
        slots = self.batch_to_slot[: count.shape[0]]
        start = self.ctx_len[slots]
        self._append(slots, states, start, count, self._offsets[: states.shape[0] // count.shape[0]])
        return slots, start + count

    def draft(self, states: Tensor, chosen: Tensor, count: Tensor) -> Proposal:
        """Append what a verification committed, then draft from the new anchor.

        chosen [B,T] is the target's choice after each verified token. The last committed token is the new
        anchor: its state arrives one step later.
        """
        slots, end = self.follow(states, count)
        anchor = chosen.gather(1, count[:, None] - 1).squeeze(1)
        return self.model.propose(anchor, end, self.context[slots], self._hidden(slots, end))

    def _append(self, slots: Tensor, states: Tensor, start: Tensor, count: Tensor, offsets: Tensor) -> None:
        positions = start[:, None] + offsets
        rows = self.model.context_rows(states, positions)
        self._write(slots[:, None], positions, rows, offsets < count[:, None])
        self.ctx_len.index_put_((slots,), start + count)

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        raise NotImplementedError

    def _hidden(self, slots: Tensor, end: Tensor) -> Tensor:
        """Return bool [B,columns]: columns that hold nothing of a context of `end` [B] tokens."""
        age = (end[:, None] - self._next_columns) % self.period  # 0 is the newest token's column
        return age >= (end - self.ctx_start[slots])[:, None]

    def counts(self, slots: Tensor | list[int]) -> list[tuple[int, int]]:
        """Return (context tokens, how many of them a draft attends to) of the given slots."""
        lengths, starts = torch.stack([self.ctx_len, self.ctx_start])[:, slots].tolist()
        return [(length, self._attended(length, start)) for length, start in zip(lengths, starts, strict=True)]

    def _attended(self, length: int, start: int) -> int:
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor that outlives a forward, by attribute name; empty before the first draft."""
        return {name: value for name, value in vars(self).items() if torch.is_tensor(value) and name[0] != "_"}


class DFlashWorker(SpecWorker):
    """The whole context, a column a position; K+1 columns of slack take the rows of rejected drafts."""

    period = 1 << 40  # no position comes round again

    def __init__(self, model: DFlashModel, parts: Parts, like: Tensor, max_seq_len: int) -> None:
        self.columns = max_seq_len + model.draft_len + 1
        super().__init__(model, parts, like)

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # Rejected rows are written too: they lie behind the length, and the next append covers them.
        del valid
        self.context.transpose(1, 2).index_put_((slots, positions), rows)

    def _attended(self, length: int, start: int) -> int:
        return length - max(start, 0)


class DSparkWorker(SpecWorker):
    """A rolling window of the newest W tokens."""

    def __init__(self, model: DSparkModel, parts: Parts, like: Tensor) -> None:
        self.columns = self.period = model.shape.window
        super().__init__(model, parts, like)
        if model.draft_len >= self.columns:
            # A step could write one column twice.
            raise ValueError(f"draft_len {model.draft_len} must be below the window, {self.columns}")

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # A rejected row's column still holds an older token of the window: put that back.
        ring = self.context.transpose(1, 2)
        index = (slots, positions % self.columns)
        kept = torch.where(valid[:, :, None, None, None, None], rows, ring[index])
        ring.index_put_(index, kept)

    def _attended(self, length: int, start: int) -> int:
        return min(self.columns, length - start)


def make_worker(model: DraftModel, parts: Parts, like: Tensor, max_seq_len: int) -> SpecWorker:
    """Return the worker that drives `model`."""
    if isinstance(model, DSparkModel):
        return DSparkWorker(model, parts, like)
    assert isinstance(model, DFlashModel)
    return DFlashWorker(model, parts, like, max_seq_len)
