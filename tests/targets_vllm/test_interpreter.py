"""Triton's interpreter with its bookkeeping done once computes what it did, and still raises out of bounds."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fetched_vllm import NEWEST, source_of

pytestmark = pytest.mark.released
ROOT = Path(__file__).parents[2]
# Types of all widths, blocks of two ranks, scalars beside blocks, reductions, loops, calls, masks, random numbers.
KERNELS = """
import json, os, sys
os.environ["TRITON_INTERPRET"] = "1"
import torch, triton
import triton.language as tl
from triton.runtime import interpreter
from harness.targets.common import kernels

@triton.jit
def halved(value, DIVISOR: tl.constexpr):
    return tl.where(value > 2, value // DIVISOR, value)

@triton.jit
def mixed(numbers, wide, real, small, out, sums, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    number = tl.load(numbers + at, mask=mask, other=7)
    total = halved(number, 2) + tl.load(wide + at, mask=mask, other=1) * 3
    for step in range(2):
        total += step + tl.cdiv(count, BLOCK)
    square = tl.arange(0, BLOCK)[:, None] * tl.arange(0, BLOCK)[None, :] + total[None, :]
    value = tl.load(real + at, mask=mask, other=0.0).to(tl.float32) / (row + 1)
    value += tl.sum(square, axis=0).to(tl.float32) * square.shape[1] + tl.rand(3, at)
    tl.store(out + at, value, mask=mask)
    tl.store(small + at, (number - 200).to(tl.int8), mask=mask & (number != 0))
    tl.store(sums + row, tl.max(value, axis=0) + tl.argmax(value, axis=0))

@triton.jit
def copied(source, target, at, to, SIZE: tl.constexpr):
    place = tl.arange(0, SIZE)
    tl.store(target + to + place, tl.load(source + at + place))

@triton.jit
def doubled(number, wide, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    tl.store(wide + place, (tl.load(number + place) * 2).to(tl.int64))

def computed():
    numbers = torch.tensor([0, 1, 2, 3, 250, 2**31 - 5, -4], dtype=torch.int32)
    wide = torch.arange(7) * 2**40
    real = torch.linspace(-2, 2, 7, dtype=torch.float64)
    small, out = torch.zeros(7, dtype=torch.int8), torch.zeros(7)
    sums, doubles = torch.zeros(2, dtype=torch.float64), torch.zeros(4, dtype=torch.int64)
    mixed[(2,)](numbers, wide, real, small, out, sums, 7, BLOCK=4)
    doubled[(1,)](torch.tensor([1, 2**31 - 1, -2**31, 2**30], dtype=torch.int32), doubles, BLOCK=4)
    return [tensor.tolist() for tensor in (small, out, sums, doubles)]
"""


@pytest.fixture
def told(tmp_path: Path) -> Callable[[str], Any]:
    """Return what a program with these kernels prints, run by a fetched engine's Python."""

    def run(program: str) -> Any:
        (tmp_path / "some_kernels.py").write_text(KERNELS + program)
        done = subprocess.run(
            [str(Path(source_of(NEWEST)) / "env/bin/python"), str(tmp_path / "some_kernels.py")],
            capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_what_kernels_compute_is_the_same_to_the_last_bit(told: Callable[[str], Any]) -> None:
    before, after = told("""
before = computed()
kernels.interpret_kernels(("__main__",))
print(json.dumps([before, computed()]))
""")
    assert before == after
    assert [len(set(numbers)) for numbers in before] == [7, 7, 2, 4]


def test_a_kernel_that_leaves_its_tensors_raises(told: Callable[[str], Any]) -> None:
    outside = {
        (4, 0): "",
        (0, 4): "",
        (-1, 0): "loaded out of bounds: 1 addresses in no argument",
        (6, 0): "loaded out of bounds: 2 addresses in no argument",
        (0, 5): "stored out of bounds: 1 addresses in no argument",
        (0, -2): "stored out of bounds: 2 addresses in no argument",
    }
    errors = told(f"""
kernels.interpret_kernels(("__main__",))
errors = []
for at, to in {list(outside)}:
    try:
        copied[(1,)](torch.arange(8), torch.zeros(8, dtype=torch.int64), at, to, SIZE=4)
        errors.append("")
    except kernels.OutOfBoundsError as raised:
        errors.append(str(raised))
print(json.dumps(errors))
""")
    assert errors == [what and f"copied: {what}" for what in outside.values()]
