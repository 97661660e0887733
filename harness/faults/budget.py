"""K14: what a forward uses is not what was set aside for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from harness.engine import Parts
from harness.faults.base import Fault

__all__ = ["BUDGET_FAULTS"]


def _drafts_not_reserved(parts: Parts) -> Parts:
    return replace(parts, tokens_reserved=lambda rows, draft_len: rows)  # noqa: ARG005  # the bug


def _bonus_not_reserved(parts: Parts) -> Parts:
    return replace(parts, tokens_reserved=lambda rows, draft_len: rows * max(1, draft_len))


def _last_token_without_page(parts: Parts) -> Parts:
    return replace(parts, pages_needed=lambda tokens, page_size: max(1, -(-(tokens - 1) // page_size)))


def _retiring_counted(parts: Parts) -> Parts:
    return replace(parts, admission_load=lambda running, retiring: running + retiring)


def _empty_dummy_batch(parts: Parts) -> Parts:
    return replace(parts, idle_rows=lambda: 0)


def _budget_for_each(parts: Parts) -> Parts:
    def lengths(confidence: Sequence[Sequence[float]], budget: int) -> list[int]:
        return [min(len(each), budget) for each in confidence]

    return replace(parts, verify_lengths=lengths)


def _nearest_bucket(parts: Parts) -> Parts:
    def nearest(buckets: Collection[int], rows: int) -> int | None:
        return min(buckets, key=lambda bucket: abs(bucket - rows), default=None)

    return replace(parts, fitting_bucket=nearest)


BUDGET_FAULTS = (
    Fault(
        "drafts-not-reserved", "K14", "nvbugs/6427240",
        "one token a request is reserved for a step that verifies its drafts too",
        _drafts_not_reserved,
    ),
    Fault(
        "bonus-not-reserved", "K14", "vLLM PR 51256",
        "the drafts of a request are reserved and the token before them is not",
        _bonus_not_reserved,
    ),
    Fault(
        "last-token-without-page", "K14", "TensorRT-LLM PR 18242",
        "two places that count a request's tokens differ by its last one",
        _last_token_without_page,
    ),
    Fault(
        "retiring-counted", "K14", "nvbugs/6627795",
        "requests that are ending, and will run no more, count against the batch that is admitted next",
        _retiring_counted,
    ),
    Fault(
        "empty-dummy-batch", "K14", "TensorRT-LLM PR 4379",
        "the dummy of an idle rank has no tokens, a shape that no forward takes",
        _empty_dummy_batch,
    ),
    Fault(
        "budget-for-each", "K14", "vLLM PR 51256",
        "what all requests of a step may verify together is granted to each of them",
        _budget_for_each,
    ),
    Fault(
        "nearest-bucket", "K14", "vLLM PR 46324",
        "a batch is rounded to the nearest bucket, which may be smaller than it is",
        _nearest_bucket,
    ),
)  # fmt: skip
