"""Rows of the one table that `python -m benchmarks` prints, and how they are made of rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.timing import Spent, median

__all__ = ["Figure", "compared", "exponent", "grown", "markdown", "skipped"]


@dataclass(frozen=True)
class Figure:
    """What something took: seconds on the clock and of processors, None where that was not measured.

    beside  what the ratios compare it with; for growth, the size from which on it was measured.
    ratios  both seconds divided by those of `beside`; for growth, the exponents of the size that fit best.
    note    what else there is to say, such as why it was not run.
    """

    part: str
    what: str
    clock: float | None = None
    cpu: float | None = None
    beside: str = ""
    clock_ratio: float | None = None
    cpu_ratio: float | None = None
    growth: bool = False
    note: str = ""


def compared(part: str, rounds: Mapping[str, Sequence[Spent]], base: str = "") -> list[Figure]:
    """Return the medians of ways that took turns, each beside the way `base`."""
    medians = {name: median(spent) for name, spent in rounds.items()}
    found = []
    for name, spent in medians.items():
        if not base or name == base:
            found.append(Figure(part, name, *spent))
        else:
            ratios = spent.wall / medians[base].wall, spent.cpu / medians[base].cpu
            found.append(Figure(part, name, *spent, base, *ratios))
    return found


def grown(part: str, what: str, rounds: Mapping[int, Sequence[Spent]]) -> Figure:
    """Return how something grows with its size: seconds of the largest, and the exponent of each clock."""
    medians = {size: median(spent) for size, spent in rounds.items()}
    sizes = list(medians)
    exponents = (
        exponent(sizes, [spent.wall for spent in medians.values()]),
        exponent(sizes, [spent.cpu for spent in medians.values()]),
    )
    largest = medians[sizes[-1]]
    named = ", ".join(f"{size:,}" for size in sizes)
    return Figure(part, f"{what}: {named}", largest.wall, largest.cpu, f"{sizes[0]:,}", *exponents, growth=True)


def skipped(part: str, why: str) -> Figure:
    """Return the row of what could not be measured here."""
    return Figure(part, "not run", note=why)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log(seconds) over log(size), by least squares: 1 for what grows as its size does."""
    x, y = [math.log(size) for size in sizes], [math.log(max(taken, 1e-9)) for taken in seconds]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return products / sum((a - mean_x) ** 2 for a in x)


def markdown(figures: Sequence[Figure]) -> str:
    """Return the table, a part's name once; what could not be measured follows it."""
    lines = ["| part | what | clock | processors | clock | processors | beside |", "|---|---|--:|--:|--:|--:|---|"]
    part = ""
    for figure in figures:
        shown, part = "" if figure.part == part else figure.part, figure.part
        beside = f"from {figure.beside} on" if figure.growth else figure.beside
        cells = (
            shown, figure.what, _seconds(figure.clock), _seconds(figure.cpu),
            _ratio(figure.clock_ratio, figure.growth), _ratio(figure.cpu_ratio, figure.growth),
            "; ".join(filter(None, (beside, figure.note))),
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 100 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _ratio(ratio: float | None, growth: bool) -> str:
    if ratio is None:
        return ""
    return f"n^{ratio:.2f}" if growth else f"{ratio:.3g} x"
