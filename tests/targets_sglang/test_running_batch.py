"""The running batch: whatever a step asks for is filtered and merged out of what is there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.targets.sglang.batches import Batches

NAMES = "abcd"
REQUESTS: dict[str, Any] = {name: SimpleNamespace(req=object()) for name in NAMES}


class Batch:
    """A batch that does with its requests what the engine's does, and counts the merges."""

    merges = 0

    def __init__(self, req: object) -> None:
        self.reqs, self.ready = [req], 0
        self.sampling_info = self.spec_info = SimpleNamespace()

    def is_empty(self) -> bool:
        return not self.reqs

    def filter_batch(self, out: list[object]) -> None:
        self.reqs = [req for req in self.reqs if req not in out]

    def merge_batch(self, other: Batch) -> None:
        assert not set(self.reqs) & set(other.reqs)
        Batch.merges += 1
        self.reqs = self.reqs + other.reqs

    def prepare_for_decode(self) -> None:
        self.ready += 1


def prefilled() -> Batches:
    """Return batches of one, of all four requests."""
    parts: Any = SimpleNamespace()
    batches = Batches(parts, "cpu")
    for request in REQUESTS.values():
        batches.prefilled(request, Batch(request.req))
    return batches


def stepped(batches: Batches, names: str) -> str:
    """Return who is in the batch of a step of these requests, in its order."""
    batch = batches.decode([REQUESTS[name] for name in names])
    named = {request.req: name for name, request in REQUESTS.items()}
    return "".join(named[req] for req in batch.reqs)


orders = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True).map("".join)


@given(st.lists(orders, max_size=6))
def test_a_step_has_the_requests_it_names_in_their_order_whatever_ran_before(steps: list[str]) -> None:
    batches = prefilled()
    assert [stepped(batches, names) for names in steps] == steps


@pytest.mark.parametrize(
    ("before", "after", "merges"),
    [("abc", "abc", 0), ("ab", "abd", 1), ("abc", "ac", 0), ("abc", "b", 0), ("abc", "bc", 0), ("abc", "ba", 1)],
)
def test_who_is_in_the_batch_and_in_order_stays_and_the_others_are_merged(
    before: str, after: str, merges: int
) -> None:
    batches = prefilled()
    stepped(batches, before)
    Batch.merges = 0
    assert stepped(batches, after) == after
    assert Batch.merges == merges


def test_who_ended_is_in_no_batch_wherever_it_was() -> None:
    batches = prefilled()
    stepped(batches, "abc")
    stepped(batches, "ab")
    for name in "bcd":  # one that ran, one that sat out, one that never decoded
        batches.leave(REQUESTS[name])
        with pytest.raises(KeyError):
            stepped(batches, f"a{name}")
    assert stepped(batches, "a") == "a"


def test_when_all_ended_the_next_one_is_the_batch() -> None:
    batches = prefilled()
    stepped(batches, "a")
    batches.leave(REQUESTS["a"])
    assert not list(batches.fields())
    assert stepped(batches, "d") == "d"
