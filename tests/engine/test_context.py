"""What a slot's context holds after any history, and that drafts are a function of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from engine_rig import DRAFTERS, SHAPE, capture_all, config_of, greedy_of, naive_of, open_engine

from harness.engine import Engine, Parts
from harness.engine.draft_models import DFlashModel
from harness.engine.workers import DSparkWorker

assert_close = partial(torch.testing.assert_close, atol=1e-11, rtol=1e-11)
HISTORIES = ("right by turns", "oracle", "never right", "own")


def _played(worker: str, drafter: str, graph: bool = True) -> Engine:
    """Return an engine whose two requests took five steps, the first one with a slot that is not its row."""
    engine = open_engine(config_of(worker), Parts(revise=DRAFTERS[drafter]))
    if graph:
        capture_all(engine)
    engine.admit("gone", 4, ())
    engine.admit("r0", 4, ())
    engine.admit("r1", 4, ())
    engine.finish("gone")
    for _ in range(5):
        engine.step(("r1", "r0"), None)
    return engine


def _position(engine: Engine, request: str) -> int:
    return engine.last.requests[request].position


@pytest.mark.parametrize("worker", ["dflash", "dspark"])
@pytest.mark.parametrize("drafter", HISTORIES)
def test_the_context_length_is_the_anchors_position(drafter: str, worker: str) -> None:
    engine = _played(worker, drafter)
    assert engine.worker.pool is not None
    for request in ("r0", "r1"):
        slot = engine.worker.pool.row(request)
        assert int(engine.worker.ctx_len[slot]) == _position(engine, request)


@pytest.mark.parametrize("drafter", HISTORIES)
def test_dflash_context_equals_a_recompute_from_the_committed_tokens(drafter: str) -> None:
    engine, naive = _played("dflash", drafter), naive_of("dflash")
    assert engine.worker.pool is not None
    for request in ("r0", "r1"):
        length = _position(engine, request)
        states = naive.target(greedy_of(request)[:length])[1]
        row = engine.worker.context[engine.worker.pool.row(request), :, :length]
        for layer, (keys, values) in enumerate(naive.context(states, torch.arange(length))):
            assert_close(row[layer, :, 0], keys)
            assert_close(row[layer, :, 1], values)


@pytest.mark.parametrize("drafter", HISTORIES)
def test_dspark_window_holds_the_newest_tokens_each_in_its_column(drafter: str) -> None:
    engine, naive, window = _played("dspark", drafter), naive_of("dspark"), SHAPE.window
    worker = engine.worker
    assert isinstance(worker, DSparkWorker)
    assert worker.pool is not None
    for request in ("r0", "r1"):
        slot, length = worker.pool.row(request), _position(engine, request)
        assert slot is not None
        start = max(0, length - window)
        states = naive.target(greedy_of(request)[:length])[1][start:]
        assert worker.counts([slot]) == [(length, min(window, length))]
        columns = torch.arange(start, length) % window
        for layer, (keys, values) in enumerate(naive.context(states, torch.arange(start, length))):
            assert_close(worker.context[slot, layer, columns, 0], keys)
            assert_close(worker.context[slot, layer, columns, 1], values)


def test_dflash_logits_equal_a_block_over_the_whole_context() -> None:
    engine, naive = _played("dflash", "right by turns"), naive_of("dflash")
    worker, model = engine.worker, engine.worker.model
    assert worker.pool is not None
    assert isinstance(model, DFlashModel)
    for request in ("r0", "r1"):
        length = _position(engine, request)
        slot, end = torch.tensor([worker.pool.row(request)]), torch.tensor([length])
        hidden = torch.arange(worker.columns)[None] >= length
        anchor = torch.tensor([greedy_of(request)[length]])
        logits = model.logits(anchor, end, worker.context[slot], hidden)[0]
        assert_close(logits, naive.dflash(greedy_of(request)[: length + 1], 3))


@pytest.mark.parametrize("prompt_len", range(1, 20))
def test_dspark_drafts_see_the_window_and_all_of_a_history_that_fits_in_it(prompt_len: int) -> None:
    # Prompts 1..19 with a window of 8: histories below it, equal to it, above it, wrapping at every column.
    engine, naive = open_engine(config_of("dspark")), naive_of("dspark")
    tokens = greedy_of("r0", prompt_len)
    engine.admit("r0", prompt_len, ())
    engine.step(None, None)
    state = engine.last.requests["r0"]
    known = tokens[: state.position + 1]
    drafts, confidence = naive.dspark(known, 3, window=SHAPE.window)
    assert list(state.drafts) == drafts
    assert state.confidence == pytest.approx(confidence, abs=1e-11)
    whole = naive.dspark(known, 3)[1]
    fits = state.position <= SHAPE.window
    assert (state.confidence == pytest.approx(whole, abs=1e-11)) == fits


@pytest.mark.parametrize("prompt_len", range(1, 12))
def test_dflash_drafts_see_all_of_the_history_and_no_rejected_row(prompt_len: int) -> None:
    engine, naive = open_engine(config_of("dflash")), naive_of("dflash")
    engine.admit("r0", prompt_len, ())
    for _ in range(2):
        engine.step(None, None)
        state = engine.last.requests["r0"]
        known = greedy_of("r0", prompt_len)[: state.position + 1]
        assert list(state.drafts) == naive.dflash(known, 3).argmax(-1).tolist()


@pytest.mark.parametrize("worker", ["dflash", "dspark"])
def test_a_request_in_a_used_slot_drafts_as_in_a_fresh_one(worker: str) -> None:
    fresh, used = open_engine(config_of(worker, seats=1)), open_engine(config_of(worker, seats=1))
    used.admit("earlier", 9, ())
    used.step(None, None)
    used.finish("earlier")
    for engine in (fresh, used):
        engine.admit("r0", 4, ())
        engine.step(None, None)
    one, other = used.last.requests["r0"], fresh.last.requests["r0"]
    assert replace(one, generation=None) == replace(other, generation=None)
    assert (one.generation, other.generation) == (2, 1)


def test_a_draft_as_long_as_the_window_is_rejected() -> None:
    with pytest.raises(ValueError, match="draft_len 8 must be below the window, 8"):
        open_engine(config_of("dspark", draft_len=8))
    open_engine(config_of("dspark", draft_len=7))


@pytest.mark.parametrize("worker", ["dflash", "dspark"])
def test_columns_behind_the_context_make_no_difference(worker: str) -> None:
    clean, dirty = open_engine(config_of(worker)), open_engine(config_of(worker))
    for engine in (clean, dirty):
        engine.admit("r0", 4, ())
        if engine is dirty:
            engine.worker.context[0, :, 4:] = 1e3
        engine.step(None, None)
    assert clean.last.requests == dirty.last.requests
