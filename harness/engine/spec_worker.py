"""What the DFlash and DSpark workers share: slot pools allocated at the first draft, and drafting from them.

Index names: B batch rows, K drafted tokens, C context columns, W window columns, L draft layers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.engine.draft_models import DraftModel, Proposal
from harness.engine.metadata import SpecMetadata
from harness.engine.parts import Parts
from harness.engine.sampling import DraftPick, Rows
from harness.engine.slots import SlotPool

__all__ = ["SpecWorker"]

Tensor = torch.Tensor


class SpecWorker:
    """What both workers share: lazy pools, the slot map, context lengths.

    pool           None until the first forward that drafts; that forward's metadata sizes everything.
    batch_to_slot  int64 [capacity], indexed by batch row.
    ctx_len        int64 [capacity+1]: context tokens of the slot's request, its anchor's position.
    ctx_start      int64 [capacity+1]: the first of them whose state this worker saw, 0 unless the context
                   began elsewhere. Drafts attend to tokens from here on.
    context        the slot's keys and values, [capacity+1, L, columns, 2, n, d].
    draft_probs    under sampling, the distributions that the slot's drafts were drawn from, [capacity+1, K, V].

    A token at position p stands in column p modulo `period`.
    """

    columns: int
    period: int

    def __init__(self, model: DraftModel, parts: Parts, like: Tensor, sampling: bool = False) -> None:
        self.model = model
        self.pool: SlotPool | None = None
        self.batch_to_slot: Tensor
        self.ctx_len: Tensor
        self.ctx_start: Tensor
        self.context: Tensor
        self._parts = parts
        self._like = like
        self._sampling = sampling
        self._offsets = torch.arange(model.draft_len + 1, device=like.device)
        self._staged: Tensor  # what the map is read from
        self._claimed: dict[str, int] = {}  # where prefills go: also what a refused request was sent to
        self._next_columns = torch.arange(1, self.columns + 1, device=like.device)

    def ensure(self, metadata: SpecMetadata) -> SlotPool:
        """Allocate the pools if this is the first draft; return the slot pool."""
        if self.pool is None:
            self._allocate(SlotPool("slots", self._parts.pool_capacity(metadata)), metadata)
        assert self.pool is not None
        return self.pool

    def _allocate(self, pool: SlotPool, metadata: SpecMetadata) -> None:
        shape = self.model.shape
        row = (shape.draft_layers, self.columns, 2, shape.kv_heads, shape.head_dim)
        self.pool = pool
        self.context = self._like.new_zeros(pool.rows, *row)
        self.ctx_len = self._like.new_zeros(pool.rows, dtype=torch.int64)
        self.ctx_start = torch.zeros_like(self.ctx_len)
        unmapped = self._parts.unmapped_row(pool)
        entries = self._parts.map_capacity(metadata, pool)
        self.batch_to_slot = self._staged = self._like.new_full((entries,), unmapped, dtype=torch.int64)
        if self._sampling:
            self.draft_probs = self._like.new_zeros(pool.rows, self.model.draft_len, shape.vocab)

    def rebind(self) -> bool:
        """Move everything to other memory. Returns whether it did; if not, the next draft allocates anew."""
        if not self._parts.survives_rebind():
            self.pool = None
            return False
        for name, tensor in self.tensors().items():
            setattr(self, name, tensor.clone())
        if self.pool is not None:
            self._staged = self.batch_to_slot
        return True

    def admit(self, request: str, position: int) -> None:
        """Give `request` a slot for a prefill that starts at `position`. Old keys and values stay, but hidden."""
        assert self.pool is not None
        slot, fresh = self._parts.claim_row(self.pool, request, position)
        self._claimed[request] = slot
        if fresh:
            self._begin(slot, *self._parts.after_prefix(position))

    def restart(self, request: str, position: int) -> None:
        """Begin the context of `request` at `position` once more."""
        self._begin(self._claimed[request], *self._parts.after_prefix(position))

    def slot(self, request: str) -> int | None:
        """Return where prefills of `request` go: the row that it was given, or what it was sent to instead."""
        return self._claimed.get(request)

    def kept(self, request: str) -> Tensor | None:
        """Return a copy of what the drafts of `request` were drawn from, [K,V]; None without sampling."""
        return self.draft_probs[self._row_of(request)].clone() if self._sampling else None

    def put_back(self, request: str, drafted: Tensor) -> None:
        """Make [K,V] what the drafts of `request` were drawn from, in the slot that it has now."""
        self.draft_probs[self._row_of(request)] = drafted

    def _row_of(self, request: str) -> int:
        row = None if self.pool is None else self._parts.known_slot(self.pool, request)
        assert row is not None, f"{request!r} has no slot"
        return row

    def release(self, request: str, way: str, *, late: bool) -> None:
        """Take the slot of a request that leaves back, if it ever had one; late: handed out after a batch."""
        self._claimed.pop(request, None)
        if self.pool is None or not self._parts.gives_back(way, self.pool.name):
            return
        if late:
            self.pool.retire(request)
        else:
            self._parts.give_back(self.pool, request)

    def _begin(self, slot: int, length: int, start: int) -> None:
        self.ctx_len[slot : slot + 1].fill_(length)
        self.ctx_start[slot : slot + 1].fill_(start)

    def prepare(self, batch: Sequence[tuple[str, int]], padded: int) -> None:
        """Map batch rows, (request, position) each, to slots; a request met for the first time gets one here.

        What was retired is free from here on: the step that it was kept for is over.
        """
        pool = self.pool
        assert pool is not None
        for request in self._parts.let_go(pool, [request for request, _ in batch]):
            pool.release(request)
        live = [self._row(pool, request, position) for request, position in batch]
        self._parts.write_rows(self.batch_to_slot, live, padded, self._parts.padding_row(pool))
        self._staged = self._parts.staged(self.batch_to_slot, padded)
        self._parts.empty_dummy(self.ctx_len, pool.dummy)
        pool.reclaim()

    def _row(self, pool: SlotPool, request: str, position: int) -> int:
        row = self._parts.known_slot(pool, request)
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
        slots = self._parts.slots_of(self._staged, count.shape[0])
        start = self.ctx_len[slots]
        end = self._append(slots, states, start, count, self._offsets[: states.shape[0] // count.shape[0]])
        return slots, end

    def draft(self, states: Tensor, chosen: Tensor, count: Tensor, sampled: Rows | None = None) -> Proposal:
        """Append what a verification committed, then draft from the new anchor, greedily or as `sampled` says.

        chosen [B,T] is the target's choice after each verified token. The last committed token is the new
        anchor: its state arrives one step later.
        """
        slots, end = self.follow(states, count)
        anchor = chosen.gather(1, count[:, None] - 1).squeeze(1)
        seen = self.context[slots], self._hidden(slots, end)
        if sampled is None:
            return self.model.propose(anchor, end, *seen)
        pick = DraftPick(sampled, end)
        proposal = self.model.propose(anchor, end, *seen, pick)
        self.draft_probs.index_put_((slots,), pick.distributions)
        return proposal

    def drafted(self, rows: int) -> Tensor:
        """Return [rows,K,V]: the distributions that the drafts of the batch's rows were drawn from."""
        return self.draft_probs[self._parts.slots_of(self._staged, rows)]

    def _append(self, slots: Tensor, states: Tensor, start: Tensor, count: Tensor, offsets: Tensor) -> Tensor:
        positions = start[:, None] + offsets
        rows = self.model.context_rows(states, self._parts.turned_to(positions))
        self._write(slots[:, None], positions, rows, offsets < count[:, None])
        end = self._parts.advance(start, count)
        self.ctx_len.index_put_((slots,), end)
        return end

    def _write(self, slots: Tensor, positions: Tensor, rows: Tensor, valid: Tensor) -> None:
        raise NotImplementedError

    def _hidden(self, slots: Tensor, end: Tensor) -> Tensor:
        """Return bool [B,columns]: columns that hold nothing of a context of `end` [B] tokens."""
        age = (end[:, None] - self._next_columns) % self.period  # 0 is the newest token's column
        return self._parts.hidden_by_age(age, (end - self.ctx_start[slots])[:, None])

    def counts(self, slots: Tensor | list[int]) -> list[tuple[int, int]]:
        """Return (context tokens, how many of them a draft attends to) of the given slots."""
        lengths, starts = torch.stack([self.ctx_len, self.ctx_start])[:, slots].tolist()
        return [(length, self._attended(length, start)) for length, start in zip(lengths, starts, strict=True)]

    def _attended(self, length: int, start: int) -> int:
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        """Return every tensor that outlives a forward, by attribute name; empty before the first draft."""
        return {name: value for name, value in vars(self).items() if torch.is_tensor(value) and name[0] != "_"}
