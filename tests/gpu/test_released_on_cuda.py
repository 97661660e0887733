"""Released engines with compiled kernels and captured graphs: the same verdicts and drafts as on a CPU."""

from __future__ import annotations

import pytest

from harness.catalogue import find_bug, load_reproducer
from harness.explore.versions import few_cases
from harness.fetching import ENGINES, fetched_releases, resolve_fetched
from harness.launch import Launcher
from harness.reproduce import reproduce

pytestmark = [pytest.mark.gpu, pytest.mark.released, pytest.mark.timeout(1800)]

BUGS = ("nvbugs/6535874", "nvbugs/6451032", "observed/absent-request", "#17492")


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A target and the folder of its newest fetched release."""
    name = str(request.param)
    versions = [release.version for release in fetched_releases() if release.engine.name == name]
    if not versions:
        pytest.skip(f"no {name} is fetched: harness targets fetch {name}==VERSION")
    return name, str(resolve_fetched(name, versions[-1]))


def test_the_verdicts_and_drafts_of_bugs_are_those_of_a_cpu(engine: tuple[str, str]) -> None:
    told = {}
    for device in ("cuda", "cpu"):
        with Launcher(engine[0], device, source=engine[1], limit=300.0) as launcher:
            told[device] = {
                (bug, result.case.worker, result.case.regime): (result.word, result.drafted, result.detail)
                for bug in BUGS
                for reproducer in [load_reproducer(find_bug(bug))]
                for result in reproduce(reproducer, few_cases(reproducer), launcher)
            }
    assert told["cuda"] == told["cpu"]
    assert {word for word, _, _ in told["cuda"].values()} == {"ok"}
