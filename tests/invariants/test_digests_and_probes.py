"""Row digests see what changed, canaries and poison see what should not have been written or was not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from harness.host.digests import row_digests, rows_first
from harness.host.probes import CanaryProbe, poison_graph_inputs
from harness.protocol import Layout
from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.trace import Pool

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.bool]


def _digests(*rows: list[float], dtype: torch.dtype = torch.float64) -> tuple[int, ...]:
    (digests,) = row_digests([torch.tensor(rows, dtype=dtype)])
    return digests


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constant_rows_of_different_constants_differ_from_each_other_and_from_zero(dtype: torch.dtype) -> None:
    constants = [0.0, 1.0] if dtype is torch.bool else [0.0, 1.0, 2.0, 977.0]
    assert len(set(_digests(*([c] * 8 for c in constants), dtype=dtype))) == len(constants)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_value_that_moved_within_its_row_shows(dtype: torch.dtype) -> None:
    for value in (1.0,) if dtype is torch.bool else (1.0, 2.0, -2.0, 977.0):
        rows = [[value if column == place else 0.0 for column in range(12)] for place in range(12)]
        assert len(set(_digests(*rows, dtype=dtype))) == 12


def test_two_values_that_changed_places_show() -> None:
    one, other = _digests([1, 2, 3, 4], [1, 3, 2, 4])
    assert one != other


def test_one_bit_of_one_value_shows() -> None:
    tensor = torch.full((2, 100), 0.1, dtype=torch.float64)
    tensor[1, 57] = tensor[1, 57].nextafter(torch.tensor(1.0, dtype=torch.float64))
    ((one, other),) = row_digests([tensor])
    assert one != other


def test_equal_rows_digest_equally_wherever_they_stand() -> None:
    assert len(set(_digests([1, 2], [1, 2], [1, 2]))) == 1


def test_the_row_dimension_need_not_be_the_first_and_a_row_may_be_several_entries() -> None:
    tensor = torch.arange(2 * 6 * 3).view(2, 6, 3)
    rows = rows_first(tensor, row_dim=1, entries=2)
    assert rows.shape[0] == 3
    assert torch.equal(rows[1].flatten(), tensor[:, 2:4].transpose(0, 1).flatten())
    assert rows.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()


def _inspection() -> tuple[Inspection, torch.Tensor, torch.Tensor]:
    content, cursor = torch.zeros(4, 5), torch.zeros(4, dtype=torch.int64)
    tensors = {
        "content": PersistentTensor(content, "slots"),
        "cursor": PersistentTensor(cursor, "slots", data=False),
        "loose": PersistentTensor(torch.zeros(4, 5)),
    }
    pool = Pool("slots", 3, 3, {"a": 1}, (0, 2))
    return Inspection(tensors, {}, (pool,), {}, {}), content, cursor


def _layout() -> dict[str, Layout]:
    return dict.fromkeys(("content", "cursor", "loose"), Layout("slot", extra=1))


def test_a_canary_stands_in_unowned_rows_of_content_alone() -> None:
    seen, content, cursor = _inspection()
    CanaryProbe(_layout()).fill(seen)
    assert content[:, 0].ne(0).tolist() == [True, False, True, False]  # not the owner's, not the dummy's
    assert cursor.tolist() == [0, 0, 0, 0]
    assert seen.tensors["loose"].tensor.abs().sum() == 0


def test_a_canary_that_was_written_is_named_by_buffer_and_row() -> None:
    seen, content, _ = _inspection()
    probe = CanaryProbe(_layout())
    probe.fill(seen)
    assert probe.findings(seen, {"content": row_digests([content])[0]}, 7) == []
    content[2, 4] += 1
    (violation,) = probe.findings(seen, {"content": row_digests([content])[0]}, 7)
    assert (violation.rule, violation.buffer, violation.row, violation.operation) == ("canary", "content", 2, 7)


def test_a_tensor_that_was_not_placed_gets_no_canary() -> None:
    seen, content, _ = _inspection()
    CanaryProbe({"content": Layout("unclassified")}).fill(seen)
    assert content.abs().sum() == 0


def test_poison_is_never_the_sentinel() -> None:
    zero, dummy = torch.zeros(3, dtype=torch.int64), torch.full((3,), 4)
    inputs = {"zero": GraphTensor(zero, 0), "dummy": GraphTensor(dummy, 4)}
    poison_graph_inputs(Inspection({}, inputs, (), {}, {}))
    assert 0 not in zero.tolist()
    assert 4 not in dummy.tolist()


def test_a_row_that_somebody_got_during_the_step_is_his_to_write() -> None:
    seen, content, _ = _inspection()
    probe = CanaryProbe(_layout())
    probe.fill(seen)
    content[2] = 0
    later = replace(seen, pools=(replace(seen.pools[0], owners={"a": 1, "b": 2}, free=(0,)),))
    assert probe.findings(later, {"content": row_digests([content])[0]}, 7) == []
