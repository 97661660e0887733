"""The engine: its requests, the graphs of its buckets, and the operations on both."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from harness.engine.forward import BatchForward
from harness.engine.metadata import SpecMetadata, shown
from harness.engine.models import default_shape, load_models, make_prompt
from harness.engine.parts import Parts
from harness.engine.prefill import Prefill
from harness.engine.requests import Forward, Request
from harness.engine.seating import Seating
from harness.engine.shape import ModelShape
from harness.engine.spec_worker import SpecWorker
from harness.engine.steps import Plan, Steps
from harness.engine.workers import make_worker
from harness.scenario import Config

__all__ = ["Engine"]

Capture = Callable[[Callable[[], None]], Callable[[], None]]


def _nobody_listens(pool: str, row: int) -> None:
    del pool, row


class _Graph(NamedTuple):
    """A captured graph: what replays it, the metadata it is told by, the tokens that it consumes."""

    replay: Callable[[], None]
    told: SpecMetadata
    used: int


class Engine:
    """One target, one worker. `capture` makes a replayable graph of a forward; tensors live on `device`.

    draft_len  k, the runtime draft length, 0..K: what is verified and proposed. A graph serves the one that it
               was captured at.
    acquired   is told the pool and row of whoever is seated, before anything is written there.
    """

    def __init__(
        self,
        config: Config,
        parts: Parts,
        capture: Capture,
        device: str = "cpu",
        dtype: torch.dtype = torch.float64,
        shape: ModelShape | None = None,
        acquired: Callable[[str, int], None] = _nobody_listens,
    ) -> None:
        shape = shape or default_shape(config)
        self.config, self.parts, self.shape = config, parts, shape
        self.draft_len = config.draft_len
        self.metadata = SpecMetadata(config.max_num_requests, config.num_seq_slots, draft_len=config.draft_len)
        self.last = Forward()
        self.target, draft, like = load_models(config, shape, dtype, device)
        self.seating = Seating(config, parts, parts.seat_capacity(self.metadata), self.target, like, acquired)
        self.worker: SpecWorker = make_worker(draft, parts, like, config.max_seq_len, config.sampling)
        self.forward = BatchForward(config, parts, self.target, self.worker, self.seating, like)
        self._steps = Steps(config, parts, self.forward, self.worker, self.seating)
        self._prefill = Prefill(parts, self.forward, self.worker, self.seating, self.metadata)
        self._capture = capture
        self._graphs: dict[tuple[int, int], _Graph] = {}
        self._requests: dict[str, Request] = {}
        self._preempted: dict[str, Request] = {}
        self._in_flight: set[str] = set()

    def warmup(self, bucket: int | None) -> None:
        """Run a batch of padding alone, in the shape of `bucket` or of the largest eager batch."""
        rows, _ = self._prepare_padding(bucket)
        self.forward.run(rows, self.draft_len)

    def capture(self, bucket: int) -> None:
        """Capture the bucket's graph, which runs its shape once to warm up. Only the dummy row may change."""
        (rows, told), k = self._prepare_padding(bucket), self.draft_len
        replay = self._capture(lambda: self.forward.run(rows, k))
        self._graphs[self.parts.graph_key(bucket, k)] = _Graph(replay, told, self.forward.used)

    def _prepare_padding(self, bucket: int | None) -> tuple[int, SpecMetadata]:
        """Prepare a batch of padding alone; return its rows and what it is told.

        Pools are allocated here, never in a capture.
        """
        told = self.metadata if bucket is None else self.parts.graph_copy(self.metadata, bucket)
        rows = told.max_num_requests
        names = self.parts.warmup_requests(rows)
        self._tell(names, (0,) * len(names), rows * (self.draft_len + 1), told)
        self._prepare(Plan(padded=rows), told)
        self.last = Forward(names, rows)
        return rows, told

    def admit(
        self, name: str, prompt_len: int, chunks: tuple[int, ...], cached: int = 0, pause: bool = False
    ) -> None:
        """Seat a request and prefill its prompt; the first token is the target's, its drafts are zeros.

        The states of `cached` tokens at its start stay unknown to the worker. With `pause` the chunks behind
        the first one wait for `prefill`.
        """
        request = self._seat(name, prompt_len, list(chunks or (prompt_len - cached,)), cached)
        self._prefill.begin(request)
        self.prefill(name)
        while request.chunks and not pause:
            self.prefill(name)

    def prefill(self, name: str) -> None:
        """Run the next chunk of a request; behind the last one it has its first token and can take steps."""
        request = self._requests[name]
        count = request.chunks[0]
        self._tell((name,), (request.done,), count)
        self._prefilled(request, self._prefill.next_chunk(request), count)

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Seat a request that another server prefilled: the target's cache came over, the worker knows nothing."""
        request = self._seat(name, context_len, [], context_len)
        self._tell((name,), (0,), context_len)
        self._prefilled(request, self._prefill.handed_over(request), context_len)

    def _seat(self, name: str, prompt_len: int, chunks: list[int], seen_from: int) -> Request:
        prompt = make_prompt(self.config, self.shape, name, prompt_len)
        request = Request(name, prompt, prompt_len, seen_from, chunks)
        request.seat, request.generation = self.seating.take(name)
        self._requests[name] = request
        return request

    def _prefilled(self, request: Request, first: int | None, count: int) -> None:
        emitted = () if first is None else (first,)
        request.tokens += emitted
        self.last = self._steps.beside(request, emitted, self.draft_len, count, self._prefill.reserved)

    def step(self, names: tuple[str, ...] | None, graph: bool | None) -> None:
        """Verify the batch's drafts and draft anew, by the smallest captured bucket that fits or eagerly."""
        ready = (name for name, request in self._requests.items() if not request.chunks)
        self._run([self._requests[name] for name in (ready if names is None else names)], graph)

    def idle(self, dp_dummy: bool) -> None:
        """Run a batch of one padding row if other ranks wait for this one's part, else nothing."""
        self.last = Forward()
        if dp_dummy:
            self._run([], None)

    def finish(self, name: str) -> None:
        """End a request by itself; with overlap it keeps its seat while a step of it may be under way."""
        self._leave(name, "finish")

    def abort(self, name: str) -> None:
        """End a request from outside, wherever it is: running, between chunks, or preempted."""
        self._leave(name, "abort")

    def preempt(self, name: str) -> None:
        """Take seat, slot and state of a request away; its tokens and drafts are kept."""
        request = self._requests[name]
        self._steps.set_aside(request)
        self._leave(name, "preempt")
        self._preempted[name] = request

    def resume(self, name: str) -> None:
        """Seat a preempted request again and compute what it had, so that it goes on as if nothing had been."""
        request = self._preempted.pop(name)
        request.seat, request.generation = self.seating.take(name)
        self._requests[name] = request
        self._tell((name,), (0,), request.position)
        self._prefill.rebuild(request)
        self._steps.take_up(request)
        self.last = self._steps.beside(request, (), self.draft_len, self.forward.used, self._prefill.reserved)

    def _leave(self, name: str, way: str) -> None:
        self.last = Forward()
        if self._preempted.pop(name, None) is not None:
            return  # it has nothing to give back
        request = self._requests.pop(name)
        late = way != "preempt" and self.parts.retires(self.config.overlap, name in self._in_flight)
        self._in_flight.discard(name)
        self.seating.leave(name, request.seat, way, late=late)
        self.worker.release(name, way, late=late)

    def set_draft_len(self, k: int) -> None:
        """Verify and propose `k` drafts from now on."""
        self.draft_len = self.metadata.draft_len = k
        self.last = Forward()

    def rebind(self) -> None:
        """Move the worker's pools to other memory. Graphs captured before would read the old one: they go."""
        if self.worker.rebind() and self.parts.voids_graphs():
            self._graphs.clear()
        self.last = Forward()

    @property
    def requests(self) -> tuple[str, ...]:
        """Requests that came and did not end, the preempted ones last."""
        return (*self._requests, *self._preempted)

    def text(self, name: str) -> list[int]:
        """Return prompt and output of a request that holds a seat."""
        return list(self._requests[name].tokens)

    def output(self, name: str) -> list[int]:
        """Return the tokens that a running request has produced."""
        return self.text(name)[self._requests[name].prompt_len :]

    def _run(self, requests: list[Request], graph: bool | None) -> None:
        k = self.draft_len
        rows = len(requests) or self.parts.idle_rows()
        bucket = None
        if graph is not False:
            captured_for = [b for b in self.config.buckets if self.parts.graph_key(b, k) in self._graphs]
            bucket = self.parts.fitting_bucket(captured_for, rows)
        plan = self._steps.plan(requests, bucket or rows, k)
        captured = None if bucket is None else self._graphs[self.parts.graph_key(bucket, k)]
        told = None if captured is None else captured.told
        others = () if requests else self.parts.idle_requests()
        names = (*(each.name for each in requests), *others)
        positions = (*(each.position for each in requests), *[0] * len(others))
        self._tell(names, positions, plan.padded * (k + 1), told)
        self._prepare(plan, told or self.metadata)
        if captured is None:
            self.forward.run(plan.padded, k)
        else:
            captured.replay()
        used = self.forward.used if captured is None else captured.used
        self.last = self._steps.commit(plan, k, bucket, used, shown(self.metadata, told))
        self._in_flight = set(names)

    def _tell(
        self, names: tuple[str, ...], positions: tuple[int, ...], tokens: int, copy: SpecMetadata | None = None
    ) -> None:
        """Say who is in the next forward: to the engine's own metadata, and to a graph's copy of it."""
        told = self.metadata
        told.request_ids, told.positions, told.num_tokens = names, positions, tokens
        if copy is not None and copy is not told:
            self.parts.refresh(copy, told)

    def _prepare(self, plan: Plan, metadata: SpecMetadata) -> None:
        """Write the inputs of a batch; requests that the worker alone knows of are in the metadata too."""
        self.forward.write(plan.requests, plan.drafts, plan.lengths, plan.padded)
        first = self.worker.pool is None
        self.worker.ensure(metadata)
        if self.parts.prepares_at_once(first):
            self.worker.prepare(list(zip(metadata.request_ids, metadata.positions, strict=True)), plan.padded)
        self.seating.reclaim()
