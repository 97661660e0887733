"""Fixtures of the reproducers' own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.catalogue import find_bug, load_reproducer
from harness.errors import HarnessError, LaunchError
from harness.launch import Launcher
from harness.pytest_plugin.leaving import leave
from harness.pytest_plugin.matrices import RESULTS
from harness.report import render_results
from harness.reproduce import Parameters, reproduce
from harness.scenario import Scenario
from harness.trace import Outcome, Trace
from harness.verdicts import CaseResult

__all__ = ["check_bug", "launcher"]

pytest_plugins = ["harness.pytest_plugin.matrices"]


@pytest.fixture(scope="session")
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """Hosts of the chosen target, shared by all tests of this process."""
    option = request.config.getoption
    try:
        with Launcher(
            option("--target"), option("--device"), source=option("--source"), isolation=option("--isolation")
        ) as launched:
            if option("--device") == "cuda":
                from harness.pytest_plugin.leasing import on_lease_end  # on a CPU nothing is leased

                on_lease_end(request.config, launched.end_hosts)
            yield launched
    except LaunchError as error:
        leave(error)


@pytest.fixture(scope="session")
def _references() -> dict[Scenario, Trace]:
    """What requests do alone, kept from test to test."""
    return {}


@pytest.fixture
def check_bug(
    request: pytest.FixtureRequest,
    launcher: Launcher,
    subtests: pytest.Subtests,
    _references: dict[Scenario, Trace],
) -> Callable[[str, str, str], None]:
    """Run a bug's cases for one worker and regime: orders that hold are subtests, all that fail one failure."""

    def check(bug: str, worker: str, regime: str) -> None:
        entry = find_bug(bug)
        parameters = Parameters((worker,), (regime,))
        try:
            results = reproduce(load_reproducer(entry), parameters, launcher, known=_references)
        except LaunchError as error:  # no test of this run can do without what is not there
            leave(error)
        if all(result.outcome is Outcome.UNSUPPORTED for result in results):
            request.node.stash[RESULTS] = results
            pytest.skip(f"unsupported: {results[0].detail}")
        for result in results:
            if result.holds:
                with subtests.test(first=result.case.first, order=result.case.order):
                    pass
        request.node.stash[RESULTS] = results  # only now: a subtest's report would carry them too
        if not all(result.holds or result.outcome is Outcome.UNSUPPORTED for result in results):
            told = [f"{entry.bug}: {entry.title}", render_results(results, entry.mechanism)]
            told += _bundled(request.config, results, launcher)
            pytest.fail("\n\n".join(told), pytrace=False)

    return check


def _bundled(config: pytest.Config, results: list[CaseResult], launcher: Launcher) -> list[str]:
    """Write the bundles of a failing test where that is wished; return what is to be said of them."""
    option = config.getoption
    if not option("--bundles"):
        return []
    from harness.bundles import Launched, write_bundles  # a run without a failure does without

    folder = config.invocation_params.dir / option("--bundles")
    launched = Launched(option("--target"), option("--source"), None, option("--device"), option("--isolation"))
    try:
        bundles = write_bundles(folder, results, launcher, launched, launcher.describe())
    except HarnessError as error:  # the test failed as it did; that is no reason to say less of it
        return [f"no bundle: {error}"]
    return ["\n".join(f"bundle {bundle.path}: {bundle.told}" for bundle in bundles)]
