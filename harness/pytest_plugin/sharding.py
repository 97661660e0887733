"""`--shard I/N`: of what was selected, the tests of one shard, planned with one durations file."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.leaving import leave
from harness.pytest_plugin.naming import plain_id
from harness.pytest_plugin.resuming import SELECTED
from harness.results.durations import read_durations
from harness.results.shards import parse_shard, plan_shards

__all__ = ["pytest_collection_modifyitems", "pytest_configure"]

_PLAN = pytest.StashKey[tuple[int, int, dict[str, float]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, before a worker or a collection can stumble over them."""
    shard = config.getoption("--shard", default=None)
    file = config.getoption("--durations-file", default=None)
    try:
        durations = read_durations(Path(file)) if file else {}
        if shard:
            config.stash[_PLAN] = (*parse_shard(shard), durations)
    except HarnessError as error:
        leave(error)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Keep one shard of what lists and options have selected, in its order; the rest is deselected."""
    yield
    names = [plain_id(item.nodeid) for item in items]
    config.stash[SELECTED] = names
    if _PLAN not in config.stash:
        return
    index, count, durations = config.stash[_PLAN]
    mine = set(plan_shards(names, durations, count)[index - 1])
    rest = [item for item, name in zip(items, names, strict=True) if name not in mine]
    items[:] = [item for item, name in zip(items, names, strict=True) if name in mine]
    if rest:
        config.hook.pytest_deselected(items=rest)
