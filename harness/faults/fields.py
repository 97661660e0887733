"""K13: a field of the metadata lost or stale in a copy or on a sibling path."""

from __future__ import annotations

from dataclasses import replace

from harness.engine import Parts
from harness.engine.metadata import SpecMetadata
from harness.faults.base import Fault

__all__ = ["FIELD_FAULTS"]


def _copy_runs_initialiser(parts: Parts) -> Parts:
    def graph_copy(metadata: SpecMetadata, bucket: int) -> SpecMetadata:
        # Only what the new object asks for is handed to it; what it is not given, it works out once more.
        return SpecMetadata(max_num_requests=bucket, is_cuda_graph=True, draft_len=metadata.draft_len)

    return replace(parts, graph_copy=graph_copy)


def _copy_not_refreshed(parts: Parts) -> Parts:
    return replace(parts, refresh=lambda copy, owner: None)  # noqa: ARG005  # lengths are checked, nothing is copied


def _refreshed_by_size(parts: Parts) -> Parts:
    def refresh(copy: SpecMetadata, owner: SpecMetadata) -> None:
        if len(copy.request_ids) != len(owner.request_ids):  # as many as before: taken for the same ones
            parts.refresh(copy, owner)

    return replace(parts, refresh=refresh)


def _one_token_a_request(parts: Parts) -> Parts:
    def refresh(copy: SpecMetadata, owner: SpecMetadata) -> None:
        parts.refresh(copy, owner)
        copy.num_tokens = len(owner.request_ids)

    return replace(parts, refresh=refresh)


def _slots_in_old_order(parts: Parts) -> Parts:
    # The batch carries its tokens along when rows are reordered, and its slots not.
    return replace(parts, slots_of=lambda map_, rows: parts.slots_of(map_, rows).sort().values)


FIELD_FAULTS = (
    Fault(
        "copy-runs-initialiser", "K13", "lmdeploy PR 4741",
        "a graph's copy of the metadata is initialised anew, and works its seat count out from the bucket",
        _copy_runs_initialiser,
    ),
    Fault(
        "copy-not-refreshed", "K13", "FlashInfer PR 2185",
        "what is rebuilt for each forward is checked for its length and never copied to the graph's metadata",
        _copy_not_refreshed,
    ),
    Fault(
        "refreshed-by-size", "K13", "TensorRT-LLM PR 17492",
        "a graph's metadata is kept from the last batch as long as as many requests are in it",
        _refreshed_by_size,
    ),
    Fault(
        "one-token-a-request", "K13", "SGLang PR 16974",
        "the graph path, one of several copies of the same code, counts one token a request",
        _one_token_a_request,
    ),
    Fault(
        "slots-in-old-order", "K13", "vLLM PR 43434",
        "slots are read in the order in which requests came, whatever the order of the batch",
        _slots_in_old_order,
    ),
)  # fmt: skip
