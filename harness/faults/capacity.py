"""K01: capacity taken from the wrong source."""

from __future__ import annotations

from dataclasses import replace

import torch

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["CAPACITY_FAULTS"]


def _from_bucket(parts: Parts) -> Parts:
    return replace(parts, pool_capacity=lambda metadata: metadata.max_num_requests)


def _pages_for_a_batch(parts: Parts) -> Parts:
    return replace(parts, page_capacity=lambda config: config.max_num_requests * config.pages_per_seat)


def _map_from_bucket(parts: Parts) -> Parts:
    return replace(parts, map_capacity=lambda metadata, pool: metadata.max_num_requests)  # noqa: ARG005  # the bug


def _null_page_behind_the_pool(parts: Parts) -> Parts:
    # Pages were numbered from 1 once, with 0 for none; one of the places still adds the 1.
    return replace(parts, null_page=lambda pool: pool.dummy + 1)


def _workspace_of_first_batch(parts: Parts) -> Parts:
    workspaces: list[torch.Tensor] = []

    def staged(batch_to_slot: torch.Tensor, padded: int) -> torch.Tensor:
        if not workspaces:
            workspaces.append(torch.empty_like(batch_to_slot[:padded]))
        return workspaces[0].copy_(batch_to_slot[: workspaces[0].shape[0]])

    return replace(parts, staged=staged)


CAPACITY_FAULTS = (
    Fault(
        "capacity-from-bucket", "K01", "nvbugs/6535874",
        "the worker's pools are sized from max_num_requests, which a graph's metadata narrows to its bucket",
        _from_bucket,
    ),
    Fault(
        "pages-for-one-batch", "K01", "TensorRT-LLM PR 18457",
        "pages are counted for the rows of one batch, though every seat's table may hold some",
        _pages_for_a_batch,
    ),
    Fault(
        "map-from-first-batch", "K01", "vLLM PR 50065",
        "the map of batch rows has the length of the first batch; a longer one's slice of it comes out short",
        _map_from_bucket,
    ),
    Fault(
        "null-page-one-too-far", "K01", "SGLang PR 24439",
        "one numbering of pages begins at 1, so padding's page is one past those that were allocated for it",
        _null_page_behind_the_pool,
    ),
    Fault(
        "workspace-of-first-batch", "K01", "SGLang PR 25124",
        "a workspace of batch rows has the length of the first batch that used it, and later ones are longer",
        _workspace_of_first_batch,
    ),
)  # fmt: skip
