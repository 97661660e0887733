"""Released versions side by side: every bug's reproducer on every version of a target, in few cases each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.launch import Launcher
from harness.reproduce import Parameters, Reproducer, reproduce_all
from harness.verdicts import CaseResult

__all__ = ["VersionCell", "few_cases", "render_versions", "version_matrix"]

# An order in which the first bucket is neither the largest nor the smallest, one first drafter, the regime in
# which a pinned pool is silent: enough to tell versions apart. `harness repro` runs the rest.
_ORDERS = ((2, 4, 1),)
_FIRSTS = ("bucket",)
_REGIMES = ("production",)


@dataclass(frozen=True)
class VersionCell:
    """A bug on a version. `words` says how its cases ended, `why` the first that did not hold, or was refused."""

    bug: str
    source: str
    words: tuple[str, ...]
    why: str = ""

    @property
    def word(self) -> str:
        """What stands in the table: the worst of its cases."""
        worst = [word for word in self.words if word not in ("ok", "n/a")]
        if worst:
            return "FAIL" if "FAIL" in worst else worst[0]
        return "ok" if "ok" in self.words else "n/a"

    @property
    def holds(self) -> bool:
        """Whether nothing that could be run broke."""
        return self.word in ("ok", "n/a")


def version_matrix(
    reproducers: Sequence[Reproducer], sources: Mapping[str, Callable[[], Launcher]]
) -> Iterator[VersionCell]:
    """Run each reproducer on each source, version by version. Raises `LaunchError` where one has no worker."""
    for source, start in sources.items():
        with start() as launcher:
            wanted = [(reproducer, few_cases(reproducer)) for reproducer in reproducers]
            for reproducer, results in zip(reproducers, reproduce_all(wanted, launcher), strict=True):
                yield VersionCell(reproducer.bug, source, tuple(result.word for result in results), _why(results))


def few_cases(reproducer: Reproducer) -> Parameters:
    """Return the part of a bug's cases that tells versions apart."""
    regimes = tuple(regime for regime in _REGIMES if regime in reproducer.regimes) or reproducer.regimes[:1]
    return Parameters(regimes=regimes, firsts=_FIRSTS, orders=_ORDERS)


def _why(results: Sequence[CaseResult]) -> str:
    told = [result for result in results if not result.holds]
    if not told:
        return ""
    worst = next((result for result in told if result.word != "n/a"), told[0])
    return worst.violations[0].message if worst.violations else worst.detail


def render_versions(cells: Sequence[VersionCell]) -> str:
    """Return a table of bugs and versions, and why where a cell is not ok."""
    bugs = list(dict.fromkeys(cell.bug for cell in cells))
    sources = list(dict.fromkeys(cell.source for cell in cells))
    by_place = {(cell.bug, cell.source): cell for cell in cells}
    wide = max(map(len, bugs), default=0)
    columns = {source: max(len(source), len("unsupported")) for source in sources}
    lines = [" ".join([" " * wide, *(f"{source:>{columns[source]}}" for source in sources)])]
    for bug in bugs:
        words = [f"{by_place[bug, source].word:>{columns[source]}}" for source in sources]
        lines.append(" ".join([f"{bug:<{wide}}", *words]))
    told = [f"{cell.bug} on {cell.source}: {cell.why}" for cell in cells if cell.why]
    return "\n".join([*lines, "", *told, *([""] if told else []), _verdict(cells)]) + "\n"


def _verdict(cells: Sequence[VersionCell]) -> str:
    words = [word for cell in cells for word in cell.words]
    refused = words.count("n/a")
    broken = sum(not cell.holds for cell in cells)
    told = f"{broken} cells BROKEN" if broken else "every invariant holds"
    return f"{len(words) - refused} cases: {told}" + (f"; {refused} unsupported" if refused else "")
