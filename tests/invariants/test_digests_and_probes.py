"""Row digests see what changed, canaries and poison see what should not have been written or was not."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
import torch

from harness.host.digests import Digester
from harness.host.probes import CanaryProbe, FreshProbe, poison_graph_inputs
from harness.host.words import CROSS, words_of
from harness.protocol import Layout
from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.trace import Pool

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.bool]


def _digests(*rows: list[float], dtype: torch.dtype = torch.float64) -> tuple[int, ...]:
    return _of(torch.tensor(rows, dtype=dtype))


def _of(tensor: torch.Tensor, row_dim: int = 0, entries: int = 1) -> tuple[int, ...]:
    return Digester()({"x": (tensor, row_dim, entries)})["x"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constant_rows_of_different_constants_differ_from_each_other_and_from_zero(dtype: torch.dtype) -> None:
    constants = [0.0, 1.0] if dtype is torch.bool else [0.0, 1.0, 2.0, 977.0, -1.0, -2.0, -977.0]
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
    one, other = _of(tensor)
    assert one != other


def test_equal_rows_digest_equally_wherever_they_stand() -> None:
    assert len(set(_digests([1, 2], [1, 2], [1, 2]))) == 1


def test_the_row_dimension_need_not_be_the_first_and_a_row_may_be_several_entries() -> None:
    tensor = torch.arange(2 * 6 * 8, dtype=torch.int64).view(2, 6, 8)
    rows = [tensor[:, row * 2 : row * 2 + 2].transpose(0, 1).flatten() for row in range(3)]
    assert _of(tensor, row_dim=1, entries=2) == _of(torch.stack(rows))


@pytest.mark.parametrize("shape", [(3, 5), (3, 4, 2), (3, 7, 4), (3, 8)], ids=str)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32], ids=str)
def test_narrow_values_are_read_as_the_widest_words_that_fit(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    words = words_of(torch.zeros(shape, dtype=dtype), 0, 1)
    run = shape[1] * (shape[2] if shape[2:] else 1) * dtype.itemsize
    assert run % words.width == 0
    assert words.width == 8 or run % (2 * words.width) != 0
    ((first, matrix),) = words.matrices
    assert (first, matrix.shape) == (0, (3, run // words.width))


def test_a_view_that_starts_between_two_words_digests_as_its_copy_does() -> None:
    tensor = torch.arange(33, dtype=torch.int16)[1:].view(4, 8)
    assert _of(tensor) == _of(tensor.clone())


def _adversaries() -> list[tuple[torch.Tensor, int, int]]:
    """Shapes that a kernel gets wrong: tails, single words, strided rows, more rows than a tile has."""
    generator = torch.Generator().manual_seed(0)
    shapes: list[tuple[tuple[int, ...], int, int, torch.dtype]] = [
        ((5, 40), 0, 1, torch.float64), ((2, 7, 300, 2), 1, 1, torch.float64),
        ((3, 12, 5, 700), 1, 2, torch.bfloat16),
        ((9,), 0, 1, torch.int64), ((6, 3), 0, 1, torch.bool), ((4, 4100, 5), 0, 1, torch.int32),
        ((3, 33000), 0, 1, torch.float32), ((2, 6, 3), 1, 1, torch.uint8), ((8, 5), 1, 1, torch.float32),
    ]  # fmt: skip
    made = []
    for shape, row_dim, entries, dtype in shapes:
        values = torch.randn(shape, generator=generator, dtype=torch.float64) * 100
        made.append((values.to(dtype), row_dim, entries))
    return made


def _formula(tensor: torch.Tensor, row_dim: int, entries: int) -> tuple[int, ...]:
    """The digest as its docstring says it, word by word in Python's integers."""
    words = words_of(tensor, row_dim, entries)
    sums = []
    for row in range(words.rows):
        total = 0
        run = (word for _, matrix in words.matrices for word in matrix[row].tolist())
        for place, word in enumerate(run):
            one = _split_mix(place) | 1
            total += word * one + (word >> 32) * (one ^ CROSS if words.width == 8 else 0)
        sums.append((total + (1 << 63)) % (1 << 64) - (1 << 63))
    return tuple(sums)


