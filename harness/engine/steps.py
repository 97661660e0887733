"""What stands around a forward on the host: which drafts go in, and what becomes of what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from harness.engine.forward import BatchForward
from harness.engine.parts import Parts
from harness.engine.requests import Forward, Left, Relay, Request
from harness.engine.seating import Seating
from harness.engine.spec_worker import SpecWorker
from harness.scenario import Config
from harness.trace import MetadataField, RequestState

__all__ = ["Plan", "Steps"]


@dataclass(frozen=True)
class Plan:
    """What a step is to do, row by row: drafts, how many of them are verified, for whom they were made.

    `padded` counts the rows with padding; `reserved` is what is set aside.
    """

    requests: Sequence[Request] = ()
    padded: int = 0
    drafts: Sequence[list[int]] = ()
    lengths: Sequence[int] = ()
    generations: Sequence[int] = ()
    reserved: dict[str, int] = field(default_factory=dict)


class Steps:
    """Plans steps and commits their results. What one leaves for the next goes through the relay."""

    def __init__(
        self, config: Config, parts: Parts, forward: BatchForward, worker: SpecWorker, seating: Seating
    ) -> None:
        self._config, self._parts, self._forward = config, parts, forward
        self._worker, self._seating = worker, seating
        self._relay = Relay()

    def plan(self, requests: Sequence[Request], padded: int, k: int) -> Plan:
        """Take what the last steps left of the requests, and set aside what this one will use."""
        left = [self._left(row, request, k) for row, request in enumerate(requests)]
        reserved = {"tokens": self._parts.tokens_reserved(padded, k), "rows": padded}
        pages = [self._seating.grow(each.name, each.seat, each.position + k + 1) for each in requests]
        if self._config.page_size:
            reserved["pages"] = sum(pages)
        drafts = [list(each.drafts[:k]) for each in left]
        return Plan(
            requests, padded, drafts, self._lengths(left, drafts), [each.generation for each in left], reserved
        )

    def _left(self, row: int, request: Request, k: int) -> Left:
        left = self._relay.get(self._parts.relay_key(row, request.seat))
        if left is not None and self._parts.applies(left, request.generation):
            return left
        return Left(request.generation, tuple(self._placeholders(request, k)))

    def _placeholders(self, request: Request, k: int) -> list[int]:
        drafts = self._parts.placeholders(k, self._forward.counted)
        return self._parts.revise(request.name, request.position, drafts)

    def _lengths(self, left: Sequence[Left], drafts: Sequence[list[int]]) -> list[int]:
        if not self._config.verify:
            return [len(each) for each in drafts]
        sure = [
            each.confidence[: len(mine)] or (1.0,) * len(mine) for each, mine in zip(left, drafts, strict=True)
        ]
        return self._parts.verify_lengths(sure, self._config.verify)

    def commit(
        self, plan: Plan, k: int, graph: int | None, used: int, fields: tuple[MetadataField, ...]
    ) -> Forward:
        """Give every request its tokens, leave its drafts for the next step, and say what happened."""
        count = len(plan.requests)
        consumed = {"tokens": used, "rows": used // (k + 1)}
        if self._config.page_size:
            ends = [each.position + k for each in plan.requests]
            consumed["pages"] = sum(end // self._config.page_size + 1 for end in ends)
        rows = self._forward.outputs[:count].tolist()
        confidence = self._forward.confidence[:count, :k].tolist() if self._config.worker == "dspark" else None
        contexts = self._worker.counts(self._worker.batch_to_slot[:count])
        states: dict[str, RequestState] = {}
        for place, request in enumerate(plan.requests):
            row = self._parts.result_row(place, request.seat)
            sure = tuple(confidence[row]) if confidence else ()
            states[request.name] = self._committed(plan, place, rows[row], sure, k, contexts[place])
        self._digest(plan.requests, states)
        names = tuple(request.name for request in plan.requests)
        return Forward(names, plan.padded, graph, states, plan.reserved, consumed, fields)

    def _committed(
        self, plan: Plan, place: int, row: list[int], sure: tuple[float, ...], k: int, context: tuple[int, int]
    ) -> RequestState:
        request, width = plan.requests[place], self._config.draft_len + 1
        count = row[width]
        request.tokens += row[:count]
        drafts = tuple(self._parts.revise(request.name, request.position, row[width + 1 :][:k]))
        self._relay.put(self._parts.relay_key(place, request.seat), Left(request.generation, drafts, sure))
        return RequestState(
            request.position, tuple(row[:count]), count - 1, drafts, sure,
            context=context[0], visible=context[1],
            verified=plan.lengths[place] if self._forward.counted else None,
            generation=plan.generations[place],
        )  # fmt: skip

    def set_aside(self, request: Request) -> None:
        """Keep what the next step of a request would verify, while it has no seat."""
        left = self._relay.get(self._parts.relay_key(0, request.seat))
        if left is not None and self._parts.applies(left, request.generation):
            request.left, request.drafted = left, self._worker.kept(request.name)

    def take_up(self, request: Request) -> None:
        """Leave what was set aside for the request's next step, now that it has a seat again."""
        if request.left is not None:
            left = self._parts.left_after_resume(request.left, request.generation)
            self._relay.put(self._parts.relay_key(0, request.seat), left)
        if request.drafted is not None:
            self._worker.put_back(request.name, request.drafted)
        request.left = request.drafted = None

    def beside(self, request: Request, emitted: tuple[int, ...], k: int, tokens: int, pages: int) -> Forward:
        """Say what a prefill of one request did, outside any batch; so much was set aside for it."""
        left = self._left(0, request, k)
        slot = self._worker.slot(request.name)
        context, visible = (None, None) if slot is None else self._worker.counts([slot])[0]
        state = RequestState(
            request.position, emitted, 0, () if request.chunks else left.drafts, left.confidence,
            context=context, visible=visible, generation=left.generation,
        )  # fmt: skip
        states = {request.name: state}
        self._digest([request], states)
        reserved = {"tokens": tokens, "rows": 1}
        consumed = {"tokens": self._forward.used, "rows": 1}
        if self._config.page_size:
            reserved["pages"] = pages
            consumed["pages"] = (request.position - 1) // self._config.page_size + 1
        return Forward((request.name,), 1, None, states, reserved, consumed)

    def _digest(self, requests: Sequence[Request], states: dict[str, RequestState]) -> None:
        if self._seating.recurrent is None or not requests:
            return
        seats = torch.tensor([each.seat for each in requests], device=self._forward.outputs.device)
        for request, digest in zip(requests, self._seating.recurrent.digests(seats), strict=True):
            states[request.name] = replace(states[request.name], state=digest)
