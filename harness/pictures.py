"""Which cases of a run are drawn, and their slot maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.report.matrix import failure_groups
from harness.report.slotmap import SlotMap, slot_map
from harness.report.summary import examples, order_text
from harness.scenario import Scenario
from harness.trace import Outcome, Trace, Violation
from harness.verdicts import CaseResult

__all__ = ["draw", "draw_trace"]

_GONE = (Outcome.CRASH, Outcome.HANG)


def draw(
    launcher: Launcher, results: Sequence[CaseResult], faults: tuple[str, ...], healthy: bool = False
) -> list[SlotMap]:
    """Return the maps of each finding's examples, and with `healthy` that of the first case that holds.

    Each is run once more, on to its end and without probes: what was stopped at its first violation shows one
    operation, and what probes write is not the engine's. A crash or a hang is run up to the operation that it
    ended in and no further: that one would cost a process or a minute, and leave nothing to look at.
    """
    chosen = list(_chosen(results, healthy))
    monitors = [Monitor(result.case.scenario) for result in chosen]
    runs = [Run(_shown(result), faults=faults, probes=False) for result in chosen]  # unwatched: to its end
    maps: dict[int, SlotMap | None] = {}
    for index, trace in launcher.run_all(runs):
        maps[index] = draw_trace(_ended(trace, chosen[index]), monitors[index], chosen[index].violations)
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
        yield from (result for result in examples(group) if _shown(result).operations)
    if healthy:
        yield from [result for result in results if result.holds][:1]


def _shown(result: CaseResult) -> Scenario:
    """Return what of a case can be shown: all of it, or what came before a crash or a hang."""
    scenario = result.case.scenario
    if result.outcome not in _GONE or result.at is None:
        return scenario
    return replace(scenario, operations=scenario.operations[: max(0, result.at)])


def _ended(trace: Trace, result: CaseResult) -> Trace:
    """Return the trace with the end that its case had, where it was cut short of it."""
    if trace.scenario == result.case.scenario or trace.outcome is not Outcome.OK:
        return trace
    case = result.case.scenario
    return replace(trace, scenario=case, outcome=result.outcome, at=result.at, detail=result.detail)


def _labelled(drawn: SlotMap, result: CaseResult) -> SlotMap:
    case = result.case
    return replace(drawn, case=(case.worker, case.regime, case.first, order_text(case.order)), word=result.word)
