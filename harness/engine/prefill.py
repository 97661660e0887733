"""How a request's context comes about: its prompt in chunks, behind a prefix hit, or again after a preemption."""

from __future__ import annotations

from harness.engine.forward import BatchForward
from harness.engine.metadata import SpecMetadata
from harness.engine.parts import Parts
from harness.engine.requests import Request
from harness.engine.seating import Seating
from harness.engine.spec_worker import SpecWorker

__all__ = ["Prefill"]


class Prefill:
    """Runs chunks of one request at a time. `reserved` pages were set aside for the last one."""

    def __init__(
        self,
        parts: Parts,
        forward: BatchForward,
        worker: SpecWorker,
        seating: Seating,
        metadata: SpecMetadata,
    ) -> None:
        self._parts, self._forward, self._worker, self._seating = parts, forward, worker, seating
        self._metadata = metadata
        self.reserved = 0

    def begin(self, request: Request) -> None:
        """Compute what a prefix hit stands for, which the worker never sees, and give the rest a slot."""
        self._worker.ensure(self._metadata)
        if request.seen_from:
            self._unseen(request, request.seen_from)
        self._worker.admit(request.name, request.seen_from)
        request.done = request.seen_from

    def _unseen(self, request: Request, end: int) -> int:
        return self._chunk(request, None, 0, end)

    def next_chunk(self, request: Request) -> int | None:
        """Run the next chunk; return the first token after the last one, None where chunks are left."""
        slot = self._worker.slot(request.name)
        if self._parts.restarts_context(request.done, request.seen_from):
            self._worker.restart(request.name, request.seen_from)
        start, count = self._parts.chunk_span(request.done, request.chunks[0])
        first = self._chunk(request, slot, start, count)
        request.done += request.chunks.pop(0)
        return None if request.chunks else first

    def handed_over(self, request: Request) -> int:
        """Stand for another server's prefill: the target's context comes over, the worker knows nothing."""
        return self._unseen(request, request.prompt_len)

    def rebuild(self, request: Request) -> None:
        """Compute everything again that the request had when it was preempted, and nothing more.

        The worker is given the states that it was given before, no others: what it never saw stays unseen.
        """
        self._worker.ensure(self._metadata)
        seen_from, end = self._parts.resume_span(request)
        if seen_from:
            self._unseen(request, seen_from)
        if end > seen_from:
            self._worker.admit(request.name, seen_from)
            self._chunk(request, self._worker.slot(request.name), seen_from, end - seen_from)

    def _chunk(self, request: Request, slot: int | None, start: int, count: int) -> int:
        self.reserved = self._seating.grow(request.name, request.seat, start + count)
        logits = self._forward.prefill(request, slot, start, count)
        return self._forward.first_token(request, logits)
