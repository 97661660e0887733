"""What a page shows of a section, as plain values for its template: no results, no markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.orders import REGIMES
from harness.report.matrix import Matrix, failure_groups, matrices
from harness.report.section import Section, replay_command, test_of
from harness.report.slotmap import Cell, SlotMap
from harness.report.story import setting
from harness.report.summary import (
    CELLS,
    SIGNS,
    Fold,
    counts,
    examples,
    folded,
    left_alone,
    legend,
    order_text,
    place,
    verdict,
)
from harness.report.terminal_map import cell_text, map_key, map_title
from harness.trace import Violation
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["overview_of", "section_view", "web_link"]

_SHOWN = 8  # violations of one case
_CLASSES = {"n/a": "na", "": "none"}
_STATES = {
    "none": "not there yet", "free": "free", "retiring": "ended, not given back", "lost": "nobody's and not free",
    "missing": "a seat that the pool does not have", "reserve": "no seat",
}  # fmt: skip


def web_link(url: str) -> str:
    """Return `url` if a browser may follow it, "" for every scheme but http and https."""
    return url if url.lower().startswith(("https://", "http://")) else ""


def overview_of(views: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the filters offer, and the lines of the overview."""
    return {
        "bugs": list(dict.fromkeys(view["bug"] for view in views)),
        "targets": list(dict.fromkeys(view["target"] for view in views)),
        "words": [_word(word) for word in SIGNS if any(word in view["words"] for view in views)],
    }


def section_view(section: Section, ident: str) -> dict[str, Any]:
    """Return one section; `ident` is unique on its page."""
    results = section.results
    found = counts(results)
    maps = {drawn.case: drawn for drawn in section.maps}
    findings = [_finding(section, *item, maps) for item in failure_groups(results).items()]
    return {
        "id": ident, "bug": section.bug, "title": section.title, "link": web_link(section.url),
        "kind": section.kind, "target": section.target, "verdict": verdict(results),
        "mechanism": section.mechanism,
        "words": list(found), "counts": [{**_word(word), "count": count} for word, count in found.items()],
        "folds": [
            {"workers": workers, "groups": _groups(matrix, folds)}
            for workers, matrix, folds in folded(matrices(results))
            if matrix.columns
        ],
        "beside": [
            {**_word(word), "place": where} for (where, word) in _beside(results)
        ],
        "full": [
            {"workers": m.worker, **_head(m), "rows": [_row(order, (order,), cells) for order, cells in m.rows]}
            for m in matrices(results)
            if m.columns
        ],
        "findings": findings,
        "front": next((example for finding in findings for example in finding["examples"]), None),
        "healthy": [_map(drawn, results) for drawn in section.maps if drawn.word == "ok"],
        "columns": [
            *_present(FIRST_DRAFTERS, {result.case.first for result in results}),
            *_present(REGIMES, {result.case.regime for result in results}),
        ],
        "cells": [
            {**_word(word), "meaning": text}
            for word, text in _present(CELLS, set() if section.one_case else set(found))
        ],
        "legend": legend(results), "facts": section.facts, "notes": section.notes,
        "broken": bool(findings),
    }  # fmt: skip


def _present(meanings: Mapping[str, str], names: set[str]) -> list[tuple[str, str]]:
    return [(name, meaning) for name, meaning in meanings.items() if name in names]


def _groups(matrix: Matrix, folds: Sequence[Fold]) -> list[dict[str, Any]]:
    """Return one group of rows a first drafter: its regimes, and a row for each kind of order."""
    groups = []
    for first in dict.fromkeys(first for first, _ in matrix.columns):
        mine = [index for index, (column, _) in enumerate(matrix.columns) if column == first]
        groups.append(
            {
                "first": first,
                "columns": [matrix.columns[index][1] for index in mine],
                "rows": [_row(f.label, f.orders, [f.cells[index] for index in mine]) for f in folds],
            }
        )
    return groups


def _beside(results: Sequence[CaseResult]) -> list[tuple[str, str]]:
    """Return (place, word) of the cases beside the matrices; those that ended alike share a line."""
    alike: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
    for matrix in matrices(results):
        for result in matrix.beside:
            case, config = result.case, result.case.scenario.config
            where = f"{case.regime} ({config.num_seq_slots or 'no'} seats, batches of {config.max_num_requests})"
            key = (where, order_text(case.order), result.word)
            workers, firsts = alike.setdefault(key, ([], []))
            workers.append(matrix.worker)
            firsts.append(case.first)
    lines = []
    for (where, order, word), (workers, firsts) in alike.items():
        who, which = (glue.join(dict.fromkeys(names)) for names, glue in ((workers, " and "), (firsts, " or ")))
        lines.append((f"{who}, {where}, captured {order}, {which} drafts first", word))
    return lines


