"""The embedded engine with one decision taken wrongly, each for one invariant of this folder's tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from harness.engine import Engine, Parts
from harness.engine.metadata import SpecMetadata, graph_copy
from harness.engine.requests import Left
from harness.engine.slots import SlotPool
from harness.scenario import Config
from harness.targets.base import Inspection, OpenOptions
from harness.targets.embedded import EmbeddedSession, EmbeddedTarget


def _first_free_but_not_zero(pool: SlotPool, request: str) -> int | None:
    return pool.owned(request) or None


def _stale_copy(copy: SpecMetadata, owner: SpecMetadata) -> None:
    copy.num_tokens = owner.num_tokens  # and nothing else that is rebuilt


def _narrowed_twice(metadata: SpecMetadata, bucket: int) -> SpecMetadata:
    return replace(graph_copy(metadata, bucket), num_seq_slots=bucket)


def _last_state(checkpoints: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    del count
    return checkpoints[:, -1]  # after the rejected drafts too


def _any_generation(left: Left, generation: int) -> bool:
    del left, generation
    return True


def _batch_rows(batch_to_slot: torch.Tensor, rows: int) -> torch.Tensor:
    return torch.arange(rows, device=batch_to_slot.device)


def _anchors_alone(rows: int, draft_len: int) -> int:
    del draft_len
    return rows


def _one_short(metadata: SpecMetadata) -> int:
    return metadata.num_seq_slots - 1


BROKEN: dict[str, Callable[[Parts], Parts]] = {
    "falsy-zero": lambda parts: replace(parts, known_slot=_first_free_but_not_zero),
    "fields-not-refreshed": lambda parts: replace(parts, refresh=_stale_copy),
    "copy-narrows-the-seats": lambda parts: replace(parts, graph_copy=_narrowed_twice),
    "rejected-tokens-stay": lambda parts: replace(parts, roll_back=_last_state),
    "state-not-reset": lambda parts: replace(parts, resets_state=lambda: False),
    "results-of-anybody": lambda parts: replace(parts, applies=_any_generation),
    "slots-are-batch-rows": lambda parts: replace(parts, slots_of=_batch_rows),
    "drafts-not-reserved": lambda parts: replace(parts, tokens_reserved=_anchors_alone),
    "one-seat-short": lambda parts: replace(parts, seat_capacity=_one_short),
}


class Broken(EmbeddedTarget):
    """Its faults are the ones above."""

    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        parts = Parts()
        for name in options.faults:
            parts = BROKEN[name](parts)
        return EmbeddedSession(Engine(config, parts, options.capture, options.device, acquired=options.acquired))


class _MuteSession(EmbeddedSession):
    def inspect(self) -> Inspection:
        return Inspection({}, {}, (), super().inspect().requests, {})


class Mute(EmbeddedTarget):
    """A right engine that shows nothing but what it drafts and emits."""

    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        return _MuteSession(Engine(config, Parts(), options.capture, options.device))
