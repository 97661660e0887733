"""`--resume`: what the log has a final result of is not run again, and still counts."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harness.errors import Place, UsageError
from harness.pytest_plugin.run_header import plain_id, refuse_another_run
from harness.results.log import Log, read_log
from harness.results.records import Header, Result, Word

__all__ = ["RESUMED", "Resumed", "go_on", "pytest_collection_modifyitems"]

# A test that was running in so many sessions that died is what they died of: it is not tried for ever.
_DEATHS = 2


RESUMED = pytest.StashKey[frozenset[str]]()
"""On every process's config: the ids that are not run, because the log has their results."""


@dataclass
class Resumed:
    """What earlier sessions of this run left.

    results    final results by id; these tests are left out.
    uncollected   files and classes that could not be collected: no tests, so they are tried again.
    blamed     results, not yet in the log, of tests under which sessions died: left out too.
    """

    results: dict[str, Result] = field(default_factory=dict)
    uncollected: dict[str, Result] = field(default_factory=dict)
    blamed: list[Result] = field(default_factory=list)


def go_on(path: Path, header: Header, wanted: bool) -> tuple[Header, Resumed]:
    """Return the header of the session that starts now, and what the log has of earlier ones.

    Raises `UsageError` when the log is of another run, or has results and `--resume` is not given.
    """
    log = read_log(path)
    if log is None:
        return header, Resumed()
    if not wanted:
        message = "has results already; --resume goes on from them, or name another file"
        raise UsageError(message, Place(str(path)))
    refuse_another_run(str(path), log.header, header)
    final = log.results
    uncollected = {name: result for name, result in final.items() if result.phase == "collect"}
    results = {name: result for name, result in final.items() if name not in uncollected}
    header = replace(header, run=log.header.run, session=len(log.sessions) + 1)
    return header, Resumed(results, uncollected, _blamed(log))


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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Leave out what has a result, after everything else has chosen."""
    yield
    done = config.stash.get(RESUMED, None)
    if done:
        items[:] = [item for item in items if plain_id(item.nodeid) not in done]
