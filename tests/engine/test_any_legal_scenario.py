"""Laws of every legal scenario: chunks, pauses, preemption, overlap, pages, budgets and graphs change nothing."""

from __future__ import annotations

import torch
from engine_rig import SHAPE, greedy_of, naive_of
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import LENGTH, LONGEST, alone, play, scenarios

from harness.engine import Engine
from harness.scenario import Scenario

FEW = settings(max_examples=25, deadline=None)


@FEW
@given(scenarios())
def test_greedy_output_is_plain_greedy_decoding(scenario: Scenario) -> None:
    _, lives = play(scenario)
    for life in lives:
        text = greedy_of(life.came.request, life.prompt_len, LONGEST, scenario.config.recurrent)
        assert tuple(life.emitted) == text[life.prompt_len : life.prompt_len + len(life.emitted)]


@FEW
@given(scenarios(sampling=True, verify=0, steady=True))
def test_a_sampled_output_does_not_depend_on_company_chunks_or_interruptions(scenario: Scenario) -> None:
    _, lives = play(scenario)
    for life in lives:
        other = alone(scenario, life)
        count = min(len(life.emitted), len(other.emitted))
        assert life.emitted[:count] == other.emitted[:count]
        assert count >= min(len(life.emitted), 10)  # as many steps as surely fit


@FEW
@given(scenarios(steady=True))
def test_drafts_depend_on_the_committed_text_alone(scenario: Scenario) -> None:
    _, lives = play(scenario, own_drafts=True)
    for life in lives:
        other = alone(scenario, life)
        for position in life.drafts.keys() & other.drafts.keys():
            if position >= life.prompt_len:  # not between chunks
                assert life.drafts[position] == other.drafts[position]


@FEW
@given(scenarios(recurrent=True))
def test_a_recurrent_state_is_that_of_the_committed_tokens_bit_for_bit(scenario: Scenario) -> None:
    naive = naive_of("dflash", SHAPE, True)

    def compare(engine: Engine) -> None:
        recurrent = engine.seating.recurrent
        assert recurrent is not None
        for name, state in engine.last.requests.items():
            text = engine.text(name)[: state.position]
            assert torch.equal(recurrent.state[engine.seating.pool.owned(name)], naive.states(text)[-1])

    play(scenario, compare)


def _held(engine: Engine) -> int:
    pools = [*engine.seating.views(), *([engine.worker.pool.view()] if engine.worker.pool else [])]
    for pool in pools:
        held = [row for rows in pool.holdings.values() for row in rows]
        rows = [*pool.free, *pool.retiring, *pool.owners.values(), *held]
        assert sorted(rows) == list(range(pool.capacity)), pool.name
    return sum(len(pool.owners) + len(pool.holdings) for pool in pools)


@FEW
@given(scenarios(), st.integers(0, LENGTH))
def test_every_row_comes_back_when_all_are_aborted_wherever_they_are(scenario: Scenario, cut: int) -> None:
    engine, _ = play(Scenario(scenario.config, scenario.operations[:cut]))
    for name in engine.requests:
        engine.abort(name)
    engine.warmup(None)  # a step behind the last one: what was kept for it is free
    assert _held(engine) == 0
    assert not any(pool.retiring for pool in engine.seating.views())


@FEW
@given(scenarios())
def test_a_forward_uses_no_more_than_was_set_aside_for_it(scenario: Scenario) -> None:
    def compare(engine: Engine) -> None:
        for name, used in engine.last.consumed.items():
            assert used <= engine.last.reserved[name]

    play(scenario, compare)


@FEW
@given(scenarios())
def test_what_a_step_verifies_was_drafted_for_who_sits_there(scenario: Scenario) -> None:
    def compare(engine: Engine) -> None:
        pool = engine.seating.pool.view()
        for name, state in engine.last.requests.items():
            assert state.generation == pool.generations[pool.owners[name]]

    play(scenario, compare)


@FEW
@given(scenarios())
def test_a_graphs_metadata_is_its_owners_but_for_what_it_owns(scenario: Scenario) -> None:
    def compare(engine: Engine) -> None:
        for told in engine.last.fields:
            assert told.sort == "owned" or told.copy in (None, told.owner), told
            if told.sort == "per-request":
                assert len(told.owner) == len(engine.last.batch)

    play(scenario, compare)
