"""What nvbugs/6451032 costs: with trained models the request that is hit loses accepted drafts, not its output."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.report.summary import examples, left_alone
from harness.reproduce import Parameters, reproduce
from harness.scenario import WORKERS
from harness.verdicts import CaseResult, LeftAlone


@pytest.fixture(scope="module")
def results(launcher: Launcher) -> list[CaseResult]:
    entry = find_bug("6451032")
    parameters = Parameters(regimes=("trained",), firsts=("bucket",), orders=((1, 2, 4, 5),))
    return reproduce(load_reproducer(entry), parameters, launcher, (entry.fault,))


def _alone(result: CaseResult) -> LeftAlone:
    assert result.left_alone is not None
    return result.left_alone


def test_the_owner_of_slot_zero_loses_its_accepted_drafts_and_nobody_else_does(results: list[CaseResult]) -> None:
    assert {result.case.worker for result in results} == set(WORKERS)
    for result in results:
        told = {each.request: each for each in _alone(result).acceptance}
        assert told.keys() == {"r0", "r1", "r2"}
        assert told["r0"].alone > 2.5
        assert told["r0"].here < 2
        assert [told[name].here for name in ("r1", "r2")] == [told[name].alone for name in ("r1", "r2")]


def test_every_token_is_still_plain_greedy_decodings_and_nothing_is_raised(results: list[CaseResult]) -> None:
    for result in results:
        assert _alone(result).plain is True
        assert _alone(result).raised == ""


def test_the_report_says_from_where_to_where_it_fell(results: list[CaseResult]) -> None:
    hit = _alone(results[0]).acceptance[0]
    assert left_alone(results[0]) == (
        "ran to its end; nothing was raised, nothing was logged; the mean accepted length of r0 fell from "
        f"{hit.alone:.1f} to {hit.here:.1f}; the output is still plain greedy decoding's"
    )


def test_of_the_silent_cases_the_one_that_costs_drafts_is_told(results: list[CaseResult]) -> None:
    other = replace(results[0], left_alone=replace(_alone(results[0]), acceptance=()))
    assert other.silent
    assert examples([other, results[1]]) == [results[1]]
