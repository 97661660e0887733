"""The slot map as text of at most eighty columns: an operation a line, a row of the pool a column."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from harness.report.slotmap import Cell, Line, SlotMap
from harness.report.text import Paint, plain, safe

__all__ = ["cell_text", "map_key", "map_title", "render_slot_map"]

_WIDTH = 80
_WORDS = 36  # columns of an operation's words; the pool's rows have the rest
_LINES = 30  # more operations than this are shown around the first wrong one
_STATES = {"none": " ", "free": ".", "retiring": "~", "lost": "?", "missing": "x", "reserve": ""}
_MEANINGS = {
    "r0": "the request that owns the row",
    ".": "a free row",
    "~": "its request ended, the row is not given back yet",
    "?": "neither free nor anybody's",
    "x": "a seat that the pool does not have",
    "D": "the dummy: padding and warm-up write here",
    "*": "written in this operation",
    "p": "padding of this operation points here",
    "!": "broken here",
}


def cell_text(cell: Cell) -> str:
    """Return a cell's signs: owner or state, D for the dummy (xD: on a seat), then * p ! for what happened."""
    base = cell.owner if cell.state == "owned" else _STATES[cell.state]
    if cell.dummy:
        base = "D" if cell.state in ("reserve", "free") else f"{base}D"
    marks = ("*" if cell.written else "") + ("p" if cell.padded else "") + ("!" if cell.broken else "")
    return f"{base}{marks}"


def map_title(drawn: SlotMap) -> str:
    """Return what is drawn: the pool, its rows, and which case."""
    case = ""
    if drawn.case:
        worker, regime, first, order = drawn.case
        case = f": {worker}, {regime}, first drafter {first}, captured {order} ({drawn.word})"
    return f"Rows of pool {drawn.pool} after each operation, {drawn.seats} {drawn.unit}s promised{case}"


def map_key(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Return (sign, meaning) of the signs that these lines have."""
    cells = [cell for line in lines for cell in line.cells]
    shown = {sign for cell in cells for sign in cell_text(cell if cell.state != "owned" else _anonymous(cell))}
    return [(sign, meaning) for sign, meaning in _MEANINGS.items() if sign[0] in shown]


def _anonymous(cell: Cell) -> Cell:
    # Letters of a request's name are not signs; every request stands for r0.
    return Cell("owned", "r", cell.dummy, cell.padded, cell.written, cell.broken)


def render_slot_map(drawn: SlotMap, paint: Paint = plain) -> str:
    """Return the map, the lines where something new is wrong told below theirs, and a key."""
    lines = drawn.window(_LINES)
    cell_width = max([3, *(len(safe(cell_text(cell))[:7]) for line in lines for cell in line.cells)]) + 1
    columns = drawn.columns((_WIDTH - _WORDS - 4) // cell_width)
    text = textwrap.wrap(safe(map_title(drawn)), _WIDTH)
    if len(columns) < len(drawn.rows):
        text.append(f"({len(columns)} of {len(drawn.rows)} rows are shown; the others are free or did not fit)")
    text.append(f"{'':<{_WORDS + 4}}" + "".join(f"{drawn.rows[index]:>{cell_width}}" for index in columns))
    if len(lines) < len(drawn.lines):
        text.append(f"    ({len(lines)} of {len(drawn.lines)} operations are shown)")
    for line in lines:
        text += _line(line, columns, cell_width, paint)
    key = ", ".join(f"{sign} {meaning}" for sign, meaning in map_key(lines))
    return "\n".join([*text, *textwrap.wrap(f"Key: {key}", _WIDTH, subsequent_indent="     ")])


def _line(line: Line, columns: Sequence[int], width: int, paint: Paint) -> list[str]:
    words = safe(line.words)
    words = words if len(words) <= _WORDS else words[: _WORDS - 3] + "..."
    cells = "".join(_cell(line.cells[index], width, paint) for index in columns)
    text = [f"{line.operation:>3} {words:<{_WORDS}}{cells}".rstrip()]
    told = [*line.broken[:1], *([f"and {len(line.broken) - 1} more findings"] if line.broken[1:] else [])]
    for item in [*told, *([line.raised] if line.raised else [])]:
        text += [paint(part, "red") for part in _under(item)]
    return text


def _under(text: str) -> list[str]:
    return textwrap.wrap(safe(text), _WIDTH, initial_indent="    ! ", subsequent_indent="      ")


def _cell(cell: Cell, width: int, paint: Paint) -> str:
    text = safe(cell_text(cell))[:7]
    return " " * (width - len(text)) + (paint(text, _colour(cell)) if text.strip() else text)


def _colour(cell: Cell) -> str:
    if cell.broken:
        return "red"
    if cell.dummy:
        return "magenta"
    return {"owned": "cyan", "retiring": "yellow", "lost": "red"}.get(cell.state, "bright_black")
