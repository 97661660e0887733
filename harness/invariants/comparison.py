"""What two runs must have in common: the drafts and tokens of every text at every position that both saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from harness.scenario import Admit, AdmitDisaggregated
from harness.trace import RequestState, Snapshot, Trace, Violation

__all__ = ["Difference", "drafts_differ", "first_differences", "lost_contexts", "same_drafts", "tokens_differ"]

# (wanted, seen) -> (what differs, wanted, seen) or None
Difference = Callable[[RequestState, RequestState], tuple[str, str, str] | None]


def drafts_differ(wanted: RequestState, seen: RequestState) -> tuple[str, str, str] | None:
    """Drafts, as far as both go, and the newest token: the others were committed from elsewhere."""
    if wanted.context_lost or seen.context_lost:
        return None
    both = min(len(wanted.drafts), len(seen.drafts))  # a shorter runtime draft length proposes fewer
    if wanted.drafts[:both] != seen.drafts[:both]:
        return "drafts", str(list(wanted.drafts)), str(list(seen.drafts))
    return tokens_differ(wanted, seen)


def tokens_differ(wanted: RequestState, seen: RequestState) -> tuple[str, str, str] | None:
    """The newest token alone: it stands at the same position however many were accepted on the way there."""
    # What a resumption shows was emitted before it.
    if wanted.emitted and seen.emitted and wanted.emitted[-1] != seen.emitted[-1]:
        return "tokens", str([wanted.emitted[-1]]), str([seen.emitted[-1]])
    if wanted.state is not None and seen.state is not None and wanted.state != seen.state:
        return "state", f"digest {wanted.state}", f"digest {seen.state}"
    return None


def first_differences(
    reference: Trace, other: Trace, differ: Difference, relation: str, than: str
) -> list[Violation]:
    """Return the first difference of each request, at the operation of `other` that shows it.

    A request's text is a function of its name and length; how it came decides what its drafter knows of it. So
    states are compared where those agree, at every position that both traces saw, whatever else happened.
    """
    known = {key: state for key, state, _ in _states(reference)}
    found: dict[str, Violation] = {}
    for key, state, operation in _states(other):
        request, position = key[0], state.position
        wanted = known.get(key)
        difference = differ(wanted, state) if wanted is not None and request not in found else None
        if difference:
            rule, expected, seen = difference
            found[request] = Violation(
                relation, rule, f"{request} at position {position}: {rule} differ from {than}",
                operation, expected, seen, request=request,
            )  # fmt: skip
    return list(found.values())


def same_drafts(reference: Trace, other: Trace) -> list[Violation]:
    """Drafts and tokens of a request are a function of its own text: compare with it alone."""
    return first_differences(reference, other, drafts_differ, "R-ALONE", "a run of it alone")


def lost_contexts(trace: Trace) -> list[Violation]:
    """Return the requests whose context was lost while they were live, where a target declares that it may be.

    Only what is about that very loss asks for it: to everything else it is how the engine works.
    """
    found: dict[str, Violation] = {}
    for snapshot in trace.snapshots:
        for request, state in snapshot.requests.items():
            if state.context_lost and request not in found:
                found[request] = Violation(
                    "R-ALONE", "context-lost",
                    f"{request} is live and its drafter lost the context it had",
                    snapshot.operation, "the context of its own text", "less of it", request=request,
                )  # fmt: skip
    return list(found.values())


# A request's name and how it came, its position.
_Key = tuple[str, Admit | AdmitDisaggregated | None, int]


def _states(trace: Trace) -> Iterator[tuple[_Key, RequestState, int]]:
    came: dict[str, Admit | AdmitDisaggregated] = {}
    for snapshot in trace.snapshots:
        for operation in _operations(trace, snapshot):
            if isinstance(operation, Admit):
                came[operation.request] = replace(operation, chunks=())
            elif isinstance(operation, AdmitDisaggregated):
                came[operation.request] = operation
        for request, state in snapshot.requests.items():
            yield (request, came.get(request), state.position), state, snapshot.operation


def _operations(trace: Trace, snapshot: Snapshot) -> tuple[object, ...]:
    return trace.scenario.operations[snapshot.operation : snapshot.operation + 1]
