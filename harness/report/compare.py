"""The same cases on two sources, before and after a change: the table that a pull request wants."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from harness.orders import CONFIG_REGIME, REGIMES
from harness.report.finding import first_failure, told
from harness.report.heading import devices
from harness.report.text import Paint, plain, safe
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["Side", "compare_cells", "render_comparison", "render_comparison_markdown"]

_COLUMNS = (*REGIMES, CONFIG_REGIME)
_CELL = 17  # "silent -> silent" and a blank
_Key = tuple[str, str, str, tuple[int, ...]]  # worker, first drafter, regime, order


@dataclass(frozen=True)
class Side:
    """One source and what it showed. `version` is its commit in words, `source` what the person wrote."""

    source: str
    version: str
    results: Sequence[CaseResult]


def compare_cells(before: Side, after: Side) -> dict[_Key, tuple[str, str]]:
    """Return each case's word on both sides, "" where a side has no such case."""
    words: list[dict[_Key, str]] = [
        {_key(result): result.word for result in side.results} for side in (before, after)
    ]
    return {key: (words[0].get(key, ""), words[1].get(key, "")) for key in dict.fromkeys([*words[0], *words[1]])}


def render_comparison(before: Side, after: Side, paint: Paint = plain) -> str:
    """Return tables of at most eighty columns, both first findings and a closing line."""
    cells = compare_cells(before, after)
    blocks = [f"before     {_named(before)}\nafter      {_named(after)}"]
    for worker, first in dict.fromkeys(key[:2] for key in cells):
        columns, rows = _grid(cells, worker, first)
        wide = max([9, *(len(order) for order, _ in rows)])
        lines = [f"{worker}, first drafter {first}"]
        if columns:
            lines.append(f"{'captured':<{wide}}" + "".join(f"{regime:>{_CELL}}" for regime in columns))
        lines += [f"{order:<{wide}}" + "".join(_painted(cell, paint) for cell in row) for order, row in rows]
        lines += _beside(cells, worker, first, paint)
        blocks.append("\n".join(lines))
    for title, side in (("before", before), ("after", after)):
        blocks.append("\n".join(_wrapped(f"first finding {title}", _finding(side))))
    return "\n\n".join([*blocks, _closing(cells, after)]) + "\n"


def render_comparison_markdown(before: Side, after: Side, title: str) -> str:
    """Return the same as Markdown."""
    cells = compare_cells(before, after)
    lines = [
        f"## {_escape(title)}",
        "",
        f"- before: {_escape(_named(before))}",
        f"- after: {_escape(_named(after))}",
        "",
    ]
    for worker, first in dict.fromkeys(key[:2] for key in cells):
        columns, rows = _grid(cells, worker, first)
        lines += [f"### {worker}, first drafter: {first}", ""]
        if columns:
            lines += [f"| captured | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
            lines += [f"| {order} | {' | '.join(map(_arrow, row))} |" for order, row in rows] + [""]
        lines += [f"- {line}" for line in _beside(cells, worker, first, plain)] + [""]
    for name, side in (("before", before), ("after", after)):
        lines += [f"First finding {name}:", "", *(f"    {line}" for line in _finding(side)), ""]
    return "\n".join([*lines, _escape(_closing(cells, after))]) + "\n"


def _key(result: CaseResult) -> _Key:
    case = result.case
    return case.worker, case.first, case.regime, case.order


def _grid(
    cells: dict[_Key, tuple[str, str]], worker: str, first: str
) -> tuple[list[str], list[tuple[str, list[tuple[str, str]]]]]:
    """Return regimes and (order, a cell a regime) of the matrix of one worker and first drafter."""
    mine = {key[2:]: cell for key, cell in cells.items() if key[:2] == (worker, first) and key[2] in _COLUMNS}
    columns = [regime for regime in _COLUMNS if any(regime == key[0] for key in mine)]
    orders = dict.fromkeys(order for _, order in mine)
    rows = [(_order(order), [mine.get((regime, order), ("", "")) for regime in columns]) for order in orders]
    return columns, rows


def _beside(cells: dict[_Key, tuple[str, str]], worker: str, first: str, paint: Paint) -> list[str]:
    beside = {key: cell for key, cell in cells.items() if key[:2] == (worker, first) and key[2] not in _COLUMNS}
    return [
        f"{key[2]}, captured {_order(key[3])}: {_painted(cell, paint).strip()}" for key, cell in beside.items()
    ]


def _order(order: tuple[int, ...]) -> str:
    return ">".join(map(str, order))


def _arrow(cell: tuple[str, str]) -> str:
    before, after = cell
    return before if before == after else f"{before or 'none'} -> {after or 'none'}"


def _painted(cell: tuple[str, str], paint: Paint) -> str:
    text = _arrow(cell)
    colour = {"ok": "green", "n/a": "bright_black"}.get(cell[1], "red")
    return " " * (_CELL - len(text)) + paint(text, colour)


def _named(side: Side) -> str:
    return safe(f"{side.source}: {side.version}; on {devices(side.results)}")


def _finding(side: Side) -> list[str]:
    failure = first_failure(side.results)
    return told(failure) if failure else ["none"]


def _wrapped(head: str, lines: list[str]) -> list[str]:
    wrapped = [piece for line in lines for piece in textwrap.wrap(line, 76, subsequent_indent="  ")]
    return [f"{head}:", *(f"  {line}" for line in wrapped)]


def _closing(cells: dict[_Key, tuple[str, str]], after: Side) -> str:
    fine = ("ok", "n/a", "")
    fixed = sum(a not in fine and b == "ok" for a, b in cells.values())
    broken = sum(a in fine and b not in fine for a, b in cells.values())
    still = sum(a not in fine and b not in fine for a, b in cells.values())
    firsts = ", ".join(name for name in FIRST_DRAFTERS if any(key[1] == name for key in cells))
    return (
        f"{len(cells)} cases on {devices(after.results)} (first drafter {firsts}): "
        f"{fixed} repaired, {broken} newly broken, {still} broken still."
    )


def _escape(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text if c.isprintable())
