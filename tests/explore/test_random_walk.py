"""Random scenarios are legal, repeatable, and reach everything that is legal."""

from __future__ import annotations

import random

from harness.explore import draw_config, draw_scenario
from harness.explore.random_walk import OPTIONS
from harness.legality import check, config_problem
from harness.scenario import OPERATIONS, WORKERS, Admit


def test_a_walk_is_legal_to_its_end() -> None:
    for seed in range(40):
        check(draw_scenario(seed, 150))


def test_the_same_seed_draws_the_same_scenario_and_another_one_another() -> None:
    assert draw_scenario(7, 60) == draw_scenario(7, 60)
    assert draw_scenario(7, 60).operations != draw_scenario(8, 60).operations


def test_walks_do_every_operation_that_there_is() -> None:
    drawn = {operation.name for seed in range(20) for operation in draw_scenario(seed, 200).operations}
    assert drawn == set(OPERATIONS)


def test_a_walk_keeps_to_the_operations_and_options_that_a_target_has() -> None:
    names = {"admit", "step", "idle"}
    walks = [draw_scenario(seed, 100, names, ("recurrent",)) for seed in range(20)]
    assert {operation.name for walk in walks for operation in walk.operations} == names
    assert {option for walk in walks for option in walk.config.options} == {"recurrent"}


def test_an_id_is_used_again_after_its_end() -> None:
    admitted = [op.request for op in draw_scenario(1, 400).operations if isinstance(op, Admit)]
    assert len(set(admitted)) < len(admitted)


def test_drawn_configurations_are_legal_and_reach_every_regime_and_option() -> None:
    configs = [draw_config(random.Random(seed)) for seed in range(300)]
    assert [why for config in configs if (why := config_problem(config))] == []
    assert {config.worker for config in configs} == set(WORKERS)
    assert {option for config in configs for option in config.options} == set(OPTIONS)
    regimes = {(config.num_seq_slots == 0, config.num_seq_slots > config.max_num_requests) for config in configs}
    assert regimes == {(True, False), (False, False), (False, True)}
