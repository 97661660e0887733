"""Metadata of a forward: who is in the batch, and how large batch and seat pool may be."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["SpecMetadata", "graph_copy"]


@dataclass
class SpecMetadata:
    """What a worker is told. `num_seq_slots` 0 is resolved to `max_num_requests` once, by the first object.

    max_num_requests  rows of one batch; a graph's copy narrows it to the bucket.
    num_seq_slots     capacity of the seat pool; a graph's copy keeps it.
    """

    max_num_requests: int
    num_seq_slots: int = 0
    is_cuda_graph: bool = False
    request_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.num_seq_slots = self.num_seq_slots or self.max_num_requests


def graph_copy(metadata: SpecMetadata, bucket: int) -> SpecMetadata:
    """Return the view of `metadata` that the graph of `bucket` is captured with."""
    return replace(metadata, max_num_requests=bucket, is_cuda_graph=True)
