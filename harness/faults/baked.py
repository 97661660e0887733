"""K11: a graph keeps what was true at its capture."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.utils._python_dispatch import _disable_current_modes

from harness.engine import Parts
from harness.engine.slots import SlotPool
from harness.faults.base import Fault

__all__ = ["BAKED_FAULTS"]


def _rebind_drops_slots(parts: Parts) -> Parts:
    allocated: list[SlotPool] = []

    def unmapped(pool: SlotPool) -> int:
        allocated.append(pool)
        return pool.dummy if len(allocated) == 1 else 0  # the second map is a tensor of zeros

    def prepares(first: bool) -> bool:
        # Allocated anew inside a forward, whose rows were mapped in the old pools.
        return not first or len(allocated) == 1

    return replace(parts, survives_rebind=lambda: False, prepares_at_once=prepares, unmapped_row=unmapped)


def _graphs_outlive_memory(parts: Parts) -> Parts:
    return replace(parts, voids_graphs=lambda: False)


def _draft_length_baked(parts: Parts) -> Parts:
    return replace(parts, graph_key=lambda bucket, draft_len: (bucket, 0))  # noqa: ARG005  # the bug


def _slots_baked(parts: Parts) -> Parts:
    made: dict[int, torch.Tensor] = {}

    def slots_of(batch_to_slot: torch.Tensor, rows: int) -> torch.Tensor:
        if rows not in made:
            # Built by Python in the warm-up, so neither a graph nor a tape builds it again.
            with _disable_current_modes():
                made[rows] = parts.slots_of(batch_to_slot, rows).clone()
        return made[rows]

    return replace(parts, slots_of=slots_of)


def _workspace_grows(parts: Parts) -> Parts:
    workspaces: list[torch.Tensor] = []  # a graph has the address of the one that was there at its capture

    def staged(batch_to_slot: torch.Tensor, padded: int) -> torch.Tensor:
        if not workspaces or workspaces[-1].shape[0] < padded:
            workspaces.append(torch.empty_like(batch_to_slot[:padded]))
        workspaces[-1][:padded].copy_(batch_to_slot[:padded])
        return workspaces[-1]

    return replace(parts, staged=staged)


BAKED_FAULTS = (
    Fault(
        "rebind-drops-slots", "K11", "observed: a draft KV manager replaced under live requests",
        "when the cache's memory is replaced all slots are dropped, and captured graphs read the old tensors",
        _rebind_drops_slots,
    ),
    Fault(
        "workspace-grows", "K11", "TensorRT-LLM PR 16319",
        "a workspace grows with the largest batch so far; graphs captured before that read the old one",
        _workspace_grows,
    ),
    Fault(
        "graphs-outlive-memory", "K11", "nvbugs/6150288",
        "graphs captured before memory was replaced go on being replayed, on the old addresses",
        _graphs_outlive_memory,
    ),
    Fault(
        "draft-length-baked", "K11", "vLLM PR 32005",
        "a graph is looked up by its bucket alone and replayed at a draft length that it was not captured at",
        _draft_length_baked,
    ),
    Fault(
        "slots-baked", "K11", "tokenspeed PR 263",
        "the slots that a forward reads are built once by Python, for warm-up, and never again",
        _slots_baked,
    ),
)  # fmt: skip
