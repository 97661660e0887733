"""Orders of buckets and regimes of capacity."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.legality import config_problem
from harness.orders import REGIMES, all_orders, parse_orders, regime_capacities, sampled_orders
from harness.scenario import Config

BUCKETS = (1, 2, 4, 5)


def test_all_orders_are_the_permutations_with_productions_first() -> None:
    orders = all_orders(BUCKETS)
    assert len(set(orders)) == 24
    assert orders[0] == (5, 4, 2, 1)


@given(st.sets(st.integers(1, 30), min_size=1, max_size=9), st.integers(1, 40), st.integers(0, 3))
def test_samples_are_different_orders_of_the_same_buckets(buckets: set[int], count: int, seed: int) -> None:
    orders = sampled_orders(tuple(buckets), count, seed)
    assert len(set(orders)) == len(orders) == min(count, math.factorial(len(buckets)))
    assert orders[0] == tuple(sorted(buckets, reverse=True))
    assert all(set(order) == buckets and len(order) == len(buckets) for order in orders)
    assert orders == sampled_orders(tuple(buckets), count, seed)


def test_a_sample_of_a_hundred_buckets_does_not_list_their_permutations() -> None:
    assert len(sampled_orders(range(1, 101), 3)) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [("all", all_orders(BUCKETS)), ("4,2,1", ((4, 2, 1),)), (" 4, 2", ((4, 2),)), ("7", ((7,),))],
)
def test_orders_are_read_from_text(text: str, expected: object) -> None:
    assert parse_orders(text, BUCKETS) == expected
    assert len(parse_orders("sample:3", BUCKETS)) == 3


@pytest.mark.parametrize(
    "text", ["", "4,,1", "4,x", "sample:0", "sample:-1", "sample:", "4,4", "0,1", "all,1", "-1"]
)
def test_what_is_no_order_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(UsageError, match=f"^--orders {text}: "):
        parse_orders(text, BUCKETS)


@pytest.mark.parametrize(
    ("regime", "capacities"),
    [("exact", (5, 5)), ("production", (6, 6)), ("headroom", (7, 5)), ("unset", (0, 5))],
)
def test_a_regime_relates_seats_batch_and_largest_bucket(regime: str, capacities: tuple[int, int]) -> None:
    assert regime in REGIMES
    assert regime_capacities(regime, BUCKETS) == capacities
    assert config_problem(Config("dflash", *capacities, BUCKETS)) is None


def test_every_regime_is_explained() -> None:
    assert list(REGIMES) == ["exact", "production", "headroom", "unset"]
