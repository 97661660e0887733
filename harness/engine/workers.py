"""The DFlash and DSpark workers: slot pools allocated at the first draft, and drafting from them.

Index names: B batch rows, K drafted tokens, C context columns, W window columns, L draft layers.
"""

from __future__ import annotations

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
    context        the slot's keys and values, [capacity+1, L, columns, 2, n, d].
    """

    columns: int

    def __init__(self, model: DraftModel, parts: Parts, like: Tensor) -> None:
        self.model = model
        self.pool: SlotPool | None = None
        self.batch_to_slot: Tensor
        self.ctx_len: Tensor
        self.context: Tensor
        self._parts = parts
        self._like = like
        self._offsets = torch.arange(model.draft_len + 1, device=like.device)
        self._column_ids = torch.arange(self.columns, device=like.device)

    def ensure(self, metadata: SpecMetadata) -> SlotPool:
        """Allocate the pools if this is the first draft; return the slot pool."""
        if self.pool is None:
            self.pool = SlotPool("slots", self._parts.pool_capacity(metadata))
            self._allocate(self.pool)
        return self.pool

    def _allocate(self, pool: SlotPool) -> None:
        shape = self.model.shape
        row = (shape.draft_layers, self.columns, 2, shape.kv_heads, shape.head_dim)
        self.context = self._like.new_zeros(pool.rows, *row)
        self.ctx_len = self._like.new_zeros(pool.rows, dtype=torch.int64)
        self.batch_to_slot = self._like.new_full((pool.capacity,), pool.dummy, dtype=torch.int64)

    def admit(self, request: str) -> int:
        """Give `request` a slot with an empty context. Old keys and values stay; the length hides them."""
        assert self.pool is not None
        slot = self.pool.acquire(request)
        self._clear(slot)
        return slot

    def release(self, request: str) -> None:
        """Give the slot of a request that ended back."""
        assert self.pool is not None
        self.pool.release(request)

    def _clear(self, slot: int) -> None:
        self.ctx_len[slot : slot + 1].zero_()

    def prepare(self, batch: tuple[str, ...], padded: int) -> None:
        """Map batch rows to slots. The dummy's context is emptied: it would grow with every padded step."""
        assert self.pool is not None
        live = [self.pool.row(request) for request in batch]
        self._parts.write_rows(self.batch_to_slot, live, padded, self._parts.padding_row(self.pool))
        self._clear(self.pool.dummy)

    def store_context(self, slot: int, states: Tensor) -> None:
        """Append the captured states [T,taps*H] of one prefill chunk to the slot's context."""
        slots = torch.tensor([slot], device=states.device)
        beyond = max(0, states.shape[0] - self.columns)  # a window keeps the newest ones only
        start = self.ctx_len[slots] + beyond
        count = torch.full_like(start, states.shape[0] - beyond)
        offsets = torch.arange(states.shape[0] - beyond, device=states.device)
        self._append(slots, states[beyond:], start, count, offsets)

    def draft(self, states: Tensor, chosen: Tensor, count: Tensor) -> Proposal:
        """Append what a verification committed, then draft from the new anchor.

        states [B*(K+1),taps*H] and chosen [B,K+1] are the target's at anchor and drafts; the first `count`
        [B] rows are committed. The last committed token is the new anchor: its state arrives one step later.
        """
        slots = self.batch_to_slot[: chosen.shape[0]]
        start = self.ctx_len[slots]
        self._append(slots, states, start, count, self._offsets)
        end = start + count
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
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor that outlives a forward, by attribute name; empty before the first draft."""
        return {name: value for name, value in vars(self).items() if torch.is_tensor(value) and name[0] != "_"}


class DFlashWorker(SpecWorker):
    """The whole context, a column a position; K+1 columns of slack take the rows of rejected drafts."""

    def __init__(self, model: DFlashModel, parts: Parts, like: Tensor, max_seq_len: int) -> None:
        self.columns = max_seq_len + model.draft_len + 1
        super().__init__(model, parts, like)

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # Rejected rows are written too: they lie behind the length, and the next append covers them.
        del valid
        self.context.transpose(1, 2).index_put_((slots, positions), rows)

    def _hidden(self, slots: Tensor, end: Tensor) -> Tensor:
        del slots
        return self._column_ids >= end[:, None]


class DSparkWorker(SpecWorker):
    """A rolling window: the token at position p stands in column p modulo W.

    valid_len counts the tokens seen, up to W, so that a context that starts late shows no unwritten column.
    """

    def __init__(self, model: DSparkModel, parts: Parts, like: Tensor) -> None:
        self.columns = model.shape.window
        super().__init__(model, parts, like)
        self.valid_len: Tensor
        if model.draft_len >= self.columns:
            # A step could write one column twice.
            raise ValueError(f"draft_len {model.draft_len} must be below the window, {self.columns}")

    def _allocate(self, pool: SlotPool) -> None:
        super()._allocate(pool)
        self.valid_len = torch.zeros_like(self.ctx_len)

    def _clear(self, slot: int) -> None:
        super()._clear(slot)
        self.valid_len[slot : slot + 1].zero_()

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        # A rejected row's column still holds an older token of the window: put that back.
        ring = self.context.transpose(1, 2)
        index = (slots, positions % self.columns)
        kept = torch.where(valid[:, :, None, None, None, None], rows, ring[index])
        ring.index_put_(index, kept)
        seen = self.valid_len[slots.squeeze(1)] + valid.sum(1)
        self.valid_len.index_put_((slots.squeeze(1),), seen.clamp(max=self.columns))

    def _hidden(self, slots: Tensor, end: Tensor) -> Tensor:
        age = (end[:, None] - 1 - self._column_ids) % self.columns  # 0 is the newest token's column
        return age >= self.valid_len[slots][:, None]


def make_worker(model: DraftModel, parts: Parts, like: Tensor, max_seq_len: int) -> SpecWorker:
    """Return the worker that drives `model`."""
    if isinstance(model, DSparkModel):
        return DSparkWorker(model, parts, like)
    assert isinstance(model, DFlashModel)
    return DFlashWorker(model, parts, like, max_seq_len)
