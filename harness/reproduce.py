"""Runs a reproducer: every case of a bug on a target, judged by all invariants.

The same code serves `harness repro` and the test modules: a reproducer knows its scenarios, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from harness.invariants import Monitor, same_drafts
from harness.launch import Launcher, Run
from harness.orders import DEFAULT_BUCKETS, REGIMES, all_orders
from harness.scenario import WORKERS, Admit, Finish, Scenario
from harness.trace import Outcome, Trace, Violation

__all__ = ["FIRST_DRAFTERS", "Case", "CaseResult", "LeftAlone", "Parameters", "Reproducer", "reproduce"]

FIRST_DRAFTERS = {
    "eager": "an ordinary eager forward, the engine's warm-up, drafts first",
    "bucket": "the first captured bucket drafts first",
}


@dataclass(frozen=True)
class Parameters:
    """Which part of a bug's cases to run."""

    workers: tuple[str, ...] = WORKERS
    regimes: tuple[str, ...] = tuple(REGIMES)
    firsts: tuple[str, ...] = tuple(FIRST_DRAFTERS)
    orders: tuple[tuple[int, ...], ...] = all_orders(DEFAULT_BUCKETS)


@dataclass(frozen=True)
class Case:
    """A scenario and where it stands in the matrix. All invariants must hold in it.

    regime  one of `REGIMES`, or a short name for a case that stands beside the matrix.
    """

    worker: str
    regime: str
    first: str
    order: tuple[int, ...]
    scenario: Scenario


@dataclass(frozen=True)
class Reproducer:
    """One public bug. `cases` yields its cases; `reference` runs a worker's requests alone and eagerly."""

    bug: str
    cases: Callable[[Parameters], Iterable[Case]]
    reference: Callable[[str, Parameters], Scenario]


@dataclass(frozen=True)
class LeftAlone:
    """What the engine itself shows of a violation: the same case run on, with no probe and no stop.

    raised   what it raised in the end, "" for nothing; live: requests it served without raising.
    """

    raised: str
    live: int


@dataclass
class CaseResult:
    """How a case ended. `violations` are those of predicates, probes and relations, first ones first."""

    case: Case
    outcome: Outcome
    where: str
    detail: str
    device: str
    violations: list[Violation] = field(default_factory=list)
    left_alone: LeftAlone | None = None
    confirmed: bool | None = None
    log: str = ""

    @property
    def signature(self) -> str:
        """What groups failures: the first violation's signature, or the outcome and what was raised."""
        if self.violations:
            return self.violations[0].signature
        return f"{self.outcome.value}:{self.detail.partition(' [')[0]}"

    @property
    def holds(self) -> bool:
        """Whether everything held."""
        return self.outcome is Outcome.OK

    @property
    def silent(self) -> bool:
        """Whether only the invariants see it: no captured bucket is too small for the pool to break loudly."""
        quiet = self.left_alone
        return quiet is not None and (not quiet.raised or quiet.live >= max(self.case.scenario.config.buckets))


def reproduce(
    reproducer: Reproducer,
    parameters: Parameters,
    launcher: Launcher,
    faults: tuple[str, ...] = (),
    progress: Callable[[CaseResult], None] = lambda _: None,
) -> list[CaseResult]:
    """Run the cases and return their results in the order in which the reproducer names them."""
    cases = list(reproducer.cases(parameters))
    workers = sorted({case.worker for case in cases})
    references = _references(reproducer, parameters, workers, launcher, faults)
    runs = [Run(case.scenario, Monitor(case.scenario), faults) for case in cases]
    results: dict[int, CaseResult] = {}
    for index, trace in launcher.run_all(runs):
        results[index] = _judge(cases[index], trace, references[cases[index].worker])
        progress(results[index])
    ordered = [results[index] for index in range(len(cases))]
    _leave_alone(ordered, launcher, faults)
    _confirm(ordered, references, launcher, faults)
    return ordered


def _references(
    reproducer: Reproducer,
    parameters: Parameters,
    workers: Sequence[str],
    launcher: Launcher,
    faults: tuple[str, ...],
) -> dict[str, Trace]:
    runs = [Run(reproducer.reference(worker, parameters), faults=faults) for worker in workers]
    return {workers[index]: trace for index, trace in launcher.run_all(runs)}


def _judge(case: Case, trace: Trace, reference: Trace) -> CaseResult:
    violations = list(trace.violations)
    outcome = trace.outcome
    # A reference that did not come to its end still shows what it showed.
    related = same_drafts(reference, trace)
    if related and outcome is Outcome.OK:
        outcome = Outcome.VIOLATION
    return CaseResult(
        case, outcome, trace.where(), trace.detail, trace.device, violations + related, log=trace.log
    )


def _leave_alone(results: Sequence[CaseResult], launcher: Launcher, faults: tuple[str, ...]) -> None:
    """Run each violating case once more without probes and without a stop, to learn what the engine says."""
    broken = [result for result in results if result.outcome is Outcome.VIOLATION]
    runs = [Run(result.case.scenario, faults=faults, keep_going=True, probes=False) for result in broken]
    for index, trace in launcher.run_all(runs):
        ended = len(trace.scenario.operations) if trace.at is None else trace.at
        raised = "" if trace.outcome is Outcome.OK else f"{trace.detail} at {trace.where()}"
        broken[index].left_alone = LeftAlone(raised, _most_live(trace.scenario, ended))


def _most_live(scenario: Scenario, end: int) -> int:
    """Return the largest number of requests that were live before operation `end`."""
    live = most = 0
    for operation in scenario.operations[:end]:
        live += isinstance(operation, Admit) - isinstance(operation, Finish)
        most = max(most, live)
    return most


def _confirm(
    results: Sequence[CaseResult], references: dict[str, Trace], launcher: Launcher, faults: tuple[str, ...]
) -> None:
    """Run the first case of every signature again in a fresh process; a finding that does not repeat is flaky."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        if not result.holds and result.outcome is not Outcome.UNSUPPORTED:
            groups.setdefault(result.signature, []).append(result)
    for signature, group in groups.items():
        case = group[0].case
        trace = launcher.run(Run(case.scenario, Monitor(case.scenario), faults), fresh=True)
        repeated = _judge(case, trace, references[case.worker]).signature == signature
        for result in group:
            result.confirmed = repeated
