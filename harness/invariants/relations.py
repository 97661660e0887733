"""Relations between traces: what must not depend on how requests are batched, captured and run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.trace import RequestState, Trace, Violation

__all__ = ["lost_contexts", "same_drafts"]


def same_drafts(reference: Trace, other: Trace) -> list[Violation]:
    """Drafts and tokens of a request are a function of its own text.

    Compares every request at every position that both traces saw: capture order, use order, batch
    composition, padding, graph or eager must make no difference. Returns the first difference a request.
    """
    expected = {request: dict(states) for request, states in _states(reference).items()}
    found = []
    for request, states in _states(other).items():
        known = expected.get(request, {})
        for (position, state), operation in zip(states.items(), _operations(other, request), strict=True):
            difference = _difference(known.get(position), state)
            if difference:
                rule, wanted, seen = difference
                found.append(
                    Violation(
                        "R-DRAFTS", rule,
                        f"{request} at position {position}: {rule} differ from a run of {request} alone",
                        operation, wanted, seen, request=request,
                    )
                )  # fmt: skip
                break
    return found


def lost_contexts(trace: Trace) -> list[Violation]:
    """Return the requests whose context was lost while they were live, where a target declares that it may be.

    Only what is about that very loss asks for it: to everything else it is how the engine works.
    """
    found: dict[str, Violation] = {}
    for snapshot in trace.snapshots:
        for request, state in snapshot.requests.items():
            if state.context_lost and request not in found:
                found[request] = Violation(
                    "R-DRAFTS", "context-lost",
                    f"{request} is live and its drafter lost the context it had",
                    snapshot.operation, "the context of its own text", "less of it", request=request,
                )  # fmt: skip
    return list(found.values())


def _states(trace: Trace) -> Mapping[str, dict[int, RequestState]]:
    """Return request -> position -> its state there."""
    states: dict[str, dict[int, RequestState]] = {}
    for snapshot in trace.snapshots:
        for request, state in snapshot.requests.items():
            states.setdefault(request, {})[state.position] = state
    return states


def _operations(trace: Trace, request: str) -> Iterator[int]:
    return (snapshot.operation for snapshot in trace.snapshots if request in snapshot.requests)


def _difference(wanted: RequestState | None, seen: RequestState) -> tuple[str, str, str] | None:
    if wanted is None or wanted.context_lost or seen.context_lost:
        return None
    both = min(len(wanted.drafts), len(seen.drafts))  # a shorter runtime draft length proposes fewer
    if wanted.drafts[:both] != seen.drafts[:both]:
        return "drafts", str(list(wanted.drafts)), str(list(seen.drafts))
    # The newest token stands at the same position however many were accepted on the way there.
    if wanted.emitted[-1:] != seen.emitted[-1:]:
        return "tokens", str(list(wanted.emitted[-1:])), str(list(seen.emitted[-1:]))
    return None
