"""Operations beside admit, step and finish: hand-over, prefix hits, draft length, idle, rebind."""

from __future__ import annotations

import pytest
from engine_rig import DRAFTERS, PROMPT, capture_all, config_of, greedy_of, naive_of, open_engine, oracle

from harness.engine import Engine, Parts

WORKERS = ("dflash", "dspark")


def _is_greedy(engine: Engine, request: str, prompt_len: int = PROMPT) -> bool:
    output = engine.output(request)
    return tuple(output) == greedy_of(request, prompt_len)[prompt_len : prompt_len + len(output)]


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("drafter", ["own", "oracle", "right by turns"])
def test_a_request_prefilled_elsewhere_gets_the_same_output(drafter: str, worker: str, graph: bool) -> None:
    engine = open_engine(config_of(worker), Parts(revise=DRAFTERS[drafter]))
    if graph:
        capture_all(engine)
    engine.admit_disaggregated("r0", PROMPT)
    engine.admit("r1", PROMPT, ())
    for _ in range(4):
        engine.step(None, graph)
        for state in engine.last.requests.values():
            assert state.context == state.position
    assert _is_greedy(engine, "r0")
    assert _is_greedy(engine, "r1")


@pytest.mark.parametrize("worker", WORKERS)
def test_a_handed_over_context_is_seen_from_its_hand_over_on(worker: str) -> None:
    engine = open_engine(config_of(worker))
    engine.admit_disaggregated("r0", 12)
    assert engine.last.requests["r0"].context is None  # the worker has not met it
    written = 0
    for _ in range(6):
        engine.step(None, None)
        state = engine.last.requests["r0"]
        written += len(state.emitted)
        assert (state.context, state.visible) == (12 + written, min(written, engine.worker.columns))


@pytest.mark.parametrize("handed", [3, 8, 12])
@pytest.mark.parametrize("worker", WORKERS)
def test_drafts_after_a_hand_over_see_what_was_written_since(worker: str, handed: int) -> None:
    engine, naive = open_engine(config_of(worker)), naive_of(worker)
    engine.admit_disaggregated("r0", handed)
    for _ in range(6):
        engine.step(None, None)
        state = engine.last.requests["r0"]
        known = greedy_of("r0", handed)[: state.position + 1]
        if worker == "dflash":
            assert list(state.drafts) == naive.dflash(known, 3, state.visible).argmax(-1).tolist()
        else:
            drafts, confidence = naive.dspark(known, 3, state.visible)
            assert list(state.drafts) == drafts
            assert state.confidence == pytest.approx(confidence, abs=1e-11)


@pytest.mark.parametrize("worker", WORKERS)
def test_what_lies_before_a_hand_over_makes_no_difference(worker: str) -> None:
    clean, dirty = open_engine(config_of(worker)), open_engine(config_of(worker))
    for engine in (clean, dirty):
        engine.warmup(None)
        if engine is dirty:
            engine.worker.context.fill_(1e3)
        engine.admit_disaggregated("r0", 5)
        engine.step(None, None)
    assert clean.last.requests == dirty.last.requests


@pytest.mark.parametrize("worker", WORKERS)
def test_a_worker_that_never_drafted_meets_its_first_request_in_a_step(worker: str) -> None:
    engine = open_engine(config_of(worker))
    engine.admit_disaggregated("r0", 5)
    assert engine.worker.pool is None
    engine.finish("r0")  # it never had a slot to give back
    engine.admit_disaggregated("r1", 5)
    engine.step(None, None)
    assert engine.worker.pool is not None
    assert engine.worker.pool.view().owners == {"r1": 0}


@pytest.mark.parametrize("cached", [1, 5, 11])
@pytest.mark.parametrize("worker", WORKERS)
def test_a_prefix_hit_keeps_the_output_and_hides_the_prefix_from_the_drafter(worker: str, cached: int) -> None:
    engine = open_engine(config_of(worker), Parts(revise=oracle if cached == 5 else DRAFTERS["own"]))
    engine.admit("r0", 12, (), cached)
    state = engine.last.requests["r0"]
    assert (state.context, state.visible) == (12, min(12 - cached, engine.worker.columns))
    for _ in range(3):
        engine.step(None, None)
    if cached != 5:  # the oracle of this rig knows the usual prompt alone
        assert _is_greedy(engine, "r0", 12)


