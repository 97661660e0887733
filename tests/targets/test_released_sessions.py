"""What a session with a released engine tells of rows: who came and who went, and nobody else."""

from __future__ import annotations

import contextlib
from typing import Any, cast

import pytest

from harness.scenario import Admit, Finish, Operation, Step
from harness.targets.base import Inspection
from harness.targets.common.session import Engine, ReleasedSession
from harness.trace import Event, EventKind


class Rows:
    """An engine that gives rows from 1 on. A step moves everybody ten rows on; a prompt of 9 tokens is refused."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}

    def begin(self) -> None: ...

    def rows(self) -> dict[str, int]:
        return dict(self.held)

    def admit(self, name: str, prompt_len: int, *_: Any) -> None:
        self.held[name] = len(self.held) + 1
        if prompt_len == 9:
            raise RuntimeError("too long")

    def step(self, *_: Any) -> None:
        self.held = {name: row + 10 for name, row in self.held.items()}

    def finish(self, name: str) -> None:
        del self.held[name]

    def inspect(self, events: tuple[Event, ...]) -> Inspection:
        return Inspection({}, {}, (), {}, {}, events=events)


def events_after(session: ReleasedSession, operation: Operation) -> list[tuple[EventKind, str, int | None]]:
    session.apply(operation)
    return [(event.kind, event.request, event.row) for event in session.inspect().events]


@pytest.fixture
def session() -> ReleasedSession:
    return ReleasedSession("Rows", cast("Engine", Rows()), contextlib.nullcontext, lambda: None)


def test_who_comes_gets_a_row_and_who_goes_loses_one(session: ReleasedSession) -> None:
    assert events_after(session, Admit("a", 4)) == [(EventKind.ACQUIRE, "a", 1)]
    assert events_after(session, Admit("b", 4)) == [(EventKind.ACQUIRE, "b", 2)]
    assert events_after(session, Finish("a")) == [(EventKind.RELEASE, "a", 1)]


def test_who_is_at_another_row_than_before_neither_came_nor_went(session: ReleasedSession) -> None:
    session.apply(Admit("a", 4))
    assert events_after(session, Step()) == []


def test_what_an_operation_that_raised_left_behind_has_its_own_events(session: ReleasedSession) -> None:
    session.apply(Admit("a", 4))
    with pytest.raises(RuntimeError, match="too long"):
        session.apply(Admit("b", 9))
    assert [event.request for event in session.inspect().events] == ["b"]
