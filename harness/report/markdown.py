"""Results as Markdown, for pull requests and evidence."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.matrix import Matrix, failure_groups, matrices
from harness.report.slotmap import SlotMap
from harness.report.terminal_map import render_slot_map
from harness.verdicts import CaseResult

__all__ = ["render_markdown"]


def render_markdown(
    results: Sequence[CaseResult], title: str, facts: Sequence[str] = (), drawn: SlotMap | None = None
) -> str:
    """Return a heading, `facts` of what was run, tables, a line for each group of failures, and a map."""
    lines = [f"## {_escape(title)}", "", *(f"- {_escape(fact)}" for fact in facts), *([""] if facts else [])]
    for matrix in matrices(results):
        lines += _table(matrix)
    for signature, group in failure_groups(results).items():
        lines.append(f"- `{_code(signature)}`: {len(group)} cases, first {_escape(group[0].where)}")
    if drawn is not None:
        lines += ["", *(f"    {line}" for line in render_slot_map(drawn).splitlines())]
    return "\n".join(lines) + "\n"


def _table(matrix: Matrix) -> list[str]:
    heads = [f"{regime}, {first} first" for first, regime in matrix.columns]
    lines = [f"### {matrix.worker}", ""]
    if matrix.columns:
        lines += [f"| captured | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        lines += [f"| {order} | {' | '.join(cells)} |" for order, cells in matrix.rows]
    lines.append("")
    lines += [f"- {_escape(r.case.regime)}, {r.case.first} first: {r.word}" for r in matrix.beside]
    return [*lines, ""]


def _escape(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text if c.isprintable())


def _code(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c != "`")
