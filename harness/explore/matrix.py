"""The matrix: which oracle catches which seeded fault, in which scenario, first at which operation.

A row is a fault, or the healthy engine, run through its trigger scenarios with every oracle listening to the end.
Removing an invariant is then a matter of reading: no run is repeated for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from harness.explore.triggers import scenarios_for
from harness.invariants import RELATIONS
from harness.launch import Launcher
from harness.oracles import ENDS, Judgement, examine
from harness.protocol import FaultOrigin
from harness.scenario import Scenario
from harness.trace import Outcome, Violation

__all__ = ["HEALTHY", "Catch", "Judge", "Row", "caught_by_one_alone", "fill_row", "run_matrix"]

# Runs a scenario with some faults to its end and returns all that any oracle said.
Judge = Callable[[Scenario, tuple[str, ...]], Judgement]

HEALTHY = ""  # the name of the row without a fault


@dataclass(frozen=True)
class Catch:
    """The first thing that one invariant said about one fault.

    oracle     "predicate", "probe", "relation", or "outcome" where the engine raised, crashed or hung.
    operation  its index, and `told` as text.
    scenario   the name of the trigger.
    """

    invariant: str
    oracle: str
    rule: str
    buffer: str
    scenario: str
    operation: int
    told: str
    message: str


@dataclass(frozen=True)
class Row:
    """A fault and what caught it, the earliest first.

    kind         K01 to K16; modelled_on: a public bug. Both are "" for the healthy engine.
    unsupported  why the target can run none of the triggers, "" where it can; `scenarios` counts those it ran.
    """

    fault: str
    kind: str = ""
    modelled_on: str = ""
    scenarios: int = 0
    catches: tuple[Catch, ...] = ()
    unsupported: str = ""

    @property
    def holds(self) -> bool:
        """Whether the row is as it must be: a fault is caught, the healthy engine breaks nothing."""
        return not self.unsupported and bool(self.catches) == (self.fault != HEALTHY)

    @property
    def oracles(self) -> frozenset[str]:
        """The kinds of oracle that caught the fault."""
        return frozenset(catch.oracle for catch in self.catches)


def run_matrix(
    launcher: Launcher,
    names: Sequence[str] = (),
    without: Collection[str] = (),
    triggers_of: Callable[[str], tuple[Scenario, ...]] = scenarios_for,
) -> list[Row]:
    """Return a row for the healthy engine, over the triggers of all named faults, and one for each of these.

    No names are all faults that the target has. `without` names oracles that are left out; `triggers_of` says what
    brings a fault out.
    """
    target = launcher.describe()
    known = target.faults
    rows = [Row(HEALTHY), *(_row(name, target.origins.get(name)) for name in known)]
    judge = partial(examine, launcher, without=without)
    wanted = names or known
    triggers = {row.fault: triggers_of(row.fault) for row in rows if row.fault in wanted}
    every = dict.fromkeys(scenario for scenarios in triggers.values() for scenario in scenarios)
    triggers = {HEALTHY: tuple(every), **triggers}
    return [fill_row(row, triggers[row.fault], judge) for row in rows if row.fault in triggers]


def _row(fault: str, origin: FaultOrigin | None) -> Row:
    return Row(fault) if origin is None else Row(fault, origin.kind, origin.modelled_on)


def fill_row(row: Row, scenarios: Sequence[Scenario], judge: Judge) -> Row:
    """Return `row` with what each invariant said first when the fault's triggers were run."""
    first: dict[str, Catch] = {}
    refused: list[str] = []
    for scenario in scenarios:
        judgement = judge(scenario, (row.fault,) if row.fault else ())
        if judgement.trace.outcome is Outcome.UNSUPPORTED:
            refused.append(f"{scenario.name}: {judgement.trace.detail}")
        probed = {(found.invariant, found.rule) for shot in judgement.trace.snapshots for found in shot.findings}
        for violation in judgement.violations:
            first.setdefault(violation.invariant, _catch(violation, scenario, _oracle(violation, probed)))
    ran = len(scenarios) - len(refused)
    unsupported = refused[0] if refused and not ran else ""
    return replace(row, scenarios=ran, catches=tuple(first.values()), unsupported=unsupported)


def _catch(violation: Violation, scenario: Scenario, oracle: str) -> Catch:
    operations = scenario.operations
    told = str(operations[violation.operation]) if violation.operation in range(len(operations)) else ""
    return Catch(
        violation.invariant, oracle, violation.rule, violation.buffer,
        scenario.name, violation.operation, told, violation.message,
    )  # fmt: skip


def _oracle(violation: Violation, probed: Collection[tuple[str, str]]) -> str:
    if violation.invariant in RELATIONS:
        return "relation"
    if violation.invariant == ENDS:
        return "outcome"
    return "probe" if (violation.invariant, violation.rule) in probed else "predicate"


def caught_by_one_alone(rows: Sequence[Row], names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return, for every invariant, the faults that nothing else catches: what would be lost without it."""
    return {name: tuple(_only(rows, name)) for name in names}


def _only(rows: Sequence[Row], invariant: str) -> Iterator[str]:
    for row in rows:
        if row.fault and {catch.invariant for catch in row.catches} == {invariant}:
            yield row.fault
