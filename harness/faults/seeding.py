"""K08: state is read before it was ever seeded."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["SEEDING_FAULTS"]

_FOREVER = 1 << 20  # tokens, more than any window


def _handover_forgotten(parts: Parts) -> Parts:
    # Position 0 whatever the target's, and a window that counts as full from the first step.
    return replace(parts, handed_over=lambda position: (0, -_FOREVER))  # noqa: ARG005  # the bug


def _first_forward_unmapped(parts: Parts) -> Parts:
    # The worker is attached inside its first forward, after that forward's prepare; the map is still zeros.
    return replace(
        parts,
        prepares_at_once=lambda first: not first,
        unmapped_row=lambda pool: 0,  # noqa: ARG005  # a tensor of zeros
    )


def _handover_counts_as_seen(parts: Parts) -> Parts:
    return replace(parts, handed_over=lambda position: (position, 0))


def _prefix_counts_as_seen(parts: Parts) -> Parts:
    return replace(parts, after_prefix=lambda cached: (cached, 0))


def _draftless_steps_forgotten(parts: Parts) -> Parts:
    return replace(parts, follows=lambda: False)


def _prompt_taken_for_a_step(parts: Parts) -> Parts:
    return replace(parts, stores_context=lambda count, width: count != width)


def _placeholders_verified(parts: Parts) -> Parts:
    # One flag says that distributions are there, and warm-up set it; nobody drew these drafts from any.
    return replace(parts, placeholders=lambda draft_len, counted: [0] * draft_len)  # noqa: ARG005


def _one_column_too_many(parts: Parts) -> Parts:
    return replace(parts, hidden_by_age=lambda age, held: age > held)


SEEDING_FAULTS = (
    Fault(
        "handover-forgotten", "K08", "#17619",
        "a context computed elsewhere starts at position 0, and its never-written window counts as valid",
        _handover_forgotten,
    ),
    Fault(
        "first-forward-unmapped", "K08", "observed: first generation-only forward on slot 0",
        "the forward that allocates the pools runs before any row is mapped: all of them on slot 0",
        _first_forward_unmapped,
    ),
    Fault(
        "handover-counts-as-seen", "K08", "TensorRT-LLM PR 17619",
        "a context computed elsewhere is attended to as if it had been written here",
        _handover_counts_as_seen,
    ),
    Fault(
        "prefix-counts-as-seen", "K08", "SGLang PR 34043",
        "a prefix hit counts as context that the drafter has, though it never saw those states",
        _prefix_counts_as_seen,
    ),
    Fault(
        "draftless-steps-forgotten", "K08", "TensorRT-LLM PR 16888",
        "while the draft length is 0 the drafter takes in nothing, and later drafts over the hole",
        _draftless_steps_forgotten,
    ),
    Fault(
        "prompt-taken-for-a-step", "K08", "vLLM #53051",
        "a prompt as long as a verification is taken for one, by its shape, and never seeds the drafter",
        _prompt_taken_for_a_step,
    ),
    Fault(
        "placeholders-verified", "K08", "TensorRT-LLM PR 15775",
        "a request without drafts is verified against distributions that nobody computed",
        _placeholders_verified,
    ),
    Fault(
        "one-column-too-many", "K08", "vllm-ascend PR 16712",
        "a draft reads the position before its request's own range, which nobody wrote for it",
        _one_column_too_many,
    ),
)  # fmt: skip
