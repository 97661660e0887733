"""What results come to, in words: counts, which orders are alike, what a cell means, what the engine itself said.

The terminal, the page and the pictures say the same because they all say what stands here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.orders import REGIMES
from harness.report.matrix import Matrix
from harness.trace import Violation
from harness.verdicts import FIRST_DRAFTERS, CaseResult, LeftAlone

__all__ = [
    "CELLS", "SIGNS", "Fold", "counts", "examples", "fact", "folded", "left_alone", "legend", "order_text",
    "place", "verdict",
]  # fmt: skip

CELLS = {
    "ok": "every invariant holds",
    "FAIL": "an invariant is broken, and left alone the engine itself raises before long",
    "silent": "an invariant is broken, and left alone the engine raises nothing and logs nothing as long as "
    "its requests fit the largest captured bucket: only an invariant can see it",
    "error": "the worker raised in a legal scenario",
    "crash": "the process died",
    "hang": "an operation did not end",
    "n/a": "the target cannot do this scenario; not a verdict",
}
# Beside every colour stands a sign: not everybody tells colours apart, and paper has none.
SIGNS = {"ok": "✓", "FAIL": "✗", "silent": "◌", "error": "!", "crash": "‼", "hang": "∞", "n/a": "-"}


@dataclass(frozen=True)
class Fold:
    """Orders of a matrix with the same cells: `label` says which orders these are, `orders` names them."""

    label: str
    orders: tuple[str, ...]
    cells: tuple[str, ...]


def order_text(order: Iterable[int]) -> str:
    """Return an order of buckets as it is shown: 5>4>2>1."""
    return ">".join(map(str, order))


def place(result: CaseResult) -> str:
    """Return where in the matrix a case stands."""
    case = result.case
    return f"{case.worker}, {case.regime}, first drafter {case.first}, captured {order_text(case.order)}"


def counts(results: Iterable[CaseResult]) -> dict[str, int]:
    """Return how many cases ended in each word, in the order in which the words first appear."""
    found: dict[str, int] = {}
    for result in results:
        found[result.word] = found.get(result.word, 0) + 1
    return found


def verdict(results: Sequence[CaseResult]) -> str:
    """Return all results in one sentence."""
    found = counts(results)
    total, broken = len(results), len(results) - found.get("ok", 0) - found.get("n/a", 0)
    if not broken:
        beside = f"; {found['n/a']} of them cannot be done by this target" if "n/a" in found else ""
        return f"Every invariant holds in {f'all {total} cases' if total > 1 else 'the case'}{beside}."
    parts = []
    raises = sum(result.word == "FAIL" and result.left_alone is not None for result in results)
    if raises:
        parts.append(f"in {raises} the engine itself raises before long")
    if found.get("FAIL", 0) > raises:
        parts.append(f"in {found['FAIL'] - raises} an invariant is broken")
    if "silent" in found:
        parts.append(f"in {found['silent']} it is silent")
    parts += [f"{number} end in {word}" for word, number in found.items() if word in ("error", "crash", "hang")]
    if total == 1:
        return f"Broken: {results[0].violations[0].message if results[0].violations else results[0].detail}."
    return f"{broken} of {total} cases are broken: {', '.join(parts)}."


def folded(matrices: Sequence[Matrix]) -> list[tuple[str, Matrix, tuple[Fold, ...]]]:
    """Return (workers, matrix, its orders folded): equal matrices and orders with equal cells stand once.

    What fails in a matrix of two dozen orders usually depends on which bucket came first; then a fold says so.
    """
    alike: dict[Matrix, list[str]] = {}
    for matrix in matrices:
        alike.setdefault(replace(matrix, worker="", beside=()), []).append(matrix.worker)
    return [(" and ".join(workers), matrix, tuple(_folds(matrix))) for matrix, workers in alike.items()]


def _folds(matrix: Matrix) -> Iterable[Fold]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for order, cells in matrix.rows:
        groups.setdefault(cells, []).append(order)
    firsts = [{order.partition(">")[0] for order in orders} for orders in groups.values()]
    apart = sum(map(len, firsts)) == len(set().union(*firsts))
    for (cells, orders), first in zip(groups.items(), firsts, strict=True):
        yield Fold(_label(orders, first, apart, len(groups)), tuple(orders), cells)


def _label(orders: Sequence[str], firsts: set[str], apart: bool, groups: int) -> str:
    if len(orders) == 1:
        return f"captured {orders[0]}"
    if groups == 1:
        return "captured in any order"
    if apart:
        *most, last = sorted(firsts, key=int)
        return f"{', '.join(most)} or {last} captured first" if most else f"{last} captured first"
    return f"captured {orders[0]} and {len(orders) - 1} more"


def legend(results: Sequence[CaseResult]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return titled lists of (name, meaning) of all that the matrices of these results show."""
    seen = {result.case.regime: result.case.scenario.config for result in results}
    columns = []
    for regime, meaning in REGIMES.items():
        if regime in seen:
            config = seen[regime]
            buckets = ",".join(map(str, config.buckets))
            here = f"(here {config.num_seq_slots or 'unset'}, {config.max_num_requests} and buckets {buckets})"
            columns.append((regime, f"{meaning} {here}"))
    columns += [(first, f"as the first drafter: {meaning}") for first, meaning in FIRST_DRAFTERS.items()]
    words = {result.word for result in results}
    return [
        ("A row is an order in which the buckets' graphs were captured. The columns:", columns),
        ("The cells:", [(word, meaning) for word, meaning in CELLS.items() if word in words]),
    ]


def examples(group: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the cases of one finding that are told in full: a silent one and a loud one.

    Of the silent ones rather production's, or one that says what becomes of accepted drafts.
    """
    silent = [result for result in group if result.silent]
    rather = [result for result in silent if result.case.regime == "production" or _costs_drafts(result)]
    loud = [result for result in group if not result.silent]
    return [*(rather or silent)[:1], *loud[:1]]


def _costs_drafts(result: CaseResult) -> bool:
    return result.left_alone is not None and any(each.collapsed for each in result.left_alone.acceptance)


def fact(violation: Violation) -> str:
    """Return a violation in one line."""
    names = [("buffer", violation.buffer), ("row", violation.row), ("request", violation.request)]
    where = ", ".join(f"{name} {value}" for name, value in names if value not in ("", None))
    where = f" ({where})" if where else ""
    return (
        f"{violation.invariant}{where}: {violation.message}: expected {violation.expected}, seen {violation.seen}"
    )


def left_alone(result: CaseResult) -> str:
    """Return what the engine itself said of a violation, "" where it was not left alone."""
    alone = result.left_alone
    return "" if alone is None else "; ".join([_ended(alone), *_acceptance(alone)])


def _acceptance(alone: LeftAlone) -> list[str]:
    """Say whose drafts are not accepted any more, and what became of the output meanwhile."""
    fallen = [
        f"the mean accepted length of {each.request} fell from {each.alone:.1f} to {each.here:.1f}"
        for each in alone.acceptance
        if each.collapsed
    ]
    if not fallen or alone.plain is None:
        return fallen
    return [*fallen, "the output is still plain greedy decoding's" if alone.plain else "the output is wrong, too"]


def _ended(alone: LeftAlone) -> str:
    if not alone.raised:
        return "ran to its end; nothing was raised, nothing was logged"
    if alone.quiet:
        return (
            f"served {alone.live} requests, all that the largest captured bucket holds, without a word; then "
            f"{alone.where} raised {alone.raised}"
        )
    return f"raised {alone.raised} in {alone.where}, with {alone.live} requests served before"
