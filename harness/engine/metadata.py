"""Metadata of a forward: who is in the batch, and how large batch and seat pool may be."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from harness.trace import MetadataField

__all__ = ["SpecMetadata", "graph_copy", "refresh", "shown"]


def _sort(sort: str, default: Any) -> Any:
    return field(default=default, metadata={"sort": sort})


@dataclass
class SpecMetadata:
    """What a worker is told. `num_seq_slots` 0 is resolved to `max_num_requests` once, by the first object.

    max_num_requests  rows of one batch; a graph's copy narrows it to the bucket.
    num_seq_slots     capacity of the seat pool; a graph's copy keeps it.
    draft_len         drafts verified and proposed; num_tokens: what the forward consumes, padding included.
    request_ids, positions  of the batch, in row order; a graph's copy gets them anew before each replay.
    """

    max_num_requests: int = _sort("owned", 1)
    num_seq_slots: int = _sort("shared", 0)
    is_cuda_graph: bool = _sort("owned", False)
    draft_len: int = _sort("shared", 0)
    num_tokens: int = _sort("rebuilt", 0)
    request_ids: tuple[str, ...] = _sort("per-request", ())
    positions: tuple[int, ...] = _sort("per-request", ())

    def __post_init__(self) -> None:
        self.num_seq_slots = self.num_seq_slots or self.max_num_requests


_SORTS = {each.name: each.metadata["sort"] for each in fields(SpecMetadata)}
_REBUILT = tuple(name for name, sort in _SORTS.items() if sort in ("rebuilt", "per-request"))


def graph_copy(metadata: SpecMetadata, bucket: int) -> SpecMetadata:
    """Return the view of `metadata` that the graph of `bucket` is captured with."""
    return replace(metadata, max_num_requests=bucket, is_cuda_graph=True)


def refresh(copy: SpecMetadata, owner: SpecMetadata) -> None:
    """Bring a graph's copy up to its owner before a replay: everything that is rebuilt for each forward."""
    for name in _REBUILT:
        setattr(copy, name, getattr(owner, name))


def shown(owner: SpecMetadata, copy: SpecMetadata | None) -> tuple[MetadataField, ...]:
    """Return every field as plain data, with what the copy has where a graph was replayed."""
    mine = vars(owner)
    if copy is None:
        return tuple([_field(name, value) for name, value in mine.items()])
    return tuple([_field(name, value, getattr(copy, name)) for name, value in mine.items()])


@lru_cache(maxsize=512)  # most fields are as they were: the same record then, and it does not travel again
def _field(name: str, *values: Any) -> MetadataField:
    return MetadataField(name, _SORTS[name], *map(_text, values))


def _text(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)
