"""One failing case in a few lines, for reports that show the first one alone."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.text import safe
from harness.verdicts import CaseResult

__all__ = ["first_failure", "told"]


def first_failure(results: Sequence[CaseResult]) -> CaseResult | None:
    """Return the first result that is a finding, None where everything held or could not be done."""
    return next((result for result in results if result.word not in ("ok", "n/a")), None)


def told(result: CaseResult) -> list[str]:
    """Return a failing case as lines: its signature, its place in the matrix, and what was seen where."""
    case = result.case
    order = ">".join(map(str, case.order))
    lines = [result.signature, f"{case.worker}, {case.regime}, first drafter {case.first}, captured {order}"]
    if not result.violations:
        return [safe(line) for line in (*lines, f"{result.where}: {result.detail}")]
    first = result.violations[0]
    lines.append(f"after operation {first.operation}, {case.scenario.operations[first.operation]}; {first.orders}")
    lines.append(f"{first.message}: expected {first.expected}, seen {first.seen}")
    return [safe(line) for line in lines]
