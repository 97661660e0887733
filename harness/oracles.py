"""Judges a scenario on a target by everything there is: predicates, probes, relations, and that it ends at all.

One call runs a scenario, and beside it those that must show the same, and returns whatever was broken under the
name of the oracle that saw it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.invariants import PREDICATES, RELATIONS, Monitor, Relation, silent
from harness.launch import Launcher, Run
from harness.legality import check
from harness.scenario import Admit, Capture, Config, Finish, Scenario, Step
from harness.trace import Outcome, Trace, Violation

__all__ = ["ENDS", "ORACLES", "Judgement", "examine", "judge", "screen", "undeclared"]

# A legal scenario comes to its end: the engine neither raises nor crashes nor hangs.
ENDS = "O-ENDS"
ORACLES = (*PREDICATES, *RELATIONS, ENDS)
_BAD_ENDS = (Outcome.ERROR, Outcome.CRASH, Outcome.HANG)


@dataclass
class Judgement:
    """What one scenario showed. `violations` are in the order of their operations, at most one a signature.

    trace    the run itself, which went on past its violations.
    silent   oracles that had nothing to say, with the reason: what the target does not declare, nothing to vary,
             or unsupported by the target.
    """

    trace: Trace
    violations: list[Violation] = field(default_factory=list)
    silent: dict[str, str] = field(default_factory=dict)


def judge(
    launcher: Launcher, scenario: Scenario, faults: tuple[str, ...] = (), without: Collection[str] = ()
) -> list[Violation]:
    """Return what `scenario` breaks, the first operation first; `without` names oracles to leave out.

    Each violation carries the name of the oracle that saw it, and of one signature only the first is returned.
    A scenario that the target cannot do breaks nothing: `examine` tells the two apart.
    Raises `IllegalScenarioError` for a scenario that is not legal, `LaunchError` where nothing can be launched.
    """
    return examine(launcher, scenario, faults, without).violations


def examine(
    launcher: Launcher, scenario: Scenario, faults: tuple[str, ...] = (), without: Collection[str] = ()
) -> Judgement:
    """Return the same with the run itself, and which relations were silent."""
    unknown = set(without) - set(ORACLES)
    if unknown:
        raise ValueError(f"no oracle is called {', '.join(sorted(unknown))}; there are {', '.join(ORACLES)}")
    check(scenario)
    predicates = [predicate for name, predicate in PREDICATES.items() if name not in without]
    related = {relation: relation.related(scenario) for name, relation in RELATIONS.items() if name not in without}
    others = [relation for relation, other in related.items() if other is not None]
    monitor = Monitor(scenario, predicates)
    runs = [Run(scenario, monitor, faults, keep_going=True)]
    runs += [Run(other, faults=faults, probes=r.probes) for r, other in related.items() if other is not None]
    traces = dict(launcher.run_all(runs))
    judgement = Judgement(traces[0])
    judgement.silent = {name: f"not declared: {what}" for name, what in silent(traces[0].snapshots).items()}
    judgement.silent |= {relation.name: "nothing to vary" for relation in related if relation not in others}
    found = [*traces[0].violations, *monitor.ended(traces[0])]
    if ENDS not in without:
        found += _ends(traces[0])
    if traces[0].outcome is not Outcome.UNSUPPORTED:
        for index, relation in enumerate(others, 1):
            if traces[index].outcome is Outcome.UNSUPPORTED:
                judgement.silent[relation.name] = f"unsupported: {traces[index].detail}"
            found += _related(relation, traces[index], traces[0])
    judgement.violations = list(_firsts(found))
    return judgement


def screen(
    launcher: Launcher,
    scenarios: Sequence[Scenario],
    faults: tuple[str, ...] = (),
    relations: Collection[str] = tuple(RELATIONS),
    predicates: Collection[str] = tuple(PREDICATES),
) -> Iterator[tuple[int, Judgement]]:
    """Yield (position, what the scenario breaks first), those first that need no relation.

    For who looks at many: a run stops at the operation that breaks a predicate, and all its violations are of that
    one; only a scenario that holds is compared with its relatives. `silent` stays empty. `relations` and
    `predicates` name those that are asked.
    """
    asked = [PREDICATES[name] for name in predicates]
    monitors = [Monitor(scenario, asked) for scenario in scenarios]
    runs = [Run(scenario, monitor, faults) for scenario, monitor in zip(scenarios, monitors, strict=True)]
    holding: list[tuple[int, Judgement]] = []
    for index, trace in sorted(launcher.run_all(runs), key=lambda pair: pair[0]):
        found = [*trace.violations, *monitors[index].ended(trace), *_ends(trace)]
        judged = index, Judgement(trace, list(_firsts(found)))
        if trace.outcome is Outcome.OK and relations:
            holding.append(judged)
        else:
            yield judged
    yield from _compared(launcher, holding, faults, relations)


def _compared(
    launcher: Launcher,
    holding: list[tuple[int, Judgement]],
    faults: tuple[str, ...],
    relations: Collection[str],
) -> Iterator[tuple[int, Judgement]]:
    """Yield the same with what the relations say."""
    related = [
        (judgement, RELATIONS[name], other)
        for _, judgement in holding
        for name in relations
        if (other := RELATIONS[name].related(judgement.trace.scenario)) is not None
    ]
    others = [Run(other, faults=faults, probes=relation.probes) for _, relation, other in related]
    for index, reference in sorted(launcher.run_all(others), key=lambda pair: pair[0]):
        judgement, relation, _ = related[index]
        judgement.violations += _related(relation, reference, judgement.trace)
    for _, judgement in holding:
        judgement.violations = list(_firsts(judgement.violations))
    yield from holding


def undeclared(launcher: Launcher) -> dict[str, str]:
    """Return the invariants that are silent about a target, with what it does not declare for them.

    A short scenario with all of the target's options is run: what it never shows, it does not declare. Raises
    `LaunchError` where it cannot be launched.
    """
    description = launcher.describe()
    worker = description.workers[-1]  # the one of the two that has confidences, where there is one
    config = Config(worker, num_seq_slots=4, max_num_requests=2, buckets=(2,))
    every = {"sampling": True, "overlap": True, "page_size": 4, "recurrent": True, "verify": 2}
    chosen: dict[str, Any] = {name: every[name] for name in description.options if name in every}
    operations = (Capture(2), Admit("a", 4), Step(), Finish("a"))
    scenario = Scenario(replace(config, **chosen), operations, "what a target declares")
    return silent(launcher.run(Run(scenario)).snapshots)


def _ends(trace: Trace) -> Iterator[Violation]:
    if trace.outcome in _BAD_ENDS:
        at = len(trace.snapshots) if trace.at is None else trace.at
        yield Violation(
            ENDS, trace.outcome.value, f"{trace.outcome.value} in {trace.where()}: {trace.detail}",
            at, "an end", trace.detail,
        )  # fmt: skip


def _related(relation: Relation, reference: Trace, trace: Trace) -> Iterator[Violation]:
    yield from relation.broken(reference, trace)
    if reference.outcome in _BAD_ENDS and trace.outcome not in _BAD_ENDS:
        yield Violation(
            relation.name, reference.outcome.value,
            f"{relation.than} ended as {reference.outcome.value} in {reference.where()}: {reference.detail}",
            len(trace.snapshots), "an end", reference.detail,
        )  # fmt: skip


def _firsts(found: list[Violation]) -> Iterator[Violation]:
    seen: set[str] = set()
    for violation in sorted(found, key=lambda violation: violation.operation):
        if violation.signature not in seen:
            seen.add(violation.signature)
            yield violation
