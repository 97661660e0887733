"""Shards: every test in one, none empty, the longest as short as promised, and the same every time."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.results.shards import parse_shard, plan_shards, target_of

COUNTS = st.integers(1, 8)


def planned(weights: list[int], count: int) -> list[list[str]]:
    """Shards of tests t0, t1, ... that take so many whole microseconds."""
    names = [f"t{i}" for i in range(len(weights))]
    return plan_shards(names, dict(zip(names, (w / 1e6 for w in weights), strict=True)), count)


def loads(shards: list[list[str]], weights: list[int]) -> list[int]:
    return [sum(weights[int(name[1:])] for name in shard) for shard in shards]


def shortest_possible(weights: list[int], count: int) -> int:
    """The longest shard of the best assignment, by trying all."""
    best = sum(weights)
    seen = {(0,) * count}
    for weight in weights:
        after = set()
        for state in seen:
            for place in range(count):
                after.add(tuple(sorted((*state[:place], state[place] + weight, *state[place + 1 :]))))
        seen = {state for state in after if state[-1] <= best}
    return min(state[-1] for state in seen)


@given(st.lists(st.integers(0, 100), max_size=40), COUNTS)
def test_every_test_is_in_one_shard_in_the_lists_order_and_no_shard_is_empty(
    weights: list[int], count: int
) -> None:
    shards = planned(weights, count)
    numbers = [[int(name[1:]) for name in shard] for shard in shards]
    assert sorted(itertools.chain(*numbers)) == list(range(len(weights)))
    assert all(shard == sorted(shard) for shard in numbers)
    assert sum(not shard for shard in shards) == max(0, count - len(weights))
    assert len(shards) == count


@given(st.lists(st.integers(1, 60), min_size=1, max_size=7), st.integers(1, 4))
def test_the_longest_shard_keeps_its_limit_wherever_any_assignment_does(weights: list[int], count: int) -> None:
    target = target_of(weights, count)
    if shortest_possible(weights, count) <= target:
        assert max(loads(planned(weights, count), weights)) <= target


def test_where_nothing_reaches_the_limit_an_exchange_still_shortens_what_longest_first_leaves() -> None:
    weights = [70, 60, 40, 50, 60, 50, 50]  # three shards of at most 133 cannot be; longest first leaves 150
    assert max(loads(planned(weights, 3), weights)) == 140 == shortest_possible(weights, 3)


def test_where_only_a_search_reaches_it() -> None:
    # Three numbers each: no single exchange leaves what longest first ends with.
    found = 0
    draw = random.Random(6)
    for _ in range(200):
        weights = [draw.randint(20, 99) for _ in range(9)]
        target = target_of(weights, 3)
        if shortest_possible(weights, 3) <= target:
            found += 1
            assert max(loads(planned(weights, 3), weights)) <= target
    assert found > 50


@given(st.lists(st.integers(90, 100), min_size=200, max_size=300), COUNTS)
def test_many_short_tests_always_keep_the_limit(weights: list[int], count: int) -> None:
    if max(weights) * 20 * count <= sum(weights):
        assert max(loads(planned(weights, count), weights)) * 100 * count <= sum(weights) * 105


@given(st.lists(st.integers(0, 100), max_size=30), COUNTS, st.randoms(use_true_random=False))
def test_the_plan_depends_on_tests_and_durations_only(
    weights: list[int], count: int, shuffle: random.Random
) -> None:
    durations = [(f"t{i}", weight / 1e6) for i, weight in enumerate(weights)]
    first = plan_shards([name for name, _ in durations], dict(durations), count)
    shuffled = list(durations)
    shuffle.shuffle(shuffled)
    assert plan_shards([name for name, _ in durations], dict(shuffled), count) == first


def test_a_test_without_a_duration_counts_as_the_median() -> None:
    shards = plan_shards(["new", "a", "b", "c"], {"a": 1.0, "b": 5.0, "c": 9.0}, 2)
    assert sorted(map(sorted, shards)) == [["a", "c"], ["b", "new"]]
    assert [len(shard) for shard in plan_shards([f"t{i}" for i in range(8)], {}, 4)] == [2, 2, 2, 2]


def test_thousands_of_tests_with_a_few_long_ones_are_planned() -> None:
    draw = random.Random(1)
    weights = [draw.choice([1_000, 2_000, 30_000, 900_000]) for _ in range(4000)] + [9_000_000] * 30
    shards = planned(weights, 8)
    assert max(loads(shards, weights)) <= target_of(weights, 8)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", "", "1/9999999", "²/3"])
def test_a_shard_that_is_none_is_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="expected I/N with I from 1 to N"):
        parse_shard(text)


def test_a_shard_is_a_number_of_how_many() -> None:
    assert parse_shard("2/4") == (2, 4)
