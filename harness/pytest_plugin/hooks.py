"""The hooks. They work in any tree: an option that a tree does not have counts as not given."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.pytest_plugin.naming import listed_id
from harness.pytest_plugin.selection import Chosen, choose, explain_empty, read_entries
from harness.pytest_plugin.waiving import apply_entries, apply_waivers, read_index, say_word
from harness.pytest_plugin.words import status_of

__all__ = [
    "pytest_cmdline_main",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_teststatus",
    "pytest_runtest_makereport",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

_OUTPUT = "harness_error"  # a key of what an xdist worker hands to its controller
_MARKER = "isolation: the test runs in a process of its own (with --results); a list's ISOLATION says the same"


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
    """Make the marker known, and bring what a supervised process and a progress line need."""
    config.addinivalue_line("markers", _MARKER)
    if _option(config, "--results"):
        from harness.pytest_plugin.supervisor.inside import join

        join(config)
    from harness.pytest_plugin.progress import show_progress

    show_progress(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Keep what the list names, in its order; mark what is waived. The tree's own hooks come before."""
    prefix = _option(config, "--test-prefix") or ""
    collected = list(items)
    yield
    try:
        _select(config, items, collected, prefix)
    except HarnessError as error:
        _refuse(config, items, str(error))


def _select(config: pytest.Config, items: list[pytest.Item], collected: list[pytest.Item], prefix: str) -> None:
    by_id = {listed_id(item.nodeid, prefix): item for item in items}
    file = _option(config, "--test-list")
    if file:
        entries = read_entries(file, _option(config, "--context"), _option(config, "--match"))
        ids = [listed_id(item.nodeid, prefix) for item in collected]
        chosen = choose(by_id, entries, ids, _may_be_unknown(config))
        apply_entries(chosen)
        _keep(config, items, [one.item for one in chosen])
    else:
        chosen = [Chosen(item, (), nodeid) for nodeid, item in by_id.items()]
    waives = _option(config, "--waives-file")
    if waives:
        apply_waivers(chosen, read_index(waives, prefix), bool(_option(config, "--run-waived")))


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
    """Raise in the controller what a worker of xdist could not use."""
    message = getattr(node, "workeroutput", {}).get(_OUTPUT)
    if message:
        raise pytest.UsageError(message)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """An empty selection says which condition emptied it."""
    config = session.config
    if not session.items and session.testscollected and not hasattr(config, "workerinput"):
        reason = explain_empty(config)
        if reason:
            raise pytest.UsageError(reason)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Waived, unsupported, unstable and the rest: each its own word."""
    return status_of(report)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the word on a report that pytest's outcome does not say."""
    report = yield
    say_word(item, report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which tests were waived and why, and print the patch for waivers that are no longer needed."""
    if _option(config, "--waives-file"):
        from harness.pytest_plugin.telling import tell_waived

        tell_waived(terminalreporter)
