"""Results as text of at most eighty columns; `paint` colours a word or leaves it as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from harness.report.matrix import Matrix, failure_groups, matrices
from harness.report.slotmap import SlotMap
from harness.report.summary import (
    SIGNS,
    Fold,
    counts,
    examples,
    fact,
    folded,
    left_alone,
    legend,
    place,
)
from harness.report.terminal_map import render_slot_map
from harness.report.text import Paint, plain, safe
from harness.verdicts import CaseResult

__all__ = ["render_results"]

_WIDTH = 80
_SHOWN = 6  # violations of one case that are told in full
_COLOURS = {"ok": "green", "silent": "magenta", "n/a": "bright_black"}
_MANY = 6  # orders from which on those that are alike are shown together, too


def render_results(
    results: Sequence[CaseResult], mechanism: str = "", paint: Paint = plain, drawn: SlotMap | None = None
) -> str:
    """Return matrices, what failed and why, the map of one failing case, and a closing line."""
    blocks = ["\n".join(_table(matrix, paint)) for matrix in matrices(results)]
    failed = failure_groups(results)
    if failed:
        blocks += [_words(results), *(_group(signature, group) for signature, group in failed.items())]
        if drawn is not None:
            blocks.append(render_slot_map(drawn, paint))
        blocks += _in_short(results, paint)
        if mechanism:
            blocks.append(_wrap(f"Why: {mechanism}"))
    blocks.append(_closing(results, paint))
    return "\n\n".join(blocks) + "\n"


def _table(matrix: Matrix, paint: Paint) -> list[str]:
    wide = max([8, *(len(order) for order, _ in matrix.rows)])  # a configuration may have many buckets
    lines = _head(matrix, safe(matrix.worker), wide) if matrix.columns else []
    for order, cells in matrix.rows:
        lines.append(f"{order:<{wide}}" + "".join(_cell(cell, paint) for cell in cells))
    for result in matrix.beside:
        lines.append(f"{safe(place(result))}: {_cell(result.word, paint).strip()}")
    return lines


def _head(matrix: Matrix, title: str, wide: int) -> list[str]:
    firsts = [first for first, _ in matrix.columns]
    spans = [(first, firsts.count(first)) for first in dict.fromkeys(firsts)]
    top = "".join(_span(first, 9 * count) for first, count in spans)
    regimes = "".join(f"{matrix.heading(regime):>9}" for _, regime in matrix.columns)
    return [f"{title:<{wide}}{top}", f"{'captured':<{wide}}{regimes}"]


def _span(first: str, width: int) -> str:
    """Return the heading over one first drafter's columns, shorter where there is but one."""
    full = f"first drafter: {first}"
    return f"{full if len(full) < width else first:>{width}}"


def _cell(word: str, paint: Paint) -> str:
    return " " * (9 - len(word)) + paint(word, _COLOURS.get(word, "red"))


def _in_short(results: Sequence[CaseResult], paint: Paint) -> list[str]:
    """Return the matrices once more, workers and orders that are alike together: what a person reads last."""
    lines = []
    for workers, matrix, folds in folded(matrices(results)):
        if len(matrix.rows) >= _MANY and len(folds) < len(matrix.rows):
            lines += [f"{safe(workers)}:", *(line for fold in folds for line in _fold(matrix, fold, paint))]
    return ["\n".join(["In short:", *lines])] if lines else []


def _fold(matrix: Matrix, fold: Fold, paint: Paint) -> list[str]:
    """Return what each word of a fold stands in, one line a word and first drafter."""
    lines = [f"  {fold.label} ({len(fold.orders)} of {len(matrix.rows)} orders)"]
    for word in dict.fromkeys(fold.cells):
        for first in dict.fromkeys(first for first, _ in matrix.columns):
            regimes = [
                regime
                for (column, regime), cell in zip(matrix.columns, fold.cells, strict=True)
                if column == first and cell == word
            ]
            if regimes:
                lines.append(
                    f"    {paint(f'{SIGNS.get(word, chr(32))} {word:<7}', _COLOURS.get(word, 'red'))}"
                    f"{first} drafts first: {', '.join(regimes)}"
                )
    return lines


def _words(results: Sequence[CaseResult]) -> str:
    """Explain rows, columns and cells to a person who sees them for the first time."""
    lines = []
    for title, entries in legend(results):
        lines.append(title)
        for name, meaning in entries:
            lines += _entry(f"{name:<10}", meaning)
    return "\n".join(lines)


def _entry(name: str, meaning: str) -> list[str]:
    return textwrap.wrap(meaning, _WIDTH, initial_indent=f"  {name}  ", subsequent_indent=" " * (len(name) + 4))


def _group(signature: str, group: Sequence[CaseResult]) -> str:
    first = group[0]
    confirmed = {True: "seen again in a fresh process", False: "FLAKY: not seen again in a fresh process"}
    head = f"{safe(signature)}: {len(group)} cases"
    if first.confirmed is not None:
        head += f", {confirmed[first.confirmed]}"
    lines = [*_unbroken(head, "  "), *_example("first", first)]
    for result in reversed(examples(group)):
        if result.left_alone is not None:
            lines += _left_alone(result.word, result)
    return "\n".join(lines)


def _unbroken(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _example(title: str, result: CaseResult) -> list[str]:
    where = safe(place(result))
    if not result.violations:
        text = [f"  {title}: {where}", safe(f"    {result.where}: {result.detail}")]
        return [line for item in text for line in textwrap.wrap(item, _WIDTH, subsequent_indent="    ")]
    first = result.violations[0]
    operation = result.case.scenario.operations[first.operation]
    facts = [f"after operation {first.operation}, {operation}; {first.orders}"]
    facts += [fact(violation) for violation in result.violations[:_SHOWN]]
    if len(result.violations) > _SHOWN:
        facts.append(f"and {len(result.violations) - _SHOWN} more")
    lines = [f"  {title}: {where}"]
    for item in facts:
        lines += textwrap.wrap(safe(item), _WIDTH, initial_indent="    ", subsequent_indent="      ")
    return lines


def _left_alone(word: str, result: CaseResult) -> list[str]:
    text = f"{word}, left alone: {place(result)}: {left_alone(result)}"
    return textwrap.wrap(safe(text), _WIDTH, initial_indent="  ", subsequent_indent="    ")


def _wrap(text: str) -> str:
    return textwrap.fill(safe(text), _WIDTH)


def _closing(results: Sequence[CaseResult], paint: Paint) -> str:
    found = counts(results)
    total = len(results)
    workers = safe(", ".join(dict.fromkeys(result.case.worker for result in results)))
    devices = safe(", ".join(dict.fromkeys(result.device for result in results)))
    if set(found) <= {"ok"}:
        return paint(f"{total} cases on {devices} ({workers}): every invariant holds.", "green")
    told = ", ".join(f"{count} {word}" for word, count in found.items())
    return f"{total} cases on {devices} ({workers}): {told}."
