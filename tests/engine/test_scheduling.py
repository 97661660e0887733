"""What a step verifies: the likeliest drafts within a budget, fixed beforehand, and never at the output's cost."""

from __future__ import annotations

from itertools import accumulate
from operator import mul

import pytest
from engine_rig import DRAFTERS, PROMPT, capture_all, config_of, greedy_of, open_engine, right_by_turns
from hypothesis import given
from hypothesis import strategies as st

from harness.engine import Parts
from harness.engine.scheduler import fitting_bucket, verify_lengths

CONFIDENCE = [[0.9, 0.8, 0.5, 0.2], [0.6, 0.9, 0.9, 0.9]]
LENGTHS = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (3, 4), (4, 4)]


def test_a_budget_goes_to_the_drafts_likeliest_to_survive() -> None:
    assert [tuple(verify_lengths(CONFIDENCE, budget)) for budget in range(9)] == LENGTHS


CHANCES = st.lists(st.lists(st.floats(0, 1), max_size=4), max_size=4)


@given(CHANCES, st.integers(0, 16))
def test_more_budget_never_shortens_a_request_and_is_never_exceeded(sure: list[list[float]], budget: int) -> None:
    less, more = verify_lengths(sure, budget), verify_lengths(sure, budget + 1)
    assert sum(less) <= budget
    assert all(one <= other for one, other in zip(less, more, strict=True))
    assert all(length <= len(each) for length, each in zip(less, sure, strict=True))


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=4), CHANCES, st.integers(0, 8))
def test_whether_a_draft_is_verified_does_not_depend_on_what_comes_behind_it(
    sure: list[float], others: list[list[float]], budget: int
) -> None:
    # The place of the cut: a confidence behind a draft is the first that may depend on it.
    for place in range(1, len(sure)):
        changed = [*sure[:place], *[0.5] * (len(sure) - place)]
        one, other = (verify_lengths([each, *others], budget)[0] for each in (sure, changed))
        assert (one >= place) == (other >= place)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=4))
def test_a_survival_is_the_product_of_confidences(sure: list[float]) -> None:
    best = verify_lengths([sure, [1.0]], 1)
    assert best == ([0, 1] if next(accumulate(sure, mul)) < 1 else [1, 0])


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("budget", [1, 2, 4, 100])
@pytest.mark.parametrize("drafter", ["own", "oracle", "right by turns"])
def test_a_budget_never_changes_the_output(drafter: str, budget: int, graph: bool) -> None:
    engine = open_engine(config_of("dspark", verify=budget), Parts(revise=DRAFTERS[drafter]))
    if graph:
        capture_all(engine)
    for name in ("r0", "r1", "r2"):
        engine.admit(name, PROMPT, ())
    for turn in range(5):
        engine.step(None, None)
        verified = [state.verified or 0 for state in engine.last.requests.values()]
        assert sum(verified) == (0 if turn == 0 else min(budget, 9))  # a fresh request has no drafts yet
        for state in engine.last.requests.values():
            assert state.accepted <= (state.verified or 0)
    for name in ("r0", "r1", "r2"):
        output = engine.output(name)
        assert tuple(output) == greedy_of(name)[PROMPT : PROMPT + len(output)]


def test_confidence_of_who_sat_there_before_is_nobodys() -> None:
    engine = open_engine(config_of("dspark", seats=1, verify=2), Parts(revise=right_by_turns))
    engine.admit("a", PROMPT, ())
    engine.step(None, None)
    engine.finish("a")
    engine.admit("b", PROMPT, ())
    engine.step(None, None)
    assert (engine.last.requests["b"].verified, engine.last.requests["b"].generation) == (0, 2)


def test_the_smallest_fitting_bucket_is_taken_or_none() -> None:
    assert [fitting_bucket((4, 1, 2), rows) for rows in (1, 2, 3, 4, 5)] == [1, 2, 4, 4, None]
