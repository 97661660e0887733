"""`--resume`: what the log has a final result of is not run again, and still counts."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest

from harness.errors import Place, UsageError
from harness.pytest_plugin.naming import plain_id
from harness.pytest_plugin.run_header import refuse_another_run
from harness.results.log import Log
from harness.results.records import Header, Plan, Result, Word, selection_digest

__all__ = ["SELECTED", "Resumed", "go_on", "leave_out", "planned", "refuse_another_plan"]

SELECTED = pytest.StashKey[list[str]]()
"""On the config of a process that has collected with `--shard`: the ids of all shards together."""

# A test that was running in so many sessions that died is what they died of: it is not tried for ever.
_DEATHS = 2


@dataclass
class Resumed:
    """What earlier sessions of this run left.

    plan       what the run selected; None where no session came so far.
    results    final results by id; these tests are left out. Those of an earlier command are marked as reused.
    uncollected   files and classes that could not be collected: no tests, so they are tried again.
    blamed     results, not yet in the log, of tests under which sessions died: left out too.
    """

    plan: Plan | None = None
    results: dict[str, Result] = field(default_factory=dict)
    uncollected: dict[str, Result] = field(default_factory=dict)
    blamed: list[Result] = field(default_factory=list)


def go_on(log: Log | None, header: Header, wanted: bool, first: int | None) -> tuple[Header, Resumed]:
    """Return the header of the session that starts now, and what the log has of earlier ones.

    `first` is the session with which the command began, None for this one.
    Raises `UsageError` when the log is of another run, or has results and `--resume` is not given.
    """
    if log is None:
        return header, Resumed()
    if not wanted:
        message = "has results already; --resume goes on from them, or name another file"
        raise UsageError(message, Place(log.path))
    refuse_another_run(log.path, log.header, header)
    session = len(log.sessions) + 1
    final = log.seen_from(first or session)
    uncollected = {name: result for name, result in final.items() if result.phase == "collect"}
    results = {name: result for name, result in final.items() if name not in uncollected}
    header = replace(header, run=log.header.run, session=session)
    return header, Resumed(log.plan, results, uncollected, _blamed(log))


def _blamed(log: Log) -> list[Result]:
    return [
        Result(
            name,
            Word.CRASHED,
            time.time(),
            message=f"was running when {count} sessions died; it is not tried again",
            signature="crashed: the session died",
        )
        for name, count in sorted(log.deaths().items())
        if count >= _DEATHS
    ]


def leave_out(items: list[pytest.Item], done: Collection[str]) -> None:
    """Take what has a result out of what is to run."""
    if done:
        items[:] = [item for item in items if plain_id(item.nodeid) not in done]


def planned(config: pytest.Config, items: list[pytest.Item]) -> Plan:
    """Return what this session has to run, before anything is left out."""
    tests = tuple(plain_id(item.nodeid) for item in items)
    selected = config.stash.get(SELECTED, list(tests))
    return Plan(tests, len(selected), selection_digest(selected))


def refuse_another_plan(log: str, first: Plan | None, now: Plan) -> None:
    """Raise `UsageError` when other tests are selected now than when the run began."""
    if first is not None and first.sha256 != now.sha256:
        message = (
            f"cannot go on: the run selected {first.selected} tests, and now {now.selected}, not the same ones"
        )
        raise UsageError(f"{message}; select what it began with, or begin another log", Place(log))
