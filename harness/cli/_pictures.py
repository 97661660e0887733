"""Which cases of a run are drawn, and their slot maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.report.matrix import failure_groups
from harness.report.slotmap import SlotMap, slot_map
from harness.report.summary import examples, order_text
from harness.trace import Outcome, Trace, Violation
from harness.verdicts import CaseResult

__all__ = ["draw", "draw_trace"]

_GONE = (Outcome.CRASH, Outcome.HANG)  # once more would cost a process or a minute, and show no more


def draw(
    launcher: Launcher, results: Sequence[CaseResult], faults: tuple[str, ...], healthy: bool = False
) -> list[SlotMap]:
    """Return the maps of each finding's examples, and with `healthy` that of the first case that holds.

    Each is run once more, on to its end and without probes: what was stopped at its first violation shows one
    operation, and what probes write is not the engine's.
    """
    chosen = list(_chosen(results, healthy))
    monitors = [Monitor(result.case.scenario) for result in chosen]
    runs = [Run(result.case.scenario, faults=faults, probes=False) for result in chosen]  # unwatched: to its end
    maps: dict[int, SlotMap | None] = {}
    for index, trace in launcher.run_all(runs):
        maps[index] = draw_trace(trace, monitors[index], chosen[index].violations)
    return [_labelled(drawn, chosen[index]) for index in range(len(chosen)) if (drawn := maps[index]) is not None]


def draw_trace(trace: Trace, monitor: Monitor, known: Sequence[Violation] = ()) -> SlotMap | None:
    """Return the map of a trace; `monitor` judges it, `known` is what probes and relations found."""
    judged = [violation for snapshot in trace.snapshots for violation in monitor(snapshot)]
    judged += monitor.ended(trace)
    places = {(violation.operation, violation.signature) for violation in judged}
    beside = [violation for violation in known if (violation.operation, violation.signature) not in places]
    return slot_map(trace, [*known[:1], *judged, *beside])


def _chosen(results: Sequence[CaseResult], healthy: bool) -> Iterator[CaseResult]:
    for group in failure_groups(results).values():
        yield from (result for result in examples(group) if result.outcome not in _GONE)
    if healthy:
        yield from [result for result in results if result.holds][:1]


def _labelled(drawn: SlotMap, result: CaseResult) -> SlotMap:
    case = result.case
    return replace(drawn, case=(case.worker, case.regime, case.first, order_text(case.order)), word=result.word)
