"""The engine: seats, requests, graphs of buckets, and the step that verifies and drafts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from harness.engine.metadata import SpecMetadata
from harness.engine.models import load_models
from harness.engine.parts import Parts
from harness.engine.shape import ModelShape
from harness.engine.slots import SlotPool
from harness.engine.weights import hashed_ids
from harness.engine.workers import SpecWorker, make_worker
from harness.scenario import Config
from harness.trace import RequestState

__all__ = ["Engine", "Forward", "Request"]

Tensor = torch.Tensor
Capture = Callable[[Callable[[], None]], Callable[[], None]]


@dataclass
class Request:
    """A running request. `tokens` are prompt and output; the last one is the anchor, not consumed yet."""

    name: str
    seat: int
    tokens: list[int]
    prompt_len: int
    drafts: list[int] = field(default_factory=list)

    @property
    def position(self) -> int:
        """The anchor's position: how many tokens the target has consumed."""
        return len(self.tokens) - 1


@dataclass(frozen=True)
class Forward:
    """What the last operation ran: its rows in order, their number with padding, the graph replayed."""

    batch: tuple[str, ...] = ()
    padded: int = 0
    graph: int | None = None
    requests: dict[str, RequestState] = field(default_factory=dict)


class Engine:
    """One target, one worker. `capture` makes a replayable graph of a forward; tensors live on `device`.

    inputs   tokens [M,K+1], positions [M] and seats [M] of the batch rows: persistent, read by graphs.
    outputs  int64 [M, (K+1) + 1 + K]: the target's choices, the committed count, the new drafts.
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
        self.seats = SlotPool("seats", self.metadata.num_seq_slots)
        self.cache = self.target.new_cache(self.seats.rows)
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
        self._graphs: dict[int, Callable[[], None]] = {}
        self._requests: dict[str, Request] = {}

    def warmup(self, bucket: int | None) -> None:
        """Run a batch of padding alone, in the shape of `bucket` or of the largest eager batch."""
        self._forward(self._prepare_padding(bucket))

    def capture(self, bucket: int) -> None:
        """Capture the bucket's graph, which runs its shape once to warm up. Only the dummy row may change."""
        rows = self._prepare_padding(bucket)
        self._graphs[bucket] = self._capture(lambda: self._forward(rows))

    def _prepare_padding(self, bucket: int | None) -> int:
        """Prepare a batch of padding alone; return its rows. Pools are allocated here, never in a capture."""
        metadata = self.metadata if bucket is None else self.parts.graph_copy(self.metadata, bucket)
        self.worker.ensure(metadata)
        self._prepare((), metadata.max_num_requests)
        self.last = Forward(padded=metadata.max_num_requests)
        return metadata.max_num_requests

    def admit(self, name: str, prompt_len: int, chunks: tuple[int, ...]) -> None:
        """Seat a request and prefill its prompt; the first token is the target's, its drafts are zeros."""
        prompt = hashed_ids(name, prompt_len, self.shape.mask_token, self.config.seed)
        self.worker.ensure(self.metadata)
        request = Request(name, self.seats.acquire(name), prompt, prompt_len)
        slot = self.worker.admit(name)
        start, first = 0, 0
        for chunk in chunks or (prompt_len,):
            first = self._prefill(request, slot, start, chunk)
            start += chunk
        request.tokens.append(first)
        request.drafts = self._revised(request, [0] * self.config.draft_len)
        self._requests[name] = request
        state = RequestState(request.position, (first,), 0, tuple(request.drafts))
        self.last = Forward((name,), 1, None, {name: state})

    def step(self, names: tuple[str, ...] | None, graph: bool | None) -> None:
        """Verify the batch's drafts and draft anew, by the smallest captured bucket that fits or eagerly."""
        batch = tuple(self._requests) if names is None else names
        fitting = [] if graph is False else [bucket for bucket in self._graphs if bucket >= len(batch)]
        bucket = min(fitting, default=None)
        padded = len(batch) if bucket is None else bucket
        self.worker.ensure(self.metadata)
        self._prepare(batch, padded)
        if bucket is None:
            self._forward(padded)
        else:
            self._graphs[bucket]()
        self.last = Forward(batch, padded, bucket, self._commit(batch))

    def finish(self, name: str) -> None:
        """End a request, by itself or by abort; seat and slot are free at once."""
        del self._requests[name]
        self.seats.release(name)
        self.worker.release(name)
        self.last = Forward()

    def output(self, name: str) -> list[int]:
        """Return the tokens that a running request has produced."""
        request = self._requests[name]
        return request.tokens[request.prompt_len :]

    def _prefill(self, request: Request, slot: int, start: int, count: int) -> int:
        device = self.cache.device
        tokens = torch.tensor([request.tokens[start : start + count]], device=device)
        positions = torch.arange(start, start + count, device=device)[None]
        seats = torch.tensor([request.seat], device=device)
        chosen, states = self.target.forward(tokens, positions, seats, self.cache)
        self.worker.store_context(slot, states)
        return int(chosen[0, -1])

    def _prepare(self, batch: tuple[str, ...], padded: int) -> None:
        requests = [self._requests[name] for name in batch]
        write = self.parts.write_rows
        write(self.inputs["tokens"], [[r.tokens[-1], *r.drafts] for r in requests], padded, 0)
        write(self.inputs["positions"], [r.position for r in requests], padded, 0)
        write(self.inputs["seats"], [r.seat for r in requests], padded, self.seats.dummy)
        self.worker.prepare(batch, padded)

    def _forward(self, rows: int) -> None:
        tokens = self.inputs["tokens"][:rows]
        positions = self.inputs["positions"][:rows, None] + self._offsets
        chosen, states = self.target.forward(tokens, positions, self.inputs["seats"][:rows], self.cache)
        count = self.parts.accept(tokens, chosen)
        proposal = self.worker.draft(states, chosen, count)
        self.outputs[:rows].copy_(torch.cat([chosen, count[:, None], proposal.drafts], 1))
        if proposal.confidence is not None:
            self.confidence[:rows].copy_(proposal.confidence)

    def _commit(self, batch: tuple[str, ...]) -> dict[str, RequestState]:
        width = self.config.draft_len + 1
        rows = self.outputs[: len(batch)].tolist()
        confidence = self.confidence[: len(batch)].tolist() if self.config.worker == "dspark" else None
        states = {}
        for index, (name, row) in enumerate(zip(batch, rows, strict=True)):
            request, count = self._requests[name], row[width]
            request.tokens += row[:count]
            request.drafts = self._revised(request, row[width + 1 :])
            sure = tuple(confidence[index]) if confidence else ()
            states[name] = RequestState(
                request.position, tuple(row[:count]), count - 1, tuple(request.drafts), sure
            )
        return states

    def _revised(self, request: Request, drafts: list[int]) -> list[int]:
        return self.parts.revise(request.name, request.position, drafts)
