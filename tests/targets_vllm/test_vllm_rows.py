"""Who got a row, who was refused one, and for whom results were: heard at the calls of a model runner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.targets.vllm.rows import Rows
from harness.trace import EventKind


class States:
    """As many rows as are free, the last first."""

    def __init__(self, rows: int) -> None:
        self.max_num_reqs = rows
        self.free_indices = list(range(rows))
        self.req_id_to_index: dict[str, int] = {}

    def add_request(self, *, req_id: str) -> None:
        assert self.free_indices, "No free indices"
        self.req_id_to_index[req_id] = self.free_indices.pop()

    def remove_request(self, req_id: str) -> None:
        self.free_indices.append(self.req_id_to_index.pop(req_id))


class Runner:
    """Prepares batches of named requests; what it applies goes nowhere."""

    def __init__(self, states: States) -> None:
        self.req_states = states

    def prepare_inputs(self, *names: str) -> Any:
        rows = torch.tensor([self.req_states.req_id_to_index[name] for name in names])
        return SimpleNamespace(idx_mapping=rows, idx_mapping_np=rows.numpy())

    def postprocess_sampled(self, idx_mapping: torch.Tensor, sampled: object = None) -> None: ...


@pytest.fixture
def heard() -> tuple[Rows, Any, list[tuple[str, int]]]:
    """Return what listens to a runner of two rows, the runner, and the rows that the host was told of."""
    told: list[tuple[str, int]] = []
    runner = Runner(States(2))
    return Rows(runner, lambda pool, row: told.append((pool, row))), runner, told


def test_a_row_counts_each_time_that_it_is_given(heard: Any) -> None:
    rows, runner, told = heard
    states = runner.req_states
    states.add_request(req_id="a")
    states.remove_request("a")
    states.add_request(req_id="b")
    assert rows.given == [0, 2]
    assert told == [("requests", 1), ("requests", 1)]
    assert not rows.refusals


def test_a_request_that_finds_no_row_is_refused_whether_the_engine_says_so_or_not(heard: Any) -> None:
    rows, runner, told = heard
    states = runner.req_states
    for name in ("a", "b"):
        states.add_request(req_id=name)
    with pytest.raises(AssertionError):
        states.add_request(req_id="c")
    assert [(event.kind, event.request) for event in rows.refusals] == [(EventKind.REFUSE, "c")]
    assert rows.refused("c")
    assert not rows.refused("a")
    assert len(told) == 2


def test_a_request_is_refused_where_the_engine_raises_though_a_row_is_free() -> None:
    runner = Runner(States(1))

    def none_free(*, req_id: str) -> None:
        raise AssertionError(req_id)

    runner.req_states.add_request = none_free  # type: ignore[method-assign]  # that is the point
    rows = Rows(runner, lambda *_: None)
    with pytest.raises(AssertionError):
        runner.req_states.add_request(req_id="a")
    assert [event.request for event in rows.refusals] == ["a"]


def test_results_are_of_the_generation_that_had_the_row_when_their_batch_was_prepared(heard: Any) -> None:
    rows, runner, _ = heard
    states = runner.req_states
    states.add_request(req_id="a")
    batch = runner.prepare_inputs("a")
    runner.postprocess_sampled(batch.idx_mapping)
    assert rows.made_for(1) == 1
    states.remove_request("a")
    states.add_request(req_id="b")
    assert rows.made_for(1) == 2, "nothing was applied since"
    runner.postprocess_sampled(batch.idx_mapping)
    assert rows.made_for(1) == 1, "what was made for a"
    runner.postprocess_sampled(runner.prepare_inputs("b").idx_mapping)
    assert rows.made_for(1) == 1, "a row that was once given what is another's stays so for its owner"
    states.remove_request("b")
    states.add_request(req_id="c")
    assert rows.made_for(1) == 3
