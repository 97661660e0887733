"""What the search draws: legal, within what a target declares, everything that is legal, the same for a seed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.explore.drawing import Space, draw_round
from harness.explore.random_walk import OPTIONS
from harness.legality import check
from harness.scenario import OPERATIONS, WORKERS, Admit, Scenario, Step
from harness.scenario_file import dump_scenario

SPACE = Space(WORKERS, tuple(OPERATIONS), OPTIONS, 20)
_PRINT = """
from harness.explore.drawing import Space, draw_round
from harness.scenario import OPERATIONS, WORKERS
from harness.scenario_file import dump_scenario
space = Space(WORKERS, tuple(OPERATIONS), ("recurrent",), 9)
print("".join(map(dump_scenario, draw_round(space, 5, 2, 30))), end="")
"""


@pytest.fixture(scope="module")
def drawn() -> list[Scenario]:
    return [one for number in range(20) for one in draw_round(SPACE, 1, number)]


def test_every_drawn_scenario_is_legal_and_no_longer_than_asked_for(drawn: list[Scenario]) -> None:
    for scenario in drawn:
        check(scenario)
        assert len(scenario.operations) <= 20 + 1 + len(scenario.config.buckets)


def test_a_round_has_every_operation_option_and_regime_and_both_orders_of_captures(drawn: list[Scenario]) -> None:
    assert {operation.name for scenario in drawn for operation in scenario.operations} == set(OPERATIONS)
    assert {option for scenario in drawn for option in scenario.config.options} == set(OPTIONS)
    assert {scenario.config.worker for scenario in drawn} == set(WORKERS)
    assert {regime(scenario) for scenario in drawn} == {"exact", "production", "headroom", "unset", "overlap"}
    orders = {scenario.capture_order for scenario in drawn if len(scenario.capture_order) > 1}
    assert any(order[0] < order[1] for order in orders)
    assert any(order[0] > order[1] for order in orders)
    assert {scenario.operations[0].name for scenario in drawn} >= {"warmup", "capture", "admit"}


def regime(scenario: Scenario) -> str:
    config = scenario.config
    if config.overlap:
        return "overlap"
    if not config.num_seq_slots:
        return "unset"
    if config.num_seq_slots > config.max_num_requests:
        return "headroom"
    return "exact" if max(config.buckets) == config.max_num_requests else "production"


def test_prompts_come_in_chunks_and_behind_prefix_hits_and_ids_come_again(drawn: list[Scenario]) -> None:
    admitted = [op for scenario in drawn for op in scenario.operations if isinstance(op, Admit)]
    assert {(bool(op.chunks), bool(op.cached), bool(op.pause)) for op in admitted} >= {
        (False, False, False), (True, False, False), (False, True, False), (True, False, True), (True, True, True),
    }  # fmt: skip
    assert any(len(ids(scenario)) > len(set(ids(scenario))) for scenario in drawn)
    steps = [op for scenario in drawn for op in scenario.operations if isinstance(op, Step)]
    assert any(op.requests and list(op.requests) != sorted(op.requests) for op in steps)


def ids(scenario: Scenario) -> Sequence[str]:
    return [op.request for op in scenario.operations if isinstance(op, Admit)]


def test_only_what_a_target_declares_is_drawn() -> None:
    few = Space(("dspark",), ("admit", "step", "finish"), ("recurrent",), 12)
    drawn = draw_round(few, 3, 0, 60)
    assert {operation.name for scenario in drawn for operation in scenario.operations} == {
        "admit",
        "step",
        "finish",
    }
    assert {option for scenario in drawn for option in scenario.config.options} == {"recurrent"}
    assert {scenario.config.worker for scenario in drawn} == {"dspark"}
    assert not any(op.pause for scenario in drawn for op in scenario.operations if isinstance(op, Admit))


def test_another_round_and_another_seed_are_other_scenarios() -> None:
    short = replace(SPACE, length=8)
    rounds = [draw_round(short, seed, number, 30) for seed, number in ((1, 0), (1, 1), (2, 0))]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        long = {scenario for scenario in rounds[one] if len(scenario.operations) > 4}
        assert not long & set(rounds[other])


def test_the_same_seed_draws_the_same_in_any_process_and_leaves_nothing_there(tmp_path: Path) -> None:
    here = draw_round(Space(WORKERS, tuple(OPERATIONS), ("recurrent",), 9), 5, 2, 30)
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": "12"}
    command = [sys.executable, "-c", _PRINT]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "".join(map(dump_scenario, here))
    assert list(tmp_path.iterdir()) == []
