"""Runs a reproducer: every case of a bug on a target, judged by all invariants.

The same code serves `harness repro` and the test modules: a reproducer knows its scenarios, nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.codec import dumps
from harness.invariants import RELATIONS, Monitor, accepted_lengths, lost_contexts, same_drafts
from harness.launch import Launcher, Run
from harness.orders import DEFAULT_BUCKETS, REGIMES, all_orders
from harness.references import own_part, share
from harness.scenario import WORKERS, Abort, Admit, AdmitDisaggregated, Config, Finish, Scenario
from harness.trace import Outcome, Trace
from harness.verdicts import FIRST_DRAFTERS, Acceptance, Case, CaseResult, LeftAlone

__all__ = ["Parameters", "Reproducer", "reproduce", "reproduce_all"]

_Group = tuple[str, str]  # worker and regime: cases that share a reference
_PLAIN = RELATIONS["R-PLAIN"]


@dataclass(frozen=True)
class Parameters:
    """Which part of a bug's cases to run. `regimes` None means all that the reproducer has.

    config  what the regime "config" opens; a case's worker and the order's buckets take the place of its own.
    """

    workers: tuple[str, ...] = WORKERS
    regimes: tuple[str, ...] | None = None
    firsts: tuple[str, ...] = tuple(FIRST_DRAFTERS)
    orders: tuple[tuple[int, ...], ...] = all_orders(DEFAULT_BUCKETS)
    config: Config | None = None


@dataclass(frozen=True)
class Reproducer:
    """One public bug. `cases` yields its cases; `reference` runs a worker's requests alone and eagerly.

    regimes  names of the groups that its cases fall into: a test each, and what --regime takes.
    keeps_context  whether this bug is that live requests lose their context, which a target may declare.
    workers  those that have what the bug breaks.
    """

    bug: str
    cases: Callable[[Parameters], Iterable[Case]]
    reference: Callable[[str, Parameters], Scenario]
    regimes: tuple[str, ...] = tuple(REGIMES)
    keeps_context: bool = False
    workers: tuple[str, ...] = WORKERS


def reproduce(
    reproducer: Reproducer,
    parameters: Parameters,
    launcher: Launcher,
    faults: tuple[str, ...] = (),
    known: dict[Scenario, Trace] | None = None,
) -> list[CaseResult]:
    """Run the cases and return their results in the order in which the reproducer names them.

    `known` keeps reference traces from call to call, for callers that run a bug part by part on one launcher and
    without faults.
    """
    (results,) = reproduce_all([(reproducer, parameters)], launcher, faults, known)
    return results


def reproduce_all(
    wanted: Iterable[tuple[Reproducer, Parameters]],
    launcher: Launcher,
    faults: tuple[str, ...] = (),
    known: dict[Scenario, Trace] | None = None,
) -> list[list[CaseResult]]:
    """Run the cases of several bugs in one go, so that no core waits for the last one of each; as `reproduce`.

    Without faults, and without `known`, which is of references as they are, a request that several references run
    alone is run once for all of them (`harness.references`).
    """
    bugs = [_Bug.of(reproducer, parameters) for reproducer, parameters in wanted]
    cases = [(bug, position) for bug in bugs for position in range(len(bug.cases))]
    alone = dict.fromkeys(scenario for bug in bugs for scenario in bug.alone.values())
    shared = share(alone) if known is None and not faults else {}
    known = {} if known is None else known
    missing = [scenario for scenario in alone if scenario not in known]
    first = list(dict.fromkeys(each for scenario in missing for each in shared.get(scenario, (scenario,))))
    # References first, and in one go with the cases: no core waits for them.
    runs = [Run(scenario, faults=faults) for scenario in first]
    runs += [Run(bug.cases[at].scenario, bug.monitors[at], faults) for bug, at in cases]
    waiting: list[_Waiting] = []
    merged: dict[Scenario, Trace] = {}
    for index, trace in launcher.run_all(runs):
        if index >= len(first):
            waiting.append((*cases[index - len(first)], trace))
        elif first[index] in alone:
            known[first[index]] = trace
        else:
            merged[first[index]] = trace
            known |= _completed(first[index], shared, merged)
        _judge_known(waiting, known, shared)
    # What broke off or differs where it was shared is run as its bug has it, and judged by that.
    left = [scenario for scenario in missing if scenario not in known]
    for index, trace in launcher.run_all(map(Run, left)):
        known[left[index]] = trace
    _judge_known(waiting, known)
    return [_looked_into(bug, known, launcher, faults) for bug in bugs]


def _completed(
    last: Scenario, shared: Mapping[Scenario, Sequence[Scenario]], merged: Mapping[Scenario, Trace]
) -> dict[Scenario, Trace]:
    """Return the references whose last requests were run in `last`; all of theirs came to their end."""
    ended = {scenario for scenario, trace in merged.items() if trace.outcome is Outcome.OK}
    return {
        reference: own_part(reference, [merged[run] for run in runs])
        for reference, runs in shared.items()
        if last in runs and ended.issuperset(runs)
    }


def _judge_known(waiting: list[_Waiting], known: dict[Scenario, Trace], shared: Container[Scenario] = ()) -> None:
    """Judge the cases that were run and whose reference is known.

    A shared reference can let a case hold, not break it: on a wrong engine other requests than the bug's own may
    have left something there. It is forgotten, and the case waits for its own.
    """
    for bug, at, found in list(waiting):
        reference = bug.reference(at)
        if reference in shared and reference in known and same_drafts(known[reference], found):
            del known[reference]
        if reference in known:
            bug.results[at] = _judge(bug.reproducer, bug.cases[at], bug.monitors[at], found, known[reference])
            waiting.remove((bug, at, found))


@dataclass(eq=False)
class _Bug:
    """A bug's cases while they are run: what judges each, its group's reference, and what was found."""

    reproducer: Reproducer
    cases: list[Case]
    monitors: list[Monitor]
    alone: dict[_Group, Scenario]
    results: dict[int, CaseResult] = field(default_factory=dict)

    @classmethod
    def of(cls, reproducer: Reproducer, parameters: Parameters) -> _Bug:
        if parameters.regimes is None:
            parameters = replace(parameters, regimes=reproducer.regimes)
        cases = list(reproducer.cases(parameters))
        alone = {
            (worker, regime): reproducer.reference(worker, replace(parameters, regimes=(regime,)))
            for worker, regime in dict.fromkeys(map(_group, cases))
        }
        return cls(reproducer, cases, [Monitor(case.scenario) for case in cases], alone)

    def reference(self, at: int) -> Scenario:
        return self.alone[_group(self.cases[at])]


_Waiting = tuple[_Bug, int, Trace]  # a case, by its position, and what was found


def _looked_into(
    bug: _Bug, known: dict[Scenario, Trace], launcher: Launcher, faults: tuple[str, ...]
) -> list[CaseResult]:
    """Return the results in order, after what broke was run again."""
    ordered = [bug.results[index] for index in range(len(bug.cases))]
    references = {group: known[scenario] for group, scenario in bug.alone.items()}
    _leave_alone(ordered, references, launcher, faults)
    _confirm(bug.reproducer, ordered, references, launcher, faults)
    return ordered


def _group(case: Case) -> _Group:
    return case.worker, case.regime


def _judge(reproducer: Reproducer, case: Case, monitor: Monitor, trace: Trace, reference: Trace) -> CaseResult:
    violations = [*trace.violations, *monitor.ended(trace)]
    outcome = trace.outcome
    # A reference that did not come to its end still shows what it showed.
    related = same_drafts(reference, trace)
    if reproducer.keeps_context:
        related += lost_contexts(trace)
    if related and outcome is Outcome.OK:
        outcome = Outcome.VIOLATION
    return CaseResult(
        reproducer.bug,
        case,
        outcome,
        trace.where(),
        trace.detail,
        trace.device,
        _drafted(trace),
        violations + related,
        log=trace.log,
        at=trace.at,
    )


def _drafted(trace: Trace) -> str:
    tokens = [
        [snapshot.operation, request, list(state.emitted), list(state.drafts)]
        for snapshot in trace.snapshots
        for request, state in snapshot.requests.items()
    ]
    return hashlib.sha256(dumps(tokens).encode()).hexdigest()[:16]


def _leave_alone(
    results: Sequence[CaseResult], references: dict[_Group, Trace], launcher: Launcher, faults: tuple[str, ...]
) -> None:
    """Run each violating case once more without probes and without a stop, to learn what the engine says."""
    broken = [result for result in results if result.outcome is Outcome.VIOLATION]
    trained = {_group(result.case) for result in broken if result.case.scenario.config.weights}
    plain = _undrafted({group: references[group].scenario for group in trained}, launcher)
    runs = [Run(result.case.scenario, faults=faults, keep_going=True, probes=False) for result in broken]
    for index, trace in launcher.run_all(runs):
        group = _group(broken[index].case)
        alone = _left_alone(trace)
        if group in plain:
            differs = _PLAIN.broken(plain[group], trace)
            alone = replace(alone, acceptance=_acceptance(references[group], trace), plain=not differs)
        broken[index].left_alone = alone


def _undrafted(scenarios: dict[_Group, Scenario], launcher: Launcher) -> dict[_Group, Trace]:
    """Run the scenarios by plain greedy decoding on a right engine."""
    others = {group: other for group, scenario in scenarios.items() if (other := _PLAIN.related(scenario))}
    traces = dict(launcher.run_all([Run(other) for other in others.values()]))
    return {group: traces[index] for index, group in enumerate(others)}


def _acceptance(reference: Trace, trace: Trace) -> tuple[Acceptance, ...]:
    alone, here = accepted_lengths(reference), accepted_lengths(trace)
    return tuple(Acceptance(request, alone[request], here[request]) for request in here if request in alone)


def _left_alone(trace: Trace) -> LeftAlone:
    scenario = trace.scenario
    raised = "" if trace.outcome is Outcome.OK else trace.detail
    live = _most_live(scenario, trace.at if raised and trace.at is not None else len(scenario.operations))
    largest = max(scenario.config.buckets, default=0)
    return LeftAlone(raised, trace.where(), live, quiet=not raised or live >= largest)


def _most_live(scenario: Scenario, end: int) -> int:
    """Return the largest number of requests that were live before operation `end`."""
    live = most = 0
    for operation in scenario.operations[:end]:
        live += isinstance(operation, (Admit, AdmitDisaggregated)) - isinstance(operation, (Finish, Abort))
        most = max(most, live)
    return most


def _confirm(
    reproducer: Reproducer,
    results: Sequence[CaseResult],
    references: dict[_Group, Trace],
    launcher: Launcher,
    faults: tuple[str, ...],
) -> None:
    """Run the first case of every signature again in a fresh process; a finding that does not repeat is flaky."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        if not result.holds and result.outcome is not Outcome.UNSUPPORTED:
            groups.setdefault(result.signature, []).append(result)
    for signature, group in groups.items():
        case = group[0].case
        monitor = Monitor(case.scenario)
        trace = launcher.run(Run(case.scenario, monitor, faults), fresh=True)
        repeated = _judge(reproducer, case, monitor, trace, references[_group(case)]).signature == signature
        for result in group:
            result.confirmed = repeated
