"""The matrix of orders by regimes as plain cells, for every kind of report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.orders import CONFIG_REGIME, REGIMES
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["Matrix", "failure_groups", "matrices"]

_COLUMNS = (*REGIMES, CONFIG_REGIME)  # the regimes that have a case an order
_SHORT = {"production": "prod."}  # eight columns of a terminal's eighty have nine characters each


@dataclass(frozen=True)
class Matrix:
    """One worker's table. `columns` are (first drafter, regime); `rows` are (order, a cell a column).

    beside  results of cases that stand beside the matrix.
    """

    worker: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    beside: tuple[CaseResult, ...]

    def heading(self, regime: str) -> str:
        """Return a column's heading, at most eight characters."""
        return _SHORT.get(regime, regime)


def matrices(results: Sequence[CaseResult]) -> list[Matrix]:
    """Return one matrix a worker, in the order in which the results name them."""
    return [
        _matrix(worker, [result for result in results if result.case.worker == worker])
        for worker in dict.fromkeys(result.case.worker for result in results)
    ]


def _matrix(worker: str, results: Sequence[CaseResult]) -> Matrix:
    inside = [result for result in results if result.case.regime in _COLUMNS]
    cells = {(r.case.first, r.case.regime, r.case.order): r.word for r in inside}
    present = {(first, regime) for first, regime, _ in cells}
    columns = tuple(
        (first, regime) for first in FIRST_DRAFTERS for regime in _COLUMNS if (first, regime) in present
    )
    rows = tuple(
        (">".join(map(str, order)), tuple(cells.get((*column, order), "") for column in columns))
        for order in dict.fromkeys(result.case.order for result in inside)
    )
    beside = tuple(result for result in results if result.case.regime not in _COLUMNS)
    return Matrix(worker, columns, rows, beside)


def failure_groups(results: Sequence[CaseResult]) -> dict[str, list[CaseResult]]:
    """Return signature -> the results that share it, largest group first; what held is left out."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        if result.word not in ("ok", "n/a"):
            groups.setdefault(result.signature, []).append(result)
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))
