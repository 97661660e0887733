"""Who was refused a row, whom the relay is for, and what a graph was told of its batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.sglang.fields import Fields
from harness.targets.sglang.rows import Rows
from harness.trace import MetadataField


class Registry:
    """Copies what a batch has, but for what it is told to forget, into buffers of four rows of two tokens."""

    def __init__(self, *forgotten: str) -> None:
        self.forgotten = forgotten
        axes = {"rows": ("bs", 4), "places": ("tokens", 8), "all": ("none", 1), "absent": ("bs", 4)}
        self.slots = {
            name: SimpleNamespace(axis=axis, slice_fn=None, buffer=torch.full((size,), -1))
            for name, (axis, size) in axes.items()
        }

    def slot_names(self) -> list[str]:
        return list(self.slots)

    def get_slot(self, name: str) -> Any:
        return self.slots[name]

    def fill_from(self, batch: Any, **_: int) -> None:
        for name, values in vars(batch).items():
            if name not in self.forgotten and values is not None:
                self.slots[name].buffer[: len(values)] = values


class Runner:
    """A model runner: `graph` says what its last forward replayed."""

    graph: int | None = 2

    def forward(self, batch: Any, **_: Any) -> str:
        return f"ran {len(batch.rows)}"


BATCH = SimpleNamespace(
    rows=torch.tensor([4, 3]), places=torch.tensor([5, 6, 7, 8]), all=torch.tensor([1]), absent=None
)
SIZES = {"raw_bs": 2, "padded_bs": 4, "raw_num_tokens": 4, "padded_num_tokens": 8}


def test_fields_are_told_with_what_the_graphs_copy_held_when_it_was_filled() -> None:
    registry, runner = Registry(), Runner()
    fields = Fields({"draft": (runner, SimpleNamespace(buffer_registry=registry))})
    registry.fill_from(BATCH, **SIZES)
    registry.slots["rows"].buffer.fill_(9)  # whatever the forward then does to it
    assert runner.forward(BATCH) == "ran 2"
    assert list(fields.shown()) == [
        MetadataField("draft.rows", "per-request", ("4", "3"), ("4", "3")),
        MetadataField("draft.places", "rebuilt", ("5", "6", "7", "8"), ("5", "6", "7", "8")),
    ]


def test_a_field_that_is_not_copied_shows_what_the_copy_held_before() -> None:
    registry = Registry("rows")
    fields = Fields({"draft": (Runner(), SimpleNamespace(buffer_registry=registry))})
    registry.fill_from(BATCH, **SIZES)
    assert next(iter(fields.shown())) == MetadataField("draft.rows", "per-request", ("4", "3"), ("-1", "-1"))


def test_without_a_graph_there_is_no_copy() -> None:
    registry, runner = Registry(), Runner()
    fields = Fields({"draft": (runner, SimpleNamespace(buffer_registry=registry))})
    registry.fill_from(BATCH, **SIZES)
    runner.graph = None
    runner.forward(SimpleNamespace(rows=torch.tensor([2, 1, 3]), places=torch.arange(6)))
    assert [(field.owner, field.copy) for field in fields.shown()] == [
        (("2", "1", "3"), None),
        (("0", "1", "2", "3", "4", "5"), None),
    ]


def pool(*answers: list[int] | None) -> Any:
    """Return a request pool that gives these rows, one answer a call."""
    left = list(answers)
    return SimpleNamespace(alloc=lambda _requests: left.pop(0), req_generation=torch.tensor([0, 5, 7]))


def test_a_request_is_refused_where_the_pool_has_none_for_it_whoever_looks_at_that() -> None:
    requests = pool([1], None)
    rows = Rows(requests)
    assert requests.alloc([SimpleNamespace(rid="a")]) == [1]
    assert not rows.refusals
    assert requests.alloc([SimpleNamespace(rid="b")]) is None
    assert rows.refused("b")
    assert not rows.refused("a")


def test_what_the_relay_holds_is_for_whoever_had_the_row_when_it_was_told() -> None:
    requests = pool()
    rows = Rows(requests)
    rows.published([1, 2])
    requests.req_generation[2] += 1
    assert [rows.made_for(row) for row in (0, 1, 2)] == [0, 5, 7]