def _split_mix(index: int) -> int:
    z = (index + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % (1 << 64)
    return z ^ (z >> 31)


@pytest.mark.parametrize("rows", _adversaries(), ids=lambda rows: f"{tuple(rows[0].shape)} {rows[0].dtype}")
def test_a_digest_is_the_sum_that_it_is_said_to_be(rows: tuple[torch.Tensor, int, int]) -> None:
    assert _of(*rows) == _formula(*rows)


@pytest.mark.gpu
def test_a_gpu_digests_every_bit_as_a_cpu_does() -> None:
    for tensor, row_dim, entries in _adversaries():
        assert _of(tensor.cuda(), row_dim, entries) == _of(tensor, row_dim, entries)


_INTERPRETED = """
import torch
from harness.host import digest_kernel, digests
from harness.host.words import words_of
for shape, row_dim, entries, dtype in {shapes}:
    words = words_of((torch.randn(shape) * 100).to(dtype), row_dim, entries)
    one, other = torch.zeros(2, words.rows, dtype=torch.int64)
    digests.add_words(words, one)
    digest_kernel.add_words(words, other)
    assert torch.equal(one, other), shape
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="triton comes with torch for CUDA")
def test_the_kernel_interpreted_on_a_cpu_gives_the_same_bits() -> None:
    shapes = [(tuple(tensor.shape), row_dim, entries, tensor.dtype) for tensor, row_dim, entries in _adversaries()]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    program = _INTERPRETED.format(shapes=shapes)
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def _inspection() -> tuple[Inspection, torch.Tensor, torch.Tensor]:
    content, cursor = torch.zeros(4, 5), torch.zeros(4, dtype=torch.int64)
    tensors = {
        "content": PersistentTensor(content, "slots"),
        "cursor": PersistentTensor(cursor, "slots", data=False),
        "loose": PersistentTensor(torch.zeros(4, 5)),
    }
    pool = Pool("slots", 3, 3, {"a": 1}, (0, 2))
    return Inspection(tensors, {}, (pool,), {}, {}), content, cursor


def _all_digests(seen: Inspection) -> dict[str, tuple[int, ...]]:
    return {name: _of(item.tensor) for name, item in seen.tensors.items()}


def _layout() -> dict[str, Layout]:
    return dict.fromkeys(("content", "cursor", "loose"), Layout("slot", extra=1))


def test_a_canary_stands_in_unowned_rows_of_content_alone() -> None:
    seen, content, cursor = _inspection()
    CanaryProbe(_layout()).fill(seen, _all_digests(seen))
    assert content[:, 0].ne(0).tolist() == [True, False, True, False]  # not the owner's, not the dummy's
    assert cursor.tolist() == [0, 0, 0, 0]
    assert seen.tensors["loose"].tensor.abs().sum() == 0


def test_a_canary_that_was_written_is_named_by_buffer_and_row() -> None:
    seen, content, _ = _inspection()
    probe = CanaryProbe(_layout())
    probe.fill(seen, _all_digests(seen))
    assert probe.findings(seen, _all_digests(seen), 7) == []
    probe.fill(seen, _all_digests(seen))
    content[2, 4] += 1
    (violation,) = probe.findings(seen, _all_digests(seen), 8)
    assert (violation.rule, violation.buffer, violation.row, violation.operation) == ("canary", "content", 2, 8)


def test_a_tensor_that_was_not_placed_gets_no_canary() -> None:
    seen, content, _ = _inspection()
    CanaryProbe({"content": Layout("unclassified")}).fill(seen, _all_digests(seen))
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
    probe.fill(seen, _all_digests(seen))
    content[2] = 0
    later = replace(seen, pools=(replace(seen.pools[0], owners={"a": 1, "b": 2}, free=(0,)),))
    assert probe.findings(later, _all_digests(later), 7) == []


def _guarded() -> tuple[Inspection, torch.Tensor, torch.Tensor]:
    seen, _, _ = _inspection()
    content, cursor = torch.zeros(6, 5), torch.ones(6, dtype=torch.int64)
    tensors = {
        "content": PersistentTensor(content, "slots", guard=2),
        "cursor": PersistentTensor(cursor, "slots", data=False, guard=2),
    }
    return replace(seen, tensors=tensors), content, cursor


@pytest.mark.parametrize("buffer", ["content", "cursor"])
def test_a_guard_row_that_was_written_is_named_whatever_is_in_the_buffer(buffer: str) -> None:
    seen, content, cursor = _guarded()
    probe = CanaryProbe(dict.fromkeys(("content", "cursor"), Layout("slot", extra=3)))
    probe.fill(seen, _all_digests(seen))
    assert cursor.tolist() == [1, 1, 1, 1, 0, 0]  # an index behind the pool may still be read as one
    assert content[:, 0].ne(0).tolist() == [True, False, True, False, True, True]
    seen.tensors[buffer].tensor[5] += 3
    (violation,) = probe.findings(seen, _all_digests(seen), 7)
    assert (violation.invariant, violation.rule, violation.buffer, violation.row) == (
        "I-SPACE",
        "guard",
        buffer,
        5,
    )


def test_rows_that_still_hold_the_pattern_are_not_written_again() -> None:
    seen, content, _ = _inspection()
    probe = CanaryProbe(_layout())
    probe.fill(seen, _all_digests(seen))
    version = content._version
    probe.fill(seen, _all_digests(seen))
    assert content._version == version


def test_a_row_that_is_given_with_another_s_content_is_named() -> None:
    cursor = torch.tensor([0, 7, 0, 0])
    tensors = {
        "cursor": PersistentTensor(cursor, "slots", data=False, initial=0.0),
        "context": PersistentTensor(torch.ones(4, 2), "slots"),  # old content may stay: it is hidden by a length
    }
    seen = replace(_inspection()[0], tensors=tensors)
    probe = FreshProbe(dict.fromkeys(tensors, Layout("slot", extra=1)))
    probe.acquired("slots", 1)  # nothing was seen yet: there is nothing to compare
    assert probe.look(seen, 3) == []
    for row in (0, 1):
        probe.acquired("slots", row)
    (violation,) = probe.look(seen, 4)
    assert (violation.invariant, violation.rule, violation.buffer, violation.row, violation.operation) == (
        "I-FRESH", "not-reset", "cursor", 1, 4,
    )  # fmt: skip
    assert probe.look(seen, 5) == []
