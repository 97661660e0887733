"""The matrix and the slot map as SVG for pages of the docs: the same text for the same results, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from harness.report.matrix import matrices
from harness.report.slotmap import Cell, SlotMap
from harness.report.summary import SIGNS, Fold, folded
from harness.report.terminal_map import cell_text, map_key, map_title
from harness.report.text import safe
from harness.verdicts import CaseResult

__all__ = ["matrix_svg", "slot_map_svg"]

_CHAR, _LINE = 7.3, 20  # of a monospaced font of 12 pixels: advance and height of a row, in pixels
_PAD = 12
_MOST_LINES, _MOST_ROWS = 40, 24
_STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1f24}"
    ".bg{fill:#fff}.muted{fill:#57606a}.grid{fill:none;stroke:#d5dae0}.b{font-weight:700}"
    ".ok{fill:#12662b}.bad{fill:#b3161f}.quiet{fill:#6d2bb0}.own{fill:#0b4f9c}"
    ".ok-bg{fill:#e6f4ea}.bad-bg{fill:#fde7e7}.quiet-bg{fill:#f1e6fb}.own-bg{fill:#dcebfc}.hot-bg{fill:#a9cff8}"
    "@media (prefers-color-scheme:dark){text{fill:#e6eaef}.bg{fill:#0f1318}.muted{fill:#9aa5b1}"
    ".grid{stroke:#323a44}.ok{fill:#5fd07f}.bad{fill:#ff8d86}.quiet{fill:#d3adff}.own{fill:#9ccbff}"
    ".ok-bg{fill:#12301c}.bad-bg{fill:#42191b}.quiet-bg{fill:#331d4b}.own-bg{fill:#15304f}.hot-bg{fill:#1f4f86}}"
)
_WORDS = {"ok": "ok", "silent": "quiet", "n/a": "muted", "": "muted"}


class _Drawing:
    """Collects shapes; `done` wraps them up in a picture that is as large as they are."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._width = self._height = 0.0

    def text(self, x: float, y: float, text: str, cls: str = "", middle: bool = False) -> None:
        """Write text with its baseline in the middle of the row that starts at `y`."""
        anchor = ' text-anchor="middle"' if middle else ""
        cls = f' class="{cls}"' if cls else ""
        self._parts.append(f'<text x="{x:g}" y="{y + 14:g}"{anchor}{cls}>{escape(safe(text))}</text>')
        self._grow(x + (0.5 if middle else 1) * len(text) * _CHAR, y + _LINE)

    def box(self, x: float, y: float, width: float, cls: str) -> None:
        """Fill a cell of one row's height."""
        self._parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_LINE}" class="{cls}"/>')
        self._grow(x + width, y + _LINE)

    def _grow(self, x: float, y: float) -> None:
        self._width, self._height = max(self._width, x), max(self._height, y)

    def done(self, title: str) -> str:
        """Return the picture; `title` is what a screen reader says of it."""
        width, height = round(self._width) + _PAD, round(self._height) + _PAD
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label={quoteattr(safe(title))}>'
        )
        body = [f"<style>{_STYLE}</style>", f'<rect class="bg" width="{width}" height="{height}"/>', *self._parts]
        return "\n".join([head, f"<title>{escape(safe(title))}</title>", *body, "</svg>"]) + "\n"


def matrix_svg(results: Sequence[CaseResult], title: str) -> str:
    """Return the matrices with orders that end alike folded, as on a page's first screen."""
    drawing, y = _Drawing(), float(_PAD)
    drawing.text(_PAD, y, title, "b")
    y += _LINE * 1.5
    for workers, matrix, folds in folded(matrices(results)):
        labels = [_label(fold) for fold in folds]
        left = _PAD + _CHAR * max(map(len, [f"{workers}, bucket first", *labels])) + 14
        for first in dict.fromkeys(first for first, _ in matrix.columns):
            indices = [index for index, (column, _) in enumerate(matrix.columns) if column == first]
            drawing.text(_PAD, y, f"{workers}, {first} first", "muted")
            for place, index in enumerate(indices):
                drawing.text(left + 90 * place + 45, y, matrix.columns[index][1], "b", middle=True)
            y += _LINE
            for fold in folds:
                drawing.text(_PAD, y, _label(fold))
                for place, index in enumerate(indices):
                    _word(drawing, left + 90 * place, y, fold.cells[index])
                y += _LINE
            y += _LINE / 2
    return drawing.done(title)


def _label(fold: Fold) -> str:
    return f"{fold.label} ({len(fold.orders)} orders)" if len(fold.orders) > 1 else fold.label


def _word(drawing: _Drawing, x: float, y: float, word: str) -> None:
    cls = _WORDS.get(word, "bad")
    if cls != "muted":
        drawing.box(x, y, 90, f"{cls}-bg")
    drawing.box(x, y, 90, "grid")
    drawing.text(x + 45, y, f"{SIGNS.get(word, '')} {word}".strip(), f"{cls} b", middle=True)


def slot_map_svg(drawn: SlotMap) -> str:
    """Return the slot map: an operation a line, a row of the pool a column."""
    lines, columns = drawn.window(_MOST_LINES), drawn.columns(_MOST_ROWS)
    drawing, y = _Drawing(), float(_PAD)
    title = map_title(drawn)
    head, _, case = title.partition(": ")
    for text, cls in ((head, "b"), (case, "muted")):
        drawing.text(_PAD, y, text, cls)
        y += _LINE
    wide = max([34, *(len(line.words) for line in lines)])
    left = _PAD + _CHAR * (wide + 5)
    size = max(44, _CHAR * max((len(cell_text(line.cells[i])) for line in lines for i in columns), default=0) + 8)
    for place, index in enumerate(columns):
        drawing.text(left + size * (place + 0.5), y, str(drawn.rows[index]), "b", middle=True)
    y += _LINE
    for line in lines:
        drawing.text(_PAD, y, str(line.operation), "muted")
        drawing.text(_PAD + _CHAR * 4, y, line.words)
        for place, index in enumerate(columns):
            _cell(drawing, left + size * place, y, size, line.cells[index])
        y += _LINE
        for told in [*line.broken[:1], *([_placeless(line.raised)] if line.raised else [])]:
            drawing.text(_PAD + _CHAR * 4, y, f"! {told}", "bad")
            y += _LINE
    for sign, meaning in map_key(lines):
        drawing.text(_PAD, y + 6, f"{sign:<3} {meaning}", "muted")
        y += _LINE
    return drawing.done(title)


def _placeless(text: str) -> str:
    # The line of code that raised moves with every change; a picture is not to.
    head, bracket, tail = text.rpartition(" [")
    return head if bracket and tail.endswith("]") else text


def _cell(drawing: _Drawing, x: float, y: float, size: float, cell: Cell) -> None:
    text, ground = ("own", "own-bg") if cell.state == "owned" else ("muted", "")
    if cell.state == "owned" and cell.written:
        ground = "hot-bg"
    if cell.dummy:
        text, ground = "quiet", "quiet-bg"
    if cell.broken or cell.state in ("missing", "lost"):
        text, ground = "bad", "bad-bg"
    if ground:
        drawing.box(x, y, size, ground)
    drawing.box(x, y, size, "grid")
    drawing.text(
        x + size / 2, y, cell_text(cell), f"{text} b" if cell.written or cell.broken else text, middle=True
    )
