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


def _window_counts_as_full(parts: Parts) -> Parts:
    return replace(parts, handed_over=lambda position: (position, 0))


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
        "handover-counts-as-seen", "K08", "SGLang PR 34043",
        "a context computed elsewhere is attended to as if this worker had written it",
        _window_counts_as_full,
    ),
)  # fmt: skip
