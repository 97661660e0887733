"""The hooks. They work in any tree: an option that a tree does not have counts as not given."""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.words import status_of as pytest_report_teststatus

__all__ = [
    "pytest_cmdline_main",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_teststatus",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

_COLLECTED = pytest.StashKey[int]()
_AMONG = pytest.StashKey[int]()
"""How many tests want a process of their own and have none."""
_OUTPUT, _AMONG_OUTPUT = "harness_error", "harness_among"  # keys of what an xdist worker hands to its controller
_MARKERS = (
    "isolation: the test runs in a process of its own (with --results); a list's ISOLATION says the same",
    "gpus(n): lease n GPUs while the test runs; CUDA_VISIBLE_DEVICES names them",
)


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(name, default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """With `--results`, run pytest as a child and watch over it."""
    if not _option(config, "--results"):
        return None
    from harness.pytest_plugin.supervisor import supervise

    return supervise(config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known, and bring what the options of this run need: most runs need little of it."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
    worker = getattr(config, "workerinput", {})
    bring = config.pluginmanager.import_plugin
    if _option(config, "--results") or _option(config, "--resume") or "harness_run" in worker:
        bring("harness.pytest_plugin.resuming")
        bring("harness.pytest_plugin.recording")
    if _option(config, "--shard"):
        bring("harness.pytest_plugin.sharding")
    if _option(config, "--results"):
        from harness.pytest_plugin.supervisor.inside import join

        join(config)
    if config.get_verbosity() >= 0:
        from harness.pytest_plugin.progress import show_progress

        show_progress(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Keep what the list names, in its order; mark what is waived. The tree's own hooks come before."""
    collected = list(items)
    config.stash[_COLLECTED] = len(collected)
    yield
    if not (_option(config, "--test-list") or _option(config, "--waives-file")):
        return
    gc.freeze()
    try:
        _select(config, items, collected)
    except HarnessError as error:
        _refuse(config, items, str(error))


def _select(config: pytest.Config, items: list[pytest.Item], collected: list[pytest.Item]) -> None:
    from harness.pytest_plugin.naming import listed_id
    from harness.pytest_plugin.selection import Chosen, choose, read_entries

    prefix = _option(config, "--test-prefix") or ""
    by_id = {listed_id(item.nodeid, prefix): item for item in items}
    chosen = [Chosen(item, (), nodeid) for nodeid, item in by_id.items()]
    file = _option(config, "--test-list")
    if file:
        entries = read_entries(file, _option(config, "--context"), _option(config, "--match"))
        ids = [listed_id(item.nodeid, prefix) for item in collected]
        chosen = choose(by_id, entries, ids, _may_be_unknown(config))
        _keep(config, items, [one.item for one in chosen])
    waives = _option(config, "--waives-file")
    if waives:
        from harness.pytest_plugin.waiving import WaiverWords, apply_waivers, read_index

        waived = apply_waivers(chosen, read_index(waives, prefix), bool(_option(config, "--run-waived")))
        if waived:
            config.pluginmanager.register(WaiverWords(waived, config.rootpath), "harness-waiver-words")


def _may_be_unknown(config: pytest.Config) -> bool:
    from harness.pytest_plugin.supervisor.task import TASK  # small: a key and two dataclasses

    task = config.stash.get(TASK, None)
    return bool(_option(config, "--allow-unknown")) or (task is not None and task.is_partial)


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    keep = set(kept)
    rest = [item for item in items if item not in keep]
    items[:] = kept
    if rest:
        config.hook.pytest_deselected(items=rest)


def _refuse(config: pytest.Config, items: list[pytest.Item], message: str) -> None:
    """End the run: here, or where this is a worker of xdist in its controller, once."""
    output = getattr(config, "workeroutput", None)
    if output is None:
        raise pytest.UsageError(message)
    output[_OUTPUT] = message
    items.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Raise in the controller what a worker of xdist could not use; take over what it has to say."""
    output = getattr(node, "workeroutput", {})
    if output.get(_OUTPUT):
        raise pytest.UsageError(output[_OUTPUT])
    node.config.stash[_AMONG] = output.get(_AMONG_OUTPUT, 0)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Say so when the shard left nothing. A list says it itself; what is resumed may well be complete.

    What leases devices comes where a test asks for some: it is around every test.
    """
    config = session.config
    gc.freeze()  # as in collectstart, inside
    if any(map(_asks_for_devices, session.items)):
        config.pluginmanager.import_plugin("harness.pytest_plugin.leasing")
    if not _option(config, "--results"):
        among = sum(item.get_closest_marker("isolation") is not None for item in session.items)
        config.stash[_AMONG] = getattr(config, "workeroutput", {})[_AMONG_OUTPUT] = among
    shard = _option(config, "--shard")
    if shard and not session.items and config.stash.get(_COLLECTED, 0) and not _option(config, "--resume"):
        raise pytest.UsageError(f"--shard {shard} has no test: there are more shards than tests")


def _asks_for_devices(item: pytest.Item) -> bool:
    # A reproducer's hosts need a GPU of their own, too.
    launched = "launcher" in getattr(item, "fixturenames", ()) and _option(item.config, "--device") == "cuda"
    return launched or item.get_closest_marker("gpus") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was waived or unsupported and why, and print the patch for waivers that are no longer needed."""
    from harness.pytest_plugin.telling import tell_waived

    tell_waived(terminalreporter)
    among = terminalreporter.config.stash.get(_AMONG, 0)
    if among:
        tests = "1 ISOLATION test" if among == 1 else f"{among} ISOLATION tests"
        terminalreporter.write_line(f"{tests} ran among the others: with --results each has a process of its own")
