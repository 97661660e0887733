"""Sections by hand: a matrix, findings and a slot map without running anything."""

from __future__ import annotations

from dataclasses import replace

from harness.report.section import Section, Waived
from harness.report.slotmap import Cell, Line, SlotMap
from harness.scenario import Admit, Capture, Config, Finish, Operation, Scenario, Step
from harness.trace import Outcome, Violation
from harness.verdicts import Case, CaseResult, LeftAlone

ORDERS = ((4, 2), (2, 4))


def scenario(worker: str, order: tuple[int, ...], seats: int = 5) -> Scenario:
    config = Config(worker, seats, 4, tuple(sorted(order)))
    operations: tuple[Operation, ...] = (*map(Capture, order), Admit("r0", 4), Step(("r0",)), Finish("r0"))
    return Scenario(config, operations)


def result(
    worker: str, regime: str, first: str, order: tuple[int, ...], word: str = "ok", bug: str = "nvbugs/1"
) -> CaseResult:
    case = Case(worker, regime, first, order, scenario(worker, order))
    if word == "ok":
        return CaseResult(bug, case, Outcome.OK, "the end", "", "cpu")
    if word in ("crash", "error", "hang", "n/a"):
        outcome = Outcome.UNSUPPORTED if word == "n/a" else Outcome(word)
        where = "operation 1, capture(bucket=2)"
        return CaseResult(bug, case, outcome, where, "it ended badly", "cpu", at=1)
    small = Violation(
        "I-CAP", "capacity", "pool slots offers 2 rows for 5 seats", 0, "5", "2", "slots", orders="captured 4"
    )
    dummy = Violation("I-SCRATCH", "dummy-is-a-seat", "the dummy is row 2", 0, "outside 0..4", "2", "slots", 2)
    alone = LeftAlone("NoFreeSlotError: none", "operation 3, step()", 4, quiet=word == "silent")
    return CaseResult(
        bug, case, Outcome.VIOLATION, "operation 0, capture(bucket=4)", "", "cpu",
        violations=[small, dummy], left_alone=alone, confirmed=True,
    )  # fmt: skip


def matrix_results(bug: str = "nvbugs/1") -> list[CaseResult]:
    """Two workers, two orders, one regime: with a bucket first, 4>2 is silent and 2>4 fails."""
    words = {("bucket", (4, 2)): "silent", ("bucket", (2, 4)): "FAIL"}
    return [
        result(worker, "production", first, order, words.get((first, order), "ok"), bug)
        for worker in ("dflash", "dspark")
        for first in ("eager", "bucket")
        for order in ORDERS
    ]


def small_map() -> SlotMap:
    free, lost = Cell("free"), Cell("missing", dummy=True, padded=True, broken=True)
    owned = Cell("owned", "r0", written=True)
    lines = (
        Line(0, "capture the graph for 4", (free, lost), ("I-CAP: pool slots offers 1 rows for 2 seats",)),
        Line(1, "r0 comes, prompt of 4", (owned, replace(lost, padded=False))),
        Line(2, "r1 comes, prompt of 4", (owned, lost), (), "error: NoFreeSlotError: none [slots.py:5]"),
    )
    case = ("dflash", "production", "bucket", "4>2")
    return SlotMap("slots", "seat", (0, 1), 2, lines, case, "silent")


def section(bug: str = "nvbugs/1", target: str = "embedded", results: list[CaseResult] | None = None) -> Section:
    return Section(
        bug, "Pools are pinned", "https://example.invalid/1", "K01", "The worker sizes its pool once.", target,
        ("harness", "repro", "1", "--fault", "small-pool"), {"device": "cpu"},
        results=matrix_results(bug) if results is None else results, maps=[small_map()],
        waived=[Waived(
            "repro_cases/test_reproducers.py::test_bug[nvbugs/1-dflash-production]", "waives.txt:3",
            "test SKIP (https://nvbugs/1)", "https://nvbugs/1",
        )],
    )  # fmt: skip
