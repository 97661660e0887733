"""What a step is to do: which graph, which drafts to verify, and what is set aside for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from operator import mul

__all__ = ["admission_load", "fitting_bucket", "tokens_reserved", "verify_lengths"]

_HOPELESS = 1e-6  # chance of survival below which a draft is not worth a row


def fitting_bucket(buckets: Collection[int], rows: int) -> int | None:
    """Return the smallest captured bucket that holds `rows` rows, None where the forward must be eager."""
    return min((bucket for bucket in buckets if bucket >= rows), default=None)


def tokens_reserved(rows: int, draft_len: int) -> int:
    """Tokens that a step of `rows` rows, padding included, is given: an anchor and its drafts each."""
    return rows * (draft_len + 1)


def admission_load(running: int, retiring: int) -> int:  # noqa: ARG001  # a bug counted both
    """How many of the places of a batch are taken: those of running requests; one that is ending runs no more."""
    return running


def verify_lengths(confidence: Sequence[Sequence[float]], budget: int) -> list[int]:
    """Return how many drafts of each request are verified, `budget` in all: those likeliest to survive.

    A draft survives if all up to it are accepted, so its chance is the product of their confidences (DSpark,
    confidence-scheduled verification). Ties go to the earlier place, then to the earlier row: what is chosen
    of a request is a prefix. Whether a draft is verified depends on the tokens before it alone, which keeps
    sampling lossless: the budget is fixed, and a confidence does not see its own draft.
    """
    ranked = sorted(
        (-chance, place, row)
        for row, each in enumerate(confidence)
        for place, chance in enumerate(accumulate(each, mul))
        if chance >= _HOPELESS
    )
    lengths = [0] * len(confidence)
    for _, _, row in ranked[:budget]:
        lengths[row] += 1
    return lengths
