"""K04: a pool without room for all who may hold a row at the same time."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["HEADROOM_FAULTS"]


def _seats_for_a_batch(parts: Parts) -> Parts:
    return replace(parts, seat_capacity=lambda metadata: metadata.max_num_requests)


def _dummy_needs_a_seat(parts: Parts) -> Parts:
    return replace(parts, idle_requests=lambda: ("idle dummy",))


def _everybody_retires(parts: Parts) -> Parts:
    return replace(parts, retires=lambda overlap, in_flight: overlap)  # noqa: ARG005  # whether it ever ran


def _no_pages_for_drafts(parts: Parts) -> Parts:
    return replace(parts, page_capacity=lambda config: config.seats * (config.max_seq_len // config.page_size))


HEADROOM_FAULTS = (
    Fault(
        "seats-without-headroom", "K04", "#13179",
        "there are as many seats as a batch has rows, though ending requests keep theirs for a step",
        _seats_for_a_batch,
    ),
    Fault(
        "idle-dummy-takes-a-slot", "K04", "nvbugs/5394392",
        "the dummy of an idle rank is given a slot of the pool that was made for requests",
        _dummy_needs_a_seat,
    ),
    Fault(
        "everybody-retires", "K04", "TensorRT-LLM PR 18742",
        "seats of requests that were in no step retire like the others, and head-room was counted without them",
        _everybody_retires,
    ),
    Fault(
        "pages-without-drafts", "K04", "nvbugs/6210714",
        "the pool of pages is counted by committed tokens; one term of the sum, that of drafts, is left out",
        _no_pages_for_drafts,
    ),
)  # fmt: skip
