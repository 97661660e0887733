"""The matrix as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.errors import Place, UsageError
from harness.explore.matrix import HEALTHY, Catch, Row
from harness.files import write_atomically

__all__ = ["END", "START", "check_page", "insert_table", "render_ablation", "render_markdown", "render_matrix"]

# What stands between these lines of a page is made by `harness matrix --markdown`.
START = "<!-- made by `harness matrix --markdown`: do not edit -->"
END = "<!-- end of what `harness matrix` made -->"

_ALONE = {"predicate": "a predicate", "probe": "a probe", "relation": "a relation", "outcome": "its outcome"}


def render_matrix(rows: Sequence[Row]) -> str:
    """Return one block a row, then what each kind of oracle is worth, then the verdict."""
    lines = [line for row in rows for line in _block(row)]
    return "\n".join([*lines, "", *_summary(rows), _verdict(rows)]) + "\n"


def _block(row: Row) -> Iterator[str]:
    if row.fault == HEALTHY:
        yield f"healthy engine: {row.scenarios} scenarios, {'every invariant holds' if row.holds else 'VIOLATED'}"
    elif row.unsupported:
        yield f"{row.kind} {row.fault}: UNSUPPORTED, {row.unsupported}"
    elif not row.catches:
        yield f"{row.kind} {row.fault}: UNCAUGHT in {row.scenarios} scenarios{_after(row)}"
    else:
        yield f"{row.kind} {row.fault}{_after(row)}"
    for catch in row.catches[:1]:
        yield f"    {catch.invariant} {catch.rule} ({catch.oracle}) in {catch.scenario}, {_where(catch)}"
    if row.catches[1:]:
        yield f"    also {', '.join(catch.invariant for catch in row.catches[1:])}"


def _after(row: Row) -> str:
    return f", after {row.modelled_on}" if row.modelled_on else ""


def _where(catch: Catch) -> str:
    return f"operation {catch.operation}, {catch.told}" if catch.told else f"operation {catch.operation}"


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    faults = [row for row in rows if row.fault]
    for oracle, told in _ALONE.items():
        alone = [row.fault for row in faults if row.oracles == {oracle}]
        if alone:
            yield f"caught by {told} alone: {len(alone)} ({', '.join(alone)})"


def _verdict(rows: Sequence[Row]) -> str:
    faults = [row for row in rows if row.fault]
    caught = sum(row.holds for row in faults)
    healthy = [row for row in rows if not row.fault]
    told = "" if not healthy else ", healthy engine " + ("holds" if all(r.holds for r in healthy) else "VIOLATED")
    return f"{caught} of {len(faults)} faults caught{told}"


def render_ablation(lost: Mapping[str, Sequence[str]]) -> str:
    """Return, for every invariant, the faults that only it catches."""
    wide = max(map(len, lost), default=0)
    lines = [
        f"{name:<{wide}}  {', '.join(faults) or 'NOTHING: no fault needs it'}" for name, faults in lost.items()
    ]
    return "\n".join(["without an invariant, these faults go uncaught", *lines]) + "\n"


def render_markdown(rows: Sequence[Row]) -> str:
    """Return the table of a page, between its two marker lines."""
    lines = [
        START,
        "| kind | fault | after | first caught by | oracle | in | at | also |",
        "|---|---|---|---|---|---|---|---|",
        *(_line(row) for row in rows if row.fault),
        "",
        *(f"- {line}" for line in _summary(rows)),
        f"- {_verdict(rows)}",
        END,
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    cells = [row.kind, f"`{row.fault}`", row.modelled_on, *_cells(row)]
    return f"| {' | '.join(cells)} |"


def _cells(row: Row) -> tuple[str, ...]:
    if not row.catches:
        return ("**nothing**", "", "", "", "")
    first, *others = row.catches
    also = ", ".join(catch.invariant for catch in others)
    return (f"{first.invariant} {first.rule}", first.oracle, first.scenario, _where(first), also)


def check_page(page: Path) -> None:
    """Raise `UsageError` for a page that has no place for the table. One that does not exist yet has."""
    if page.exists():
        _parts(page)


def insert_table(page: Path, table: str) -> None:
    """Put `table` in the place of the one that the page has; a page that does not exist is the table alone."""
    before, after = _parts(page) if page.exists() else ("", "\n")
    write_atomically(page, before + table.rstrip("\n") + after)


def _parts(page: Path) -> tuple[str, str]:
    before, start, rest = page.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise UsageError(f"has no place for the table: expected the lines {START!r} and {END!r}", Place(str(page)))
    return before, after
