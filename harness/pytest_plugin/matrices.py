"""The matrix of a bug: from the test that ran its cases to the end of the terminal's report."""

from __future__ import annotations

import json
from collections.abc import Generator

import pytest

from harness.codec import decode, dumps
from harness.pytest_plugin.folding import attach
from harness.trace import Outcome
from harness.verdicts import CaseResult

__all__ = ["RESULTS", "pytest_runtest_makereport", "pytest_terminal_summary"]

# Where a test leaves its results for the report. They travel as JSON: a worker may be another process.
RESULTS = pytest.StashKey[list[CaseResult]]()
_ATTRIBUTE = "harness_results"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach what a reproducer found to its report."""
    report = yield
    results = item.stash.get(RESULTS, None)
    if call.when == "call" and results is not None:
        setattr(report, _ATTRIBUTE, dumps(results))
        failing = [r.signature for r in results if not r.holds and r.outcome is not Outcome.UNSUPPORTED]
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
