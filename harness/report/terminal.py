"""Results as text of at most eighty columns; `paint` colours a word or leaves it as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from harness.orders import REGIMES
from harness.report.matrix import Matrix, failure_groups, matrices
from harness.trace import Violation
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["Paint", "plain", "render_results", "safe"]

Paint = Callable[[str, str], str]  # (text, colour) -> text

_WIDTH = 80
_SHOWN = 6  # violations of one case that are told in full
_COLOURS = {"ok": "green", "silent": "magenta", "n/a": "bright_black"}


def plain(text: str, colour: str) -> str:
    """Paint nothing."""
    del colour
    return text


def safe(text: str) -> str:
    """Return text from outside without control characters, which could drive a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def render_results(results: Sequence[CaseResult], mechanism: str = "", paint: Paint = plain) -> str:
    """Return matrices, what failed and why, and a closing line."""
    blocks = ["\n".join(_table(matrix, paint)) for matrix in matrices(results)]
    failed = failure_groups(results)
    if failed:
        blocks += [_words(results), *(_group(signature, group) for signature, group in failed.items())]
        if mechanism:
            blocks.append(_wrap(f"Why: {mechanism}"))
    blocks.append(_closing(results, paint))
    return "\n\n".join(blocks) + "\n"


def _table(matrix: Matrix, paint: Paint) -> list[str]:
    lines = []
    wide = max([8, *(len(order) for order, _ in matrix.rows)])  # a configuration may have many buckets
    if matrix.columns:
        firsts = [first for first, _ in matrix.columns]
        spans = [(first, firsts.count(first)) for first in dict.fromkeys(firsts)]
        top = "".join(_span(first, 9 * count) for first, count in spans)
        lines += [f"{matrix.worker:<{wide}}{top}"]
        lines += [
            f"{'captured':<{wide}}" + "".join(f"{matrix.heading(regime):>9}" for _, regime in matrix.columns)
        ]
    for order, cells in matrix.rows:
        lines.append(f"{order:<{wide}}" + "".join(_cell(cell, paint) for cell in cells))
    for result in matrix.beside:
        case = result.case
        place = f"{matrix.worker}, {case.regime}, first drafter {case.first}, captured {_order(result)}"
        lines.append(f"{place}: {_cell(result.word, paint).strip()}")
    return lines


def _span(first: str, width: int) -> str:
    """Return the heading over one first drafter's columns, shorter where there is but one."""
    full = f"first drafter: {first}"
    return f"{full if len(full) < width else first:>{width}}"


def _cell(word: str, paint: Paint) -> str:
    return " " * (9 - len(word)) + paint(word, _COLOURS.get(word, "red"))


def _order(result: CaseResult) -> str:
    return ">".join(map(str, result.case.order))


def _words(results: Sequence[CaseResult]) -> str:
    """Explain rows, columns and cells to a person who sees them for the first time."""
    seen = {result.case.regime: result.case.scenario.config for result in results}
    lines = ["A row is an order in which the buckets' graphs were captured. The columns:"]
    for regime, meaning in REGIMES.items():
        if regime in seen:
            config = seen[regime]
            buckets = ",".join(map(str, config.buckets))
            here = f"(here {config.num_seq_slots or 'unset'}, {config.max_num_requests} and buckets {buckets})"
            lines += _entry(f"{regime:<10}", f"{meaning} {here}")
    for first, meaning in FIRST_DRAFTERS.items():
        lines += _entry(f"{first:<10}", f"as the first drafter: {meaning}")
    words = {result.word for result in results}
    meanings = {
        "ok": "every invariant holds",
        "FAIL": "an invariant is broken, and left alone the engine itself raises before long",
        "silent": "an invariant is broken, and left alone the engine raises nothing and logs nothing as long as "
        "its requests fit the largest captured bucket: only an invariant can see it",
        "error": "the worker raised in a legal scenario",
        "crash": "the process died",
        "hang": "an operation did not end",
        "n/a": "the target cannot do this scenario; not a verdict",
    }
    lines.append("The cells:")
    for word, meaning in meanings.items():
        if word in words:
            lines += _entry(f"{word:<10}", meaning)
    return "\n".join(lines)