def _word(word: str) -> dict[str, str]:
    return {"word": word, "sign": SIGNS.get(word, ""), "cls": _CLASSES.get(word, word)}


def _head(matrix: Matrix) -> dict[str, Any]:
    firsts = [first for first, _ in matrix.columns]
    return {
        "spans": [(first, firsts.count(first)) for first in dict.fromkeys(firsts)],
        "columns": [regime for _, regime in matrix.columns],
    }


def _row(label: str, orders: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    return {
        "label": label, "orders": orders, "count": len(orders), "cells": [_word(cell) for cell in cells],
        "words": " ".join(dict.fromkeys(_CLASSES.get(cell, cell) for cell in cells)),
    }  # fmt: skip


def _finding(
    section: Section, signature: str, group: Sequence[CaseResult], maps: dict[tuple[str, ...], SlotMap]
) -> dict[str, Any]:
    confirmed = {
        True: "seen again in a fresh process",
        False: "FLAKY: not seen again in a fresh process",
        None: "",
    }
    return {
        "signature": signature, "count": len(group), "confirmed": confirmed[group[0].confirmed],
        "words": [_word(word) for word in dict.fromkeys(result.word for result in group)],
        "examples": [_example(section, result, maps) for result in examples(group)],
    }  # fmt: skip


def _example(section: Section, result: CaseResult, maps: dict[tuple[str, ...], SlotMap]) -> dict[str, Any]:
    case = result.case
    key = (case.worker, case.regime, case.first, order_text(case.order))
    test = "" if section.one_case else test_of(section, case)
    first = result.violations[0] if result.violations else None
    operations = case.scenario.operations
    return {
        **_word(result.word), "place": place(result), "command": replay_command(section, case), "test": test,
        "setting": setting(case.scenario.config),
        "where": result.where if first is None else f"operation {first.operation}, {operations[first.operation]}",
        "orders": first.orders if first else "",
        "detail": result.detail,
        "violations": [_violation(violation) for violation in result.violations[:_SHOWN]],
        "more": max(0, len(result.violations) - _SHOWN),
        "alone": left_alone(result),
        "map": _map(maps[key], [result]) if key in maps else None,
        "waived": [
            {"place": waived.place, "text": waived.text, "link": web_link(waived.url), "url": waived.url}
            for waived in section.waived
            if waived.test == test
        ],
    }  # fmt: skip


def _violation(violation: Violation) -> dict[str, Any]:
    names = [("buffer", violation.buffer), ("row", violation.row), ("request", violation.request)]
    return {
        "invariant": violation.invariant, "rule": violation.rule, "message": violation.message,
        "where": ", ".join(f"{name} {value}" for name, value in names if value not in ("", None)),
        "expected": violation.expected, "seen": violation.seen, "operation": violation.operation,
    }  # fmt: skip


def _map(drawn: SlotMap, results: Sequence[CaseResult]) -> dict[str, Any]:
    lines = drawn.window(_LINES)
    columns = drawn.columns(_ROWS)
    settings: dict[tuple[str, ...], str] = {
        (r.case.worker, r.case.regime, r.case.first, order_text(r.case.order)): setting(r.case.scenario.config)
        for r in results
    }
    return {
        "title": map_title(drawn), "pool": drawn.pool, "unit": drawn.unit, "word": drawn.word,
        "setting": settings.get(drawn.case, ""),
        "rows": [drawn.rows[index] for index in columns], "seats": drawn.seats,
        "hidden_rows": len(drawn.rows) - len(columns), "hidden_lines": len(drawn.lines) - len(lines),
        "key": map_key(lines),
        "lines": [
            {
                "operation": line.operation, "words": line.words, "broken": line.broken, "raised": line.raised,
                "cells": [_cell(line.cells[index]) for index in columns],
            }
            for line in lines
        ],
    }  # fmt: skip


_LINES, _ROWS = 60, 40  # of one map; a page is for looking at


def _cell(cell: Cell) -> dict[str, str]:
    said = [f"owned by {cell.owner}" if cell.state == "owned" else _STATES[cell.state]]
    said += ["the dummy's"] * cell.dummy + ["padding points here"] * cell.padded
    said += ["written"] * cell.written + ["broken"] * cell.broken
    classes = [f"c-{cell.state}", *(["c-dummy"] * cell.dummy), *(["c-written"] * (cell.written or cell.padded))]
    return {
        "text": cell_text(cell), "said": ", ".join(said),
        "cls": " ".join([*classes, *(["c-broken"] * cell.broken)]),
    }  # fmt: skip
