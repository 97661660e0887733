"""How far drafts carry: what each verification of a request committed, in the mean."""

from __future__ import annotations

from statistics import fmean

from harness.scenario import Admit, AdmitDisaggregated, Step
from harness.trace import Trace

__all__ = ["accepted_lengths"]


def accepted_lengths(trace: Trace) -> dict[str, float]:
    """Return the mean accepted length of each request: accepted drafts and the target's own token behind them.

    It lies between 1 and K+1. The first verification after an admission is left out: what it verifies are
    placeholders, or what another server sent. A request that takes no other is not named.
    """
    committed: dict[str, list[int]] = {}
    drafted: set[str] = set()
    for snapshot in trace.snapshots:
        operation = trace.scenario.operations[snapshot.operation]
        if isinstance(operation, (Admit, AdmitDisaggregated)):
            drafted.discard(operation.request)
        if not isinstance(operation, Step):
            continue
        for request, state in snapshot.requests.items():
            if request in drafted:
                committed.setdefault(request, []).append(state.accepted + 1)
            drafted.add(request)
    return {request: fmean(counts) for request, counts in committed.items()}