def _entry(name: str, meaning: str) -> list[str]:
    return textwrap.wrap(meaning, _WIDTH, initial_indent=f"  {name}  ", subsequent_indent=" " * (len(name) + 4))


def _group(signature: str, group: Sequence[CaseResult]) -> str:
    first = group[0]
    confirmed = {True: "seen again in a fresh process", False: "FLAKY: not seen again in a fresh process"}
    head = f"{safe(signature)}: {len(group)} cases"
    if first.confirmed is not None:
        head += f", {confirmed[first.confirmed]}"
    lines = [head, *_example("first", first)]
    loud = next((result for result in group if result.word == "FAIL"), None)
    silent = next((result for result in group if result.silent and result.case.regime == "production"), None)
    silent = silent or next((result for result in group if result.silent), None)
    if loud is not None and loud.left_alone is not None:
        lines += _left_alone("FAIL", loud)
    if silent is not None and silent.left_alone is not None:
        lines += _left_alone("silent", silent)
    return "\n".join(lines)


def _example(title: str, result: CaseResult) -> list[str]:
    case = result.case
    where = f"{case.worker}, {case.regime}, first drafter {case.first}, captured {_order(result)}"
    if not result.violations:
        text = [f"  {title}: {where}", f"    {result.where}: {safe(result.detail)}"]
        return [line for item in text for line in textwrap.wrap(item, _WIDTH, subsequent_indent="    ")]
    first = result.violations[0]
    operation = case.scenario.operations[first.operation]
    facts = [f"after operation {first.operation}, {operation}; {first.orders}"]
    facts += [_fact(violation) for violation in result.violations[:_SHOWN]]
    if len(result.violations) > _SHOWN:
        facts.append(f"and {len(result.violations) - _SHOWN} more")
    lines = [f"  {title}: {where}"]
    for fact in facts:
        lines += textwrap.wrap(safe(fact), _WIDTH, initial_indent="    ", subsequent_indent="      ")
    return lines


def _fact(violation: Violation) -> str:
    names = [("buffer", violation.buffer), ("row", violation.row), ("request", violation.request)]
    place = ", ".join(f"{name} {value}" for name, value in names if value not in ("", None))
    place = f" ({place})" if place else ""
    return (
        f"{violation.invariant}{place}: {violation.message}: expected {violation.expected}, seen {violation.seen}"
    )


def _left_alone(word: str, result: CaseResult) -> list[str]:
    alone = result.left_alone
    assert alone is not None
    case = result.case
    place = f"{case.worker}, {case.regime}, first drafter {case.first}, captured {_order(result)}"
    if not alone.raised:
        said = "ran to its end; nothing was raised, nothing was logged"
    elif alone.quiet:
        said = (
            f"served {alone.live} requests, all that the largest captured bucket holds, without a word; then "
            f"{alone.where} raised {alone.raised}"
        )
    else:
        said = f"raised {alone.raised} in {alone.where}, with {alone.live} requests served before"
    text = f"{word}, left alone: {place}: {said}"
    return textwrap.wrap(safe(text), _WIDTH, initial_indent="  ", subsequent_indent="    ")


def _wrap(text: str) -> str:
    return textwrap.fill(safe(text), _WIDTH)


def _closing(results: Sequence[CaseResult], paint: Paint) -> str:
    counts: dict[str, int] = {}
    for result in results:
        counts[result.word] = counts.get(result.word, 0) + 1
    total = len(results)
    workers = ", ".join(dict.fromkeys(result.case.worker for result in results))
    devices = ", ".join(dict.fromkeys(result.device for result in results))
    if set(counts) <= {"ok"}:
        return paint(f"{total} cases on {devices} ({workers}): every invariant holds.", "green")
    told = ", ".join(f"{count} {word}" for word, count in counts.items())
    return f"{total} cases on {devices} ({workers}): {told}."
