"""Seats, pages and recurrent states: when they are taken, reset and given back, and what outlives a preemption."""

from __future__ import annotations

import pytest
import torch
from engine_rig import PROMPT, SHAPE, capture_all, config_of, greedy_of, naive_of, open_engine, oracle

from harness.engine import Engine, Parts
from harness.engine.context import PagedContext
from harness.engine.pages import PagePool
from harness.engine.recurrent import RecurrentState, row_offsets
from harness.engine.slots import NoFreeSlotError, NotOwnedError, SlotPool
from harness.host.graph_tape import tape_capture
from harness.scenario import Config

WORKERS = ("dflash", "dspark")


def _slots(engine: Engine) -> SlotPool:
    assert engine.worker.pool is not None
    return engine.worker.pool


def _with_overlap(worker: str = "dflash") -> Engine:
    return open_engine(Config(worker, 4, 2, (1, 2), overlap=True))


@pytest.mark.parametrize("worker", WORKERS)
def test_with_overlap_a_stepped_request_keeps_its_rows_until_the_next_step_is_prepared(worker: str) -> None:
    engine = _with_overlap(worker)
    engine.admit("a", PROMPT, ())
    engine.admit("b", PROMPT, ())
    engine.step(None, None)
    engine.finish("a")
    for view in (engine.seating.pool.view(), _slots(engine).view()):
        assert (view.owners, view.retiring) == ({"b": 1}, (0,))
    engine.admit("c", PROMPT, ())  # a seat of the head-room: the one of "a" is still being written
    assert engine.seating.pool.view().owners == {"b": 1, "c": 2}
    engine.step(None, None)
    for view in (engine.seating.pool.view(), _slots(engine).view()):
        assert (view.retiring, view.free) == ((), (3, 0))


def test_with_overlap_pages_stay_in_the_table_for_the_step_under_way_and_are_forgotten_behind_it() -> None:
    engine = open_engine(Config("dflash", 4, 2, (1, 2), overlap=True, page_size=4))
    engine.admit("a", PROMPT, ())
    engine.admit("b", PROMPT, ())
    engine.step(None, None)
    engine.finish("a")
    context, pages = engine.seating.context, engine.seating.pages
    assert isinstance(context, PagedContext)
    assert pages is not None
    assert context.table[0].tolist()[:2] == [0, 2]
    assert (pages.view().holdings, pages.view().retiring) == ({"b": (1, 3)}, (0, 2))
    engine.step(None, None)
    assert bool((context.table[0] == pages.dummy).all())
    assert pages.view().retiring == ()


def test_with_overlap_a_request_that_took_no_step_leaves_at_once() -> None:
    engine = _with_overlap()
    engine.admit("a", PROMPT, ())
    engine.finish("a")
    assert engine.seating.pool.view().retiring == ()


@pytest.mark.parametrize("worker", WORKERS)
def test_a_name_used_again_while_its_old_seat_retires_is_another_request(worker: str) -> None:
    engine = _with_overlap(worker)
    engine.admit("a", 9, ())
    engine.step(None, None)
    engine.abort("a")
    engine.admit("a", PROMPT, ())
    assert (engine.seating.pool.view().owners, engine.seating.pool.view().retiring) == ({"a": 1}, (0,))
    engine.step(None, None)
    state = engine.last.requests["a"]
    assert (state.context, state.generation) == (state.position, 1)
    assert tuple(engine.output("a")) == greedy_of("a")[PROMPT : PROMPT + len(engine.output("a"))]


def test_a_row_given_back_twice_is_an_error() -> None:
    pool, pages = SlotPool("slots", 2), PagePool(2)
    pool.acquire("a")
    pages.acquire("a", 2)
    for each in (pool, pages):
        each.release("a")
        with pytest.raises(NotOwnedError):
            each.release("a")


def test_a_seat_counts_who_sat_there() -> None:
    engine = open_engine(config_of("dflash", seats=1))
    for turn in (1, 2, 3):
        engine.admit("a", PROMPT, ())
        assert engine.last.requests["a"].generation == turn
        assert engine.seating.pool.view().generations == (turn,)
        engine.finish("a")


def test_whoever_is_seated_is_announced_with_a_clean_row() -> None:
    seen: list[tuple[str, int, float]] = []
    engine: Engine

    def listen(pool: str, row: int) -> None:
        assert engine.seating.recurrent is not None
        seen.append((pool, row, float(engine.seating.recurrent.state[row].abs().sum())))

    engine = Engine(config_of("dflash", recurrent=True), Parts(), tape_capture, acquired=listen)
    engine.admit("a", PROMPT, ())
    engine.finish("a")
    assert engine.seating.recurrent is not None
    engine.seating.recurrent.state[:5].fill_(977)
    engine.admit("b", PROMPT, ())
    assert seen == [("seats", 0, 0.0), ("seats", 1, 0.0)]


@pytest.mark.parametrize("done", [1, 2])
@pytest.mark.parametrize("worker", WORKERS)
def test_between_chunks_others_step_and_the_prompt_goes_on_where_it_was(worker: str, done: int) -> None:
    paused, whole = open_engine(config_of(worker)), open_engine(config_of(worker))
    paused.admit("b", PROMPT, ())
    paused.admit("a", 9, (4, 3, 2), pause=True)
    assert paused.last.requests["a"].position == paused.last.requests["a"].context == 4
    for chunk in range(2):
        paused.step(None, None)
        assert paused.last.batch == ("b",)
        if chunk + 1 == done:
            paused.preempt("a")
            paused.resume("a")
        paused.prefill("a")
    whole.admit("a", 9, ())
    for engine in (paused, whole):
        engine.step(("a",), None)
    one, other = paused.last.requests["a"], whole.last.requests["a"]
    assert (one.drafts, one.emitted, one.position) == (other.drafts, other.emitted, other.position)


