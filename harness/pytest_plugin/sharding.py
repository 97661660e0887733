"""`--shard I/N`: of what was selected, the tests of one shard, planned with one durations file."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.run_header import plain_id
from harness.results.durations import read_durations
from harness.results.shards import parse_shard, plan_shards

__all__ = ["SELECTED", "pytest_collection_modifyitems"]

SELECTED = pytest.StashKey[list[str]]()
"""On the config of a process that has collected: the ids of all shards together."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Keep one shard of what lists and options have selected, in its order; the rest is deselected."""
    yield
    shard = config.getoption("--shard", default=None)
    names = [plain_id(item.nodeid) for item in items]
    config.stash[SELECTED] = names
    if not shard:
        return
    try:
        index, count = parse_shard(shard)
        file = config.getoption("--durations-file", default=None)
        durations = read_durations(Path(file)) if file else {}
    except HarnessError as error:
        pytest.exit(f"harness: {error}", returncode=error.exit_code)
    mine = set(plan_shards(names, durations, count)[index - 1])
    rest = [item for item, name in zip(items, names, strict=True) if name not in mine]
    items[:] = [item for item, name in zip(items, names, strict=True) if name in mine]
    if rest:
        config.hook.pytest_deselected(items=rest)
