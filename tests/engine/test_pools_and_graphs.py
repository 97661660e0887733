"""When slot pools are allocated and how large, what a graph's metadata narrows, what a capture leaves alone."""

from __future__ import annotations

import pytest
import torch
from engine_rig import config_of, open_engine

from harness.engine import Engine
from harness.engine.metadata import SpecMetadata, graph_copy
from harness.engine.slots import NoFreeSlotError, SlotPool
from harness.scenario import Config

WORKERS = ("dflash", "dspark")


@pytest.mark.parametrize("worker", WORKERS)
def test_pools_are_allocated_by_the_first_draft_and_never_again(worker: str) -> None:
    engine = open_engine(config_of(worker))
    assert engine.worker.pool is None
    assert engine.worker.tensors() == {}
    engine.warmup(2)
    first = {name: tensor.data_ptr() for name, tensor in engine.worker.tensors().items()}
    assert set(first) >= {"ctx_len", "context", "batch_to_slot"}
    engine.capture(1)
    engine.admit("r0", 4, ())
    engine.step(None, None)
    assert {name: tensor.data_ptr() for name, tensor in engine.worker.tensors().items()} == first


def test_a_graphs_metadata_narrows_the_batch_and_keeps_the_seats() -> None:
    eager = SpecMetadata(max_num_requests=5, num_seq_slots=7)
    copy = graph_copy(eager, 2)
    assert (copy.max_num_requests, copy.num_seq_slots, copy.is_cuda_graph) == (2, 7, True)
    assert (eager.max_num_requests, eager.is_cuda_graph) == (5, False)


def test_unset_seats_are_resolved_before_a_copy_is_made() -> None:
    eager = SpecMetadata(max_num_requests=5)
    assert eager.num_seq_slots == 5
    assert graph_copy(eager, 2).num_seq_slots == 5


@pytest.mark.parametrize("first", ["eager", "bucket"])
@pytest.mark.parametrize("worker", WORKERS)
def test_four_seats_and_batches_of_one_give_five_rows_a_map_of_four_and_dummy_four(
    worker: str, first: str
) -> None:
    engine = open_engine(Config(worker, num_seq_slots=4, max_num_requests=1, buckets=(1,)))
    engine.warmup(None if first == "eager" else 1)
    assert engine.worker.pool is not None
    assert engine.worker.context.shape[0] == 5
    assert engine.worker.ctx_len.shape == (5,)
    assert engine.worker.batch_to_slot.tolist() == [4, 4, 4, 4]
    assert engine.worker.pool.dummy == 4


def _state(engine: Engine) -> dict[str, torch.Tensor]:
    tensors = {"cache": engine.seating.context.cache.transpose(0, 1), **engine.worker.tensors()}
    return {name: tensor.clone() for name, tensor in tensors.items() if name != "batch_to_slot"}


@pytest.mark.parametrize("worker", WORKERS)
def test_capturing_under_live_requests_changes_the_dummy_row_alone(worker: str) -> None:
    engine = open_engine(config_of(worker))
    for request in ("r0", "r1", "r2"):
        engine.admit(request, 6, ())
    before = _state(engine)
    engine.capture(4)
    for name, tensor in _state(engine).items():
        assert torch.equal(before[name][:5], tensor[:5]), name


@pytest.mark.parametrize("worker", WORKERS)
def test_a_graph_is_bitwise_the_eager_forward_of_its_shape(worker: str) -> None:
    graph, eager = open_engine(config_of(worker)), open_engine(config_of(worker))
    graph.capture(2)
    for engine in (graph, eager):
        engine.admit("r0", 5, ())
        engine.admit("r1", 7, ())
    for _ in range(4):
        graph.step(None, True)
        eager.step(None, False)
        assert graph.last.graph == 2
        assert eager.last.graph is None
        assert graph.last.requests == eager.last.requests


def test_a_step_takes_the_smallest_bucket_that_fits() -> None:
    engine = open_engine(config_of("dflash"))
    for bucket in (4, 1, 2):
        engine.capture(bucket)
    chosen = []
    for request in ("r0", "r1", "r2", "r3", "r4"):
        engine.admit(request, 4, ())
        engine.step(None, None)
        chosen.append((engine.last.graph, engine.last.padded))
    assert chosen == [(1, 1), (2, 2), (4, 4), (4, 4), (None, 5)]


def test_padding_reads_and_writes_the_dummy_seat_and_slot() -> None:
    engine = open_engine(config_of("dspark"))
    engine.capture(4)
    engine.admit("r0", 4, ())
    engine.step(None, True)
    assert engine.forward.inputs["seats"][:4].tolist() == [0, 5, 5, 5]
    assert engine.worker.batch_to_slot[:4].tolist() == [0, 5, 5, 5]
    assert engine.forward.inputs["tokens"][1:4].abs().sum() == 0


def test_a_pool_hands_out_first_freed_rows_first_and_says_what_it_did() -> None:
    pool = SlotPool("slots", 2)
    assert (pool.acquire("a"), pool.acquire("b"), pool.dummy, pool.rows) == (0, 1, 2, 3)
    before = pool.view()
    with pytest.raises(NoFreeSlotError, match=r"no free row in pool 'slots' \(2 rows\) for 'c'"):
        pool.acquire("c")
    assert pool.view() == before
    pool.release("b")
    pool.release("a")
    assert pool.view().free == (1, 0)
    assert pool.acquire("d") == 1
    told = [(event.kind.value, event.request, event.row) for event in pool.take_events()]
    assert told == [
        ("acquire", "a", 0), ("acquire", "b", 1), ("refuse", "c", None),
        ("release", "b", 1), ("release", "a", 0), ("acquire", "d", 1),
    ]  # fmt: skip
    assert pool.take_events() == ()
