"""The engine: seats, requests, graphs of buckets, and the step that verifies and drafts."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.draft_models import Proposal
from harness.engine.metadata import SpecMetadata
from harness.engine.models import load_models
from harness.engine.parts import Parts
from harness.engine.requests import Forward, Request
from harness.engine.shape import ModelShape
from harness.engine.slots import SlotPool
from harness.engine.weights import hashed_ids
from harness.engine.workers import SpecWorker, make_worker
from harness.scenario import Config
from harness.trace import RequestState

__all__ = ["Engine"]

Tensor = torch.Tensor
Capture = Callable[[Callable[[], None]], Callable[[], None]]


class Engine:
    """One target, one worker. `capture` makes a replayable graph of a forward; tensors live on `device`.

    inputs   tokens [M,K+1], positions [M] and seats [M] of the batch rows: persistent, read by graphs.
    outputs  int64 [M, (K+1) + 1 + K]: the target's choices, the committed count, the new drafts.
    draft_len  k, the runtime draft length, 0..K: what is verified and proposed. A graph serves the one that it
             was captured at.
    """

    def __init__(
        self,
        config: Config,
        parts: Parts,
        capture: Capture,
        device: str = "cpu",
        dtype: torch.dtype = torch.float64,
        shape: ModelShape | None = None,
    ) -> None:
        shape = shape or ModelShape()
        self.config, self.parts, self.shape = config, parts, shape
        self.metadata = SpecMetadata(config.max_num_requests, config.num_seq_slots)
        self.last = Forward()
        self.target, draft, like = load_models(config, shape, dtype, device)
        k, m = config.draft_len, config.max_num_requests
        self.draft_len = k
        self.seats = SlotPool("seats", self.metadata.num_seq_slots)
        self.cache = self.target.new_cache(self.seats.rows, config.max_seq_len + k + 1)
        self.worker: SpecWorker = make_worker(draft, parts, like, config.max_seq_len)
        self.inputs = {
            "tokens": like.new_zeros(m, k + 1, dtype=torch.int64),
            "positions": like.new_zeros(m, dtype=torch.int64),
            "seats": like.new_zeros(m, dtype=torch.int64),
        }
        self.outputs = like.new_zeros(m, 2 * k + 2, dtype=torch.int64)
        self.confidence = like.new_zeros(m, k)
        self._offsets = torch.arange(k + 1, device=device)
        self._capture = capture
        self._graphs: dict[tuple[int, int], Callable[[], None]] = {}
        self._requests: dict[str, Request] = {}

    def warmup(self, bucket: int | None) -> None:
        """Run a batch of padding alone, in the shape of `bucket` or of the largest eager batch."""
        self._forward(self._prepare_padding(bucket))

    def capture(self, bucket: int) -> None:
        """Capture the bucket's graph, which runs its shape once to warm up. Only the dummy row may change."""
        rows = self._prepare_padding(bucket)
        self._graphs[bucket, self.draft_len] = self._capture(lambda: self._forward(rows))

    def _prepare_padding(self, bucket: int | None) -> int:
        """Prepare a batch of padding alone; return its rows. Pools are allocated here, never in a capture."""
        metadata = self.metadata if bucket is None else self.parts.graph_copy(self.metadata, bucket)
        rows = metadata.max_num_requests
        names = self.parts.warmup_requests(rows)
        self._prepare((), rows, metadata, [(name, 0) for name in names])
        self.last = Forward(names, rows)
        return rows

    def admit(self, name: str, prompt_len: int, chunks: tuple[int, ...], cached: int = 0) -> None:
        """Seat a request and prefill its prompt; the first token is the target's, its drafts are zeros.

        The states of `cached` tokens at its start stay unknown to the worker.
        """
        request = self._seat(name, prompt_len)
        self.worker.ensure(self.metadata)
        if cached:
            self._prefill(request, None, 0, cached)
        slot, start = self.worker.admit(name, cached), cached
        for chunk in chunks or (prompt_len - cached,):
            first = self._prefill(request, slot, start, chunk)
            start += chunk
        self._start(request, first, *self.worker.counts([slot])[0])

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Seat a request that another server prefilled: the target's cache came over, the worker knows nothing."""
        request = self._seat(name, context_len)
        self._start(request, self._prefill(request, None, 0, context_len))

    def _seat(self, name: str, prompt_len: int) -> Request:
        prompt = hashed_ids(name, prompt_len, self.shape.mask_token, self.config.seed)
        return Request(name, self.seats.acquire(name), prompt, prompt_len)

    def _start(self, request: Request, first: int, context: int | None = None, visible: int | None = None) -> None:
        request.tokens.append(first)
        request.drafts = self._revised(request, [0] * self.draft_len)
        self._requests[request.name] = request
        state = RequestState(
            request.position, (first,), 0, tuple(request.drafts), context=context, visible=visible
        )
        self.last = Forward((request.name,), 1, None, {request.name: state})

    def step(self, names: tuple[str, ...] | None, graph: bool | None) -> None:
        """Verify the batch's drafts and draft anew, by the smallest captured bucket that fits or eagerly."""
        batch = tuple(self._requests) if names is None else names
        self._run(batch, graph)

    def idle(self, dp_dummy: bool) -> None:
        """Run a batch of one padding row if other ranks wait for this one's part, else nothing."""
        self.last = Forward()
        if dp_dummy:
            self._run((), None)

    def finish(self, name: str) -> None:
        """End a request, by itself or by abort; seat and slot are free at once."""
        del self._requests[name]
        self.seats.release(name)
        self.worker.release(name)
        self.last = Forward()

    def set_draft_len(self, k: int) -> None:
        """Verify and propose `k` drafts from now on."""
        self.draft_len = k
        self.last = Forward()

    def rebind(self) -> None:
        """Move the worker's pools to other memory. Graphs captured before would read the old one: they go."""
        if self.worker.rebind():
            self._graphs.clear()
        self.last = Forward()

    def output(self, name: str) -> list[int]:
        """Return the tokens that a running request has produced."""
        request = self._requests[name]
        return request.tokens[request.prompt_len :]

    def _run(self, batch: tuple[str, ...], graph: bool | None) -> None:
        rows = max(1, len(batch))
        fitting = [bucket for bucket, k in self._graphs if bucket >= rows and k == self.draft_len]
        bucket = None if graph is False else min(fitting, default=None)
        padded = bucket or rows
        self._prepare(batch, padded, self.metadata)
        if bucket is None:
            self._forward(padded)
        else:
            self._graphs[bucket, self.draft_len]()
        self.last = Forward(batch, padded, bucket, self._commit(batch))

    def _prefill(self, request: Request, slot: int | None, start: int, count: int) -> int:
        device = self.cache.device
        tokens = torch.tensor([request.tokens[start : start + count]], device=device)
        positions = torch.arange(start, start + count, device=device)[None]
        seats = torch.tensor([request.seat], device=device)
        chosen, states = self.target.forward(tokens, positions, seats, self.cache)
        if slot is not None:
            self.worker.store_context(slot, states)
        return int(chosen[0, -1])

    def _prepare(
        self,
        batch: tuple[str, ...],
        padded: int,
        metadata: SpecMetadata,
        others: list[tuple[str, int]] | None = None,
    ) -> None:
        """Write the graph inputs of a batch; `others` are requests that the worker alone knows of."""
        requests = [self._requests[name] for name in batch]
        width = self.config.draft_len + 1
        write = self.parts.write_rows
        write(self.inputs["tokens"], [r.verified(self.draft_len, width) for r in requests], padded, 0)
        write(self.inputs["positions"], [r.position for r in requests], padded, 0)
        write(self.inputs["seats"], [r.seat for r in requests], padded, self.seats.dummy)
        first = self.worker.pool is None
        self.worker.ensure(metadata)
        if self.parts.prepares_at_once(first):
            self.worker.prepare([*((r.name, r.position) for r in requests), *(others or ())], padded)

    def _forward(self, rows: int) -> None:
        """Verify k drafts a row and, unless k is 0, draft: everything here is on the device."""
        k, width = self.draft_len, self.config.draft_len + 1
        tokens = self.inputs["tokens"][:rows, : k + 1]
        positions = self.inputs["positions"][:rows, None] + self._offsets[: k + 1]
        chosen, states = self.target.forward(tokens, positions, self.inputs["seats"][:rows], self.cache)
        count = self.parts.accept(tokens, chosen)
        if k:
            proposal = self.worker.draft(states, chosen, count)
        else:  # the worker only follows, so that it knows the whole context when drafting comes back
            self.worker.follow(states, count)
            proposal = Proposal(chosen.new_zeros(rows, width - 1), None)
        if k + 1 < width:
            chosen = F.pad(chosen, (0, width - k - 1))
        self.outputs[:rows].copy_(torch.cat([chosen, count[:, None], proposal.drafts], 1))
        if proposal.confidence is not None:
            self.confidence[:rows].copy_(proposal.confidence)

    def _commit(self, batch: tuple[str, ...]) -> dict[str, RequestState]:
        k, width = self.draft_len, self.config.draft_len + 1
        rows = self.outputs[: len(batch)].tolist()
        confidence = self.confidence[: len(batch), :k].tolist() if self.config.worker == "dspark" else None
        counts = self.worker.counts(self.worker.batch_to_slot[: len(batch)])
        states = {}
        for index, (name, row) in enumerate(zip(batch, rows, strict=True)):
            request, count = self._requests[name], row[width]
            request.tokens += row[:count]
            request.drafts = self._revised(request, row[width + 1 :][:k])
            sure = tuple(confidence[index]) if confidence else ()
            context, visible = counts[index]
            states[name] = RequestState(
                request.position, tuple(row[:count]), count - 1, tuple(request.drafts), sure,
                context=context, visible=visible,
            )  # fmt: skip
        return states

    def _revised(self, request: Request, drafts: list[int]) -> list[int]:
        return self.parts.revise(request.name, request.position, drafts)
