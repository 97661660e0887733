"""Drafting never changes the output: it equals plain greedy decoding, token for token, whoever drafts."""

from __future__ import annotations

import pytest
from engine_rig import DRAFTERS, PROMPT, capture_all, config_of, greedy_of, never_right, open_engine, oracle

from harness.engine import Engine, Parts

WORKERS = ("dflash", "dspark")
STEPS = 5


def _run(engine: Engine, names: tuple[str, ...], graph: bool) -> dict[str, list[int]]:
    """Admit all, step all; return the accepted counts of each request, one a step."""
    if graph:
        capture_all(engine)
    accepted: dict[str, list[int]] = {name: [] for name in names}
    for name in names:
        engine.admit(name, PROMPT, ())
    for _ in range(STEPS):
        engine.step(names, graph)
        for name, state in engine.last.requests.items():
            accepted[name].append(state.accepted)
    return accepted


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("drafter", DRAFTERS)
def test_output_equals_plain_greedy_whoever_drafts(drafter: str, worker: str, graph: bool) -> None:
    for batch in (1, 2, 3, 4):
        engine = open_engine(config_of(worker), Parts(revise=DRAFTERS[drafter]))
        names = tuple(f"r{index}" for index in range(batch))
        accepted = _run(engine, names, graph)
        for name in names:
            output = engine.output(name)
            assert tuple(output) == greedy_of(name)[PROMPT : PROMPT + len(output)]
            assert len(output) == 1 + sum(count + 1 for count in accepted[name])


@pytest.mark.parametrize("worker", WORKERS)
def test_an_oracle_has_all_its_drafts_accepted_in_every_step(worker: str) -> None:
    engine = open_engine(config_of(worker), Parts(revise=oracle))
    accepted = _run(engine, ("r0", "r1"), graph=True)
    assert accepted == {"r0": [3] * STEPS, "r1": [3] * STEPS}


@pytest.mark.parametrize("worker", WORKERS)
def test_a_drafter_that_is_never_right_has_none_accepted_and_still_moves_on(worker: str) -> None:
    engine = open_engine(config_of(worker), Parts(revise=never_right))
    accepted = _run(engine, ("r0", "r1"), graph=True)
    assert accepted == {"r0": [0] * STEPS, "r1": [0] * STEPS}
    assert len(engine.output("r0")) == 1 + STEPS


@pytest.mark.parametrize("worker", WORKERS)
def test_every_accepted_count_occurs_when_the_drafter_is_right_by_turns(worker: str) -> None:
    engine = open_engine(config_of(worker), Parts(revise=DRAFTERS["right by turns"]))
    accepted = _run(engine, ("r0", "r1", "r2"), graph=False)
    assert {count for counts in accepted.values() for count in counts} == {0, 1, 2, 3}


@pytest.mark.parametrize("chunks", [(1,) * 11, (5, 6), (10, 1), (2, 9)], ids=str)
@pytest.mark.parametrize("worker", WORKERS)
def test_a_prompt_in_chunks_ends_in_the_state_of_one_shot(worker: str, chunks: tuple[int, ...]) -> None:
    whole, parted = open_engine(config_of(worker)), open_engine(config_of(worker))
    whole.admit("r0", 11, ())
    parted.admit("r0", 11, chunks)
    for _ in range(3):
        whole.step(None, None)
        parted.step(None, None)
        one, other = whole.last.requests["r0"], parted.last.requests["r0"]
        assert (one.drafts, one.emitted, one.position) == (other.drafts, other.emitted, other.position)
        assert one.confidence == pytest.approx(other.confidence, abs=1e-12)