@pytest.mark.parametrize("graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("worker", WORKERS)
def test_draft_length_down_to_zero_and_back_keeps_output_and_context(worker: str, graph: bool) -> None:
    engine = open_engine(config_of(worker), Parts(revise=oracle))
    if graph:
        capture_all(engine)
    engine.admit("r0", PROMPT, ())
    accepted, proposed = [], []
    for k in (3, 0, 0, 2, 1, 3, 3):
        engine.set_draft_len(k)
        engine.step(None, None)
        state = engine.last.requests["r0"]
        assert state.context == state.position
        assert (engine.last.graph is not None) == (graph and k == 3)
        accepted.append(state.accepted)
        proposed.append(len(state.drafts))
    assert proposed == [3, 0, 0, 2, 1, 3, 3]
    # What is verified was proposed one step earlier: nothing after a step without drafts.
    assert accepted == [3, 0, 0, 0, 1, 1, 3]
    assert _is_greedy(engine, "r0")


@pytest.mark.parametrize("worker", WORKERS)
def test_drafts_after_a_pause_know_what_was_committed_in_it(worker: str) -> None:
    engine, naive = open_engine(config_of(worker)), naive_of(worker)
    engine.admit("r0", PROMPT, ())
    for k in (3, 0, 0, 0, 3):
        engine.set_draft_len(k)
        engine.step(None, None)
    state = engine.last.requests["r0"]
    known = greedy_of("r0")[: state.position + 1]
    if worker == "dflash":
        assert list(state.drafts) == naive.dflash(known, 3).argmax(-1).tolist()
    else:
        drafts, confidence = naive.dspark(known, 3, window=engine.worker.columns)
        assert list(state.drafts) == drafts
        assert state.confidence == pytest.approx(confidence, abs=1e-11)


def test_a_graph_of_draft_length_zero_stands_beside_the_full_one() -> None:
    engine = open_engine(config_of("dspark"))
    engine.capture(2)
    engine.set_draft_len(0)
    engine.capture(2)
    engine.admit("r0", PROMPT, ())
    for k in (0, 3, 0):
        engine.set_draft_len(k)
        engine.step(None, True)
        assert engine.last.graph == 2
    assert _is_greedy(engine, "r0")


@pytest.mark.parametrize("worker", WORKERS)
def test_an_idle_rank_runs_one_row_of_padding_if_it_must_and_nothing_otherwise(worker: str) -> None:
    engine = open_engine(config_of(worker))
    capture_all(engine)
    engine.admit("r0", PROMPT, ())
    before = engine.worker.context[:5].clone()
    engine.idle(dp_dummy=False)
    assert engine.last.padded == 0
    engine.idle(dp_dummy=True)
    assert (engine.last.batch, engine.last.padded, engine.last.graph) == ((), 1, 1)
    assert bool((engine.worker.context[:5] == before).all())


@pytest.mark.parametrize("worker", WORKERS)
def test_a_rebind_moves_every_pool_voids_the_graphs_and_loses_nothing(worker: str) -> None:
    moved, steady = open_engine(config_of(worker)), open_engine(config_of(worker))
    for engine in (moved, steady):
        capture_all(engine)
        engine.admit("r0", PROMPT, ())
        engine.step(None, None)
    old = {name: tensor.data_ptr() for name, tensor in moved.worker.tensors().items()}
    moved.rebind()
    assert all(tensor.data_ptr() != old[name] for name, tensor in moved.worker.tensors().items())
    for engine in (moved, steady):
        engine.step(None, None)
    assert (moved.last.graph, steady.last.graph) == (None, 1)
    assert moved.last.requests["r0"].drafts == steady.last.requests["r0"].drafts
    moved.capture(1)
    moved.step(None, True)
    assert _is_greedy(moved, "r0")


def test_a_retired_row_is_nobodys_until_it_is_reclaimed() -> None:
    engine = open_engine(config_of("dflash", seats=1))
    engine.admit("r0", PROMPT, ())
    pool = engine.worker.pool
    assert pool is not None
    pool.retire("r0")
    assert (pool.view().owners, pool.view().free, pool.view().retiring) == ({}, (), (0,))
    pool.revive("r0")
    assert pool.view().owners == {"r0": 0}
    pool.retire("r0")
    pool.reclaim()
    assert (pool.row("r0"), pool.view().free, pool.view().retiring) == (None, (0,), ())


def test_a_rebind_before_anything_was_drafted_has_nothing_to_move() -> None:
    engine = open_engine(config_of("dflash"))
    engine.rebind()
    assert engine.worker.pool is None
    engine.admit("r0", PROMPT, ())
    engine.step(None, None)
    assert _is_greedy(engine, "r0")