@pytest.mark.parametrize("paged", [0, 4])
@pytest.mark.parametrize("worker", WORKERS)
def test_a_resumed_request_goes_on_as_if_nothing_had_been(worker: str, paged: int) -> None:
    config = config_of(worker, recurrent=True, page_size=paged, sampling=True)
    stopped, steady = open_engine(config), open_engine(config)
    for engine in (stopped, steady):
        capture_all(engine)
        engine.admit("a", PROMPT, (), 2)
        for turn in range(5):
            if engine is stopped:
                engine.admit("other", 6, ())
                engine.preempt("a")
                engine.admit(f"third {turn}", 3, ())
                engine.finish("other")
                engine.resume("a")
                engine.finish(f"third {turn}")
            engine.step(None, None)
    one, other = stopped.last.requests["a"], steady.last.requests["a"]
    assert stopped.output("a") == steady.output("a")
    assert (one.drafts, one.visible, one.state) == (other.drafts, other.visible, other.state)


def test_a_preempted_request_holds_nothing_and_may_end_where_it_is() -> None:
    engine = open_engine(config_of("dflash", page_size=4, recurrent=True))
    engine.admit("a", PROMPT, ())
    engine.step(None, None)
    engine.preempt("a")
    assert [(view.owners, view.holdings) for view in engine.seating.views()] == [({}, {})] * 2
    assert _slots(engine).view().owners == {}
    engine.abort("a")
    assert engine.requests == ()


@pytest.mark.parametrize("worker", WORKERS)
def test_pages_hold_what_a_dense_row_holds(worker: str) -> None:
    dense, paged = open_engine(config_of(worker)), open_engine(config_of(worker, page_size=4))
    for engine in (dense, paged):
        capture_all(engine)
        engine.admit("a", 7, (3, 4))
        engine.admit("b", 2, ())
        for _ in range(4):
            engine.step(None, True)
    assert dense.last.requests == paged.last.requests


def test_pages_come_as_a_context_grows_and_go_with_its_request() -> None:
    engine = open_engine(config_of("dflash", page_size=4), Parts(revise=oracle))
    assert engine.seating.pages is not None
    engine.admit("a", PROMPT, ())
    held = []
    for _ in range(4):
        held.append(engine.seating.pages.held("a"))
        engine.step(None, None)
        assert engine.last.consumed["pages"] == engine.last.reserved["pages"] == engine.seating.pages.held("a")
    assert held == [1, 2, 3, 4]
    assert isinstance(engine.seating.context, PagedContext)
    table = engine.seating.context.table
    assert table[0].tolist()[:6] == [0, 1, 2, 3, 4, 85]
    engine.finish("a")
    assert bool((table == 85).all())
    assert sorted(engine.seating.pages.view().free) == list(range(85))


def test_a_pool_without_enough_pages_gives_none() -> None:
    pool = PagePool(3)
    assert pool.acquire("a", 2) == [0, 1]
    before = pool.view()
    with pytest.raises(NoFreeSlotError, match="1 free pages of 3 for 2 of 'b'"):
        pool.acquire("b", 2)
    assert pool.view() == before
    assert (before.unit, before.holdings, before.dummy) == ("page", {"a": (0, 1)}, 3)


@pytest.mark.parametrize("worker", WORKERS)
def test_padding_touches_no_page_state_or_guard_that_anybody_may_have(worker: str) -> None:
    engine = open_engine(config_of(worker, page_size=4, recurrent=True))
    capture_all(engine)
    engine.admit("a", PROMPT, ())
    recurrent = engine.seating.recurrent
    assert recurrent is not None
    pages = engine.seating.context.cache
    recurrent.state[1:5] = 977.0
    recurrent.state[6] = pages[:, 86] = 977.0
    pages[:, 2:85] = 977.0
    engine.step(None, True)
    engine.idle(dp_dummy=True)
    assert bool((recurrent.state[1:5] == 977).all())
    assert bool((recurrent.state[6] == 977).all())
    assert bool((pages[:, 2:85] == 977).all())
    assert bool((pages[:, 86] == 977).all())


@pytest.mark.parametrize("k", [0, 3])
def test_rejected_tokens_leave_no_trace_in_a_recurrent_state(k: int) -> None:
    naive = naive_of("dflash", SHAPE, True)
    engine = open_engine(config_of("dflash", recurrent=True))
    capture_all(engine)
    engine.admit("a", PROMPT, ())
    engine.set_draft_len(k)
    for _ in range(4):
        engine.step(None, None)
        assert engine.seating.recurrent is not None
        text = engine.text("a")[: engine.last.requests["a"].position]
        assert torch.equal(engine.seating.recurrent.state[0], naive.states(text)[-1])


def test_no_option_leaves_no_tensor_behind() -> None:
    engine = open_engine(config_of("dflash"))
    assert (engine.seating.pages, engine.seating.recurrent, engine.seating.sampling) == (None, None, None)
    assert set(engine.forward.inputs) == {"tokens", "positions", "seats"}
    engine.warmup(None)
    assert set(engine.worker.tensors()) == {"context", "ctx_len", "ctx_start", "batch_to_slot"}


def test_digests_tell_states_apart_that_differ_in_every_bit() -> None:
    state = RecurrentState(torch.full((3,), 0.5, dtype=torch.float64), 2, row_offsets)
    words = state.state.view(torch.int64)
    words[0] = torch.tensor([3, 1 << 62, 7])
    words[1] = ~words[0]
    words[2] = 0
    assert len(set(state.digests(torch.arange(3)))) == 3
