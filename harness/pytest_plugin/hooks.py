"""The hooks. They work in any tree: an option that a tree does not have counts as not given."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from harness.codec import decode, dumps
from harness.errors import HarnessError
from harness.pytest_plugin.folding import attach
from harness.pytest_plugin.selection import Chosen, choose, read_entries
from harness.pytest_plugin.waiving import apply_timeouts, apply_waivers, read_index
from harness.verdicts import CaseResult

__all__ = ["RESULTS", "pytest_collection_modifyitems", "pytest_runtest_makereport", "pytest_terminal_summary"]

# Where a test leaves its results for the report. They travel as JSON: a worker may be another process.
RESULTS = pytest.StashKey[list[CaseResult]]()
_ATTRIBUTE = "harness_results"


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(name, default=None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what the list names, in its order; mark what is waived."""
    try:
        chosen = _chosen(config, items)
        waives = _option(config, "--waives-file")
        if waives and not _option(config, "--run-waived"):
            apply_waivers(chosen, read_index(waives, _option(config, "--test-prefix") or ""))
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from None


def _chosen(config: pytest.Config, items: list[pytest.Item]) -> list[Chosen]:
    file = _option(config, "--test-list")
    if not file:
        return [Chosen(item, ()) for item in items]
    entries = read_entries(file, _option(config, "--context"), _option(config, "--match"))
    chosen, rest = choose(items, entries, bool(_option(config, "--allow-unknown")))
    apply_timeouts(chosen)
    items[:] = [one.item for one in chosen]
    config.hook.pytest_deselected(items=rest)
    return chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what a reproducer found to its report."""
    report = yield
    results = item.stash.get(RESULTS, None)
    if call.when == "call" and results is not None:
        setattr(report, _ATTRIBUTE, dumps(results))
        failing = [result.signature for result in results if not result.holds]
        attach(report, **({"signature": failing[0]} if failing else {}))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the matrix of every bug that ran."""
    results: dict[str, list[CaseResult]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            text = getattr(report, _ATTRIBUTE, None)
            if text is not None:
                for result in decode(tuple[CaseResult, ...], json.loads(text)):
                    results.setdefault(result.bug, []).append(result)
    if not results:
        return
    from harness.report import render_results

    for bug, found in results.items():
        terminalreporter.section(bug)
        terminalreporter.write(render_results(found))
