"""Where rows are is found by growth: every tensor of the embedded engine is placed, and rightly."""

from __future__ import annotations

import pytest
import torch

from harness.host.graph_tape import tape_capture
from harness.host.introspect import find_layout
from harness.host.observe import Observer
from harness.protocol import Layout
from harness.scenario import WORKERS, Config, Operation
from harness.targets import load_target
from harness.targets.base import Inspection, OpenOptions, PersistentTensor

OPTIONS = OpenOptions("cpu", tape_capture)
SLOT = Layout("slot", row_dim=0, entries=1, extra=1)
PLACED = {
    "target.cache": Layout("slot", row_dim=1, entries=1, extra=1),
    "inputs.tokens": Layout("batch"),
    "inputs.positions": Layout("batch"),
    "inputs.seats": Layout("batch"),
    "outputs.packed": Layout("batch"),
    "outputs.confidence": Layout("batch"),
    "worker.context": SLOT,
    "worker.ctx_len": SLOT,
    "worker.ctx_start": SLOT,
    "worker.batch_to_slot": Layout("slot"),
}


@pytest.mark.parametrize("faults", [(), ("capacity-from-bucket",)], ids=["right", "faulty"])
@pytest.mark.parametrize("worker", WORKERS)
def test_every_tensor_of_the_embedded_engine_is_placed(worker: str, faults: tuple[str, ...]) -> None:
    options = OpenOptions("cpu", tape_capture, faults)
    layout = find_layout(load_target("embedded"), Config(worker, 5, 5, (1, 2)), options)
    assert layout == PLACED


def test_pages_are_rows_of_their_own_with_the_null_page_and_a_guard_behind_them() -> None:
    layout = find_layout(load_target("embedded"), Config("dflash", 5, 5, (), page_size=4), OPTIONS)
    assert layout["target.pages"] == Layout("slot", row_dim=1, entries=1, extra=2)
    assert layout["target.page_table"] == SLOT


class _Grown:
    """A target whose one tensor has a shape that depends on the capacities in a given way."""

    def __init__(self, shape: str) -> None:
        self._shape = shape

    def describe(self) -> None:
        raise NotImplementedError

    def open(self, config: Config, options: OpenOptions) -> _Session:
        del options
        sizes = eval(self._shape, {"N": config.num_seq_slots, "M": config.max_num_requests})  # noqa: S307  # the test's own text
        return _Session(torch.zeros(sizes))


class _Session:
    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def apply(self, operation: Operation) -> None:
        del operation

    def inspect(self) -> Inspection:
        return Inspection({"x": PersistentTensor(self._tensor, "slots")}, {}, (), {}, {})

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("(N + 1, 8)", Layout("slot", 0, 1, 1)),
        ("(N, 8)", Layout("slot", 0, 1, 0)),
        ("(3, (N + 1) * 2, 2, 5)", Layout("slot", 1, 2, 1)),
        ("(M, 6)", Layout("batch", 0, 1, 0)),
        ("(6, M + 2)", Layout("batch", 1, 1, 2)),
        ("(6, 4)", Layout("fixed")),
        ("(N, M)", Layout("unclassified")),
        ("(N, N)", Layout("unclassified")),
        ("(N + M,)", Layout("unclassified")),
        ("(20 - N,)", Layout("unclassified")),
        ("(2 * N - 3,)", Layout("unclassified")),
    ],
)
def test_a_dimension_is_placed_by_what_it_grows_with(shape: str, expected: Layout) -> None:
    assert find_layout(_Grown(shape), Config("dflash", 6, 4, ()), OPTIONS) == {"x": expected}  # type: ignore[arg-type]  # as much of a target as is asked for


def test_a_reallocation_under_the_same_name_is_another_generation() -> None:
    observer = Observer({"x": Layout("slot", extra=1)})
    generations = []
    for tensor in (first := torch.zeros(4, 2), first, torch.ones(4, 2), torch.zeros(4, 2)):
        seen = Inspection({"x": PersistentTensor(tensor, "slots")}, {}, (), {}, {})
        (buffer,) = observer.snapshot(0, seen, observer.digests(seen), []).buffers
        generations.append(buffer.generation)
        assert (buffer.space, buffer.rows, len(buffer.digests)) == ("slots", 4, 4)
    assert generations == [0, 0, 1, 2]


def test_a_tensor_without_a_layout_is_reported_as_unclassified() -> None:
    seen = Inspection({"new": PersistentTensor(torch.zeros(4, 2), "slots")}, {}, (), {}, {})
    (buffer,) = Observer({}).snapshot(0, seen, {}, []).buffers
    assert (buffer.space, buffer.owned) == ("unclassified", False)
