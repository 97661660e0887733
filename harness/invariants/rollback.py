"""I-ROLLBACK: what was rejected, and what was interrupted, leaves no trace in a request's state. Kind K10."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Resume
from harness.trace import RequestState, Violation

__all__ = ["states_are_rolled_back"]


def states_are_rolled_back(view: View) -> Iterator[Violation]:
    """A request resumes where it was, with its recurrent state; no more drafts are accepted than verified."""
    for request, state in view.now.requests.items():
        if state.verified is not None and state.accepted > state.verified:
            yield view.broken(
                "I-ROLLBACK", "unverified", f"{state.accepted} drafts of {request} were accepted",
                expected=f"at most the {state.verified} verified", seen=state.accepted, request=request,
            )  # fmt: skip
        last = view.earlier.get(request)
        if last is not None:
            yield from _compared(view, request, last, state)


def _compared(view: View, request: str, last: RequestState, state: RequestState) -> Iterator[Violation]:
    resumed = last.position + len(state.emitted)
    if isinstance(view.operation, Resume) and view.operation.request == request and state.position != resumed:
        yield view.broken(
            "I-ROLLBACK", "resumed-elsewhere",
            f"{request} was interrupted at position {last.position} and resumed at {state.position}",
            expected=resumed, seen=state.position, request=request,
        )  # fmt: skip
    known = last.state is not None and state.state is not None
    if known and state.position == last.position and state.state != last.state:
        yield view.broken(
            "I-ROLLBACK", "state", f"the recurrent state of {request} at position {state.position} is another one",
            expected="a function of the committed tokens", seen="another digest", request=request,
        )  # fmt: skip
