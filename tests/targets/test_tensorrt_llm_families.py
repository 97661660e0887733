"""nvbugs/6535874 on a small tree of every worker family: broken in the right orders and regimes, fixed in none."""

from __future__ import annotations

from pathlib import Path

import pytest
from laying import lay_tree, speculative

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.orders import all_orders
from harness.reproduce import Parameters, reproduce
from harness.trace import Outcome
from harness.verdicts import CaseResult

# name -> (DFlash family, DSpark family, worker, variant)
FAMILIES = {
    "DFlash D, rows": ("d", "d", "dflash", ""),
    "DFlash E, rows": ("e", "d", "dflash", ""),
    "DFlash E, pages": ("e", "d", "dflash", "?layout=paged"),
    "DFlash F, rows": ("f", "d", "dflash", ""),
    "DFlash F, manager's pages": ("f", "d", "dflash", "?layout=managed"),
    "DFlash G, rows": ("g", "e", "dflash", ""),
    "DFlash G, latents in the manager's pages": ("g", "e", "dflash", "?layout=mla"),
    "DSpark d, embedded": ("e", "d", "dspark", ""),
    "DSpark d, standalone": ("e", "d", "dspark", "?dspark=standalone"),
    "DSpark e, embedded": ("g", "e", "dspark", ""),
    "DSpark e, standalone on managed pages": ("g", "e", "dspark", "?dspark=standalone&layout=managed"),
}
BUCKETS = (2, 4, 5)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> tuple[str, str, str, str]:
    return FAMILIES[request.param]


def run(folder: Path, family: tuple[str, str, str, str], form: str, regimes: tuple[str, ...]) -> list[CaseResult]:
    dflash, dspark, worker, variant = family
    source = f"{lay_tree(folder, dflash, dspark, form)}{variant}"
    parameters = Parameters((worker,), regimes, orders=all_orders(BUCKETS))
    with Launcher("tensorrt_llm", source=source, isolation="none") as launcher:
        return reproduce(load_reproducer(find_bug("6535874")), parameters, launcher)


def broken_orders(results: list[CaseResult], regime: str, first: str) -> int:
    return sum(not r.holds for r in results if r.case.regime == regime and r.case.first == first)


def test_a_pool_pinned_by_a_bucket_is_seen_in_the_orders_that_pin_it(
    tmp_path: Path, family: tuple[str, str, str, str]
) -> None:
    results = run(tmp_path, family, "broken", ("exact", "production"))
    assert broken_orders(results, "exact", "bucket") == 4, "all but those that start with the largest bucket"
    assert broken_orders(results, "production", "bucket") == 6, "the largest bucket is below the seats"
    assert broken_orders(results, "exact", "eager") == broken_orders(results, "production", "eager") == 0
    named = {v.buffer for r in results for v in r.violations if v.invariant == "I-CAP"}
    assert "worker._batch_to_slot" in named
    assert "worker._ctx_len" in named
    assert all(r.signature.startswith("I-CAP") for r in results if not r.holds)
    assert any(r.silent for r in results), "largest bucket first raises nothing while its batches fit"


def test_a_pool_that_spans_the_seats_holds_everywhere(tmp_path: Path, family: tuple[str, str, str, str]) -> None:
    results = run(tmp_path, family, "fixed", ("exact", "headroom"))
    assert [(r.outcome, r.where, r.detail, r.violations) for r in results if r.outcome is not Outcome.OK] == []


@pytest.mark.parametrize(
    ("worker", "module", "old"),
    [
        ("dflash", "dflash_inline", "self._batch_to_slot = torch.zeros(slots,"),
        ("dspark", "dspark", "self._batch_to_slot = torch.full((slots,),"),
    ],
)
def test_a_map_of_batch_rows_that_alone_is_too_small_is_named_by_what_it_lacks(
    tmp_path: Path, worker: str, module: str, old: str
) -> None:
    file = speculative(lay_tree(tmp_path, "e", "d", "fixed")) / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, old.replace("slots", "spec_metadata.max_num_requests")), encoding="utf-8")
    parameters = Parameters((worker,), ("exact",), ("bucket",), ((2, 4, 5), (5, 4, 2)))
    with Launcher("tensorrt_llm", source=str(tmp_path), isolation="none") as launcher:
        small, large = reproduce(load_reproducer(find_bug("6535874")), parameters, launcher)
    assert large.holds, "the first bucket is the largest batch"
    (named,) = small.violations
    assert named.signature == "I-CAP:batch:worker._batch_to_slot"
    assert (named.expected, named.seen) == ("5", "2")
