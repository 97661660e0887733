"""References shared between bugs: nothing of any is lost, and each bug is judged as by its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.catalogue import find_bug, load_reproducer
from harness.explore.versions import few_cases
from harness.launch import Launcher, Run
from harness.legality import check
from harness.references import one_by_one, own_part, share
from harness.reproduce import Parameters, Reproducer, reproduce, reproduce_all
from harness.scenario import Admit, AdmitDisaggregated, Config, Finish, Operation, Scenario
from harness.trace import Outcome, RequestState, Snapshot, Trace

PLAIN = Config("dflash", 4, 4, (1, 2, 4))
ADMISSIONS = st.builds(Admit, st.sampled_from(["r0", "r1", "long"]), st.integers(1, 4))
LIVES = st.lists(
    st.tuples(ADMISSIONS, st.integers(0, 4)), min_size=1, max_size=3, unique_by=lambda life: life[0].request
)
CONFIGS = st.sampled_from([PLAIN, replace(PLAIN, worker="dspark"), replace(PLAIN, num_seq_slots=5)])
REFERENCES = st.lists(
    st.builds(lambda config, lives: Scenario(config, one_by_one(lives)), CONFIGS, LIVES), max_size=6
)


def segments(scenario: Scenario) -> Iterator[tuple[Operation, ...]]:
    """Yield each admission with what follows it, but its ending."""
    start = 0
    for index, operation in enumerate(scenario.operations):
        if isinstance(operation, Finish):
            yield scenario.operations[start:index]
            start = index + 1


def shown(scenario: Scenario) -> Trace:
    """Return what an engine shows on which no request depends on another: each state tells its whole past."""
    trace = Trace(scenario, "pure", "cpu")
    start = 0
    for index, operation in enumerate(scenario.operations):
        start = index if isinstance(operation, Admit) else start
        past = hash(scenario.operations[start : index + 1])
        states = {} if isinstance(operation, Finish) else {"r": RequestState(index - start, (past,), 0, ())}
        trace.snapshots.append(Snapshot(index, (), (), (), states, {}))
    return trace


@given(REFERENCES)
def test_all_that_a_reference_runs_is_run_under_its_own_configuration(references: list[Scenario]) -> None:
    for reference, runs in share(references).items():
        assert {run.config for run in runs} == {reference.config}
        ran = [segment for run in runs for segment in segments(run)]
        for wanted in segments(reference):
            assert any(segment[: len(wanted)] == wanted for segment in ran)


@given(REFERENCES)
def test_what_is_run_is_legal_and_names_no_request_twice(references: list[Scenario]) -> None:
    for runs in share(references).values():
        for run in runs:
            check(run)
            names = [operation.request for operation in run.operations if isinstance(operation, Admit)]
            assert len(set(names)) == len(names)


@given(REFERENCES)
def test_each_admission_is_run_once_and_no_longer_than_a_reference_has_it(references: list[Scenario]) -> None:
    shared = share(references)
    asked = {(reference.config, segment) for reference in shared for segment in segments(reference)}
    ran = [
        (run.config, segment)
        for run in {run for runs in shared.values() for run in runs}
        for segment in segments(run)
    ]
    assert len({(config, segment[0]) for config, segment in ran}) == len(ran)
    assert asked.issuperset(ran)


@given(REFERENCES)
def test_as_few_scenarios_are_run_as_one_name_has_admissions(references: list[Scenario]) -> None:
    shared = share(references)
    for config in {reference.config for reference in shared}:
        ran = {run for reference, runs in shared.items() for run in runs if reference.config == config}
        came = {op for run in ran for op in run.operations if isinstance(op, Admit)}
        assert len(ran) == max(sum(op.request == name for op in came) for name in {op.request for op in came})


@given(REFERENCES)
def test_a_reference_gets_back_what_a_run_of_its_own_would_show(references: list[Scenario]) -> None:
    for reference, runs in share(references).items():
        own, part = shown(reference), own_part(reference, [shown(run) for run in runs])
        assert part.scenario == reference
        assert part.snapshots == [one for one in own.snapshots if one.requests]


@pytest.mark.parametrize(
    "other",
    [
        Scenario(replace(PLAIN, sampling=True), one_by_one([(Admit("r0", 4), 2)])),
        Scenario(replace(PLAIN, weights="trained"), one_by_one([(Admit("r0", 4), 2)])),
        Scenario(PLAIN, one_by_one([(Admit("r0", 4, cached=2), 2)])),
        Scenario(PLAIN, one_by_one([(Admit("r0", 4, chunks=(2, 2)), 2)])),
        Scenario(PLAIN, one_by_one([(AdmitDisaggregated("r0", 4), 2)])),
        Scenario(PLAIN, one_by_one([(Admit("r0", 4), 0), (Admit("r0", 5), 0)])),
        Scenario(PLAIN, one_by_one([(Admit("r0", 4), 2)])[:-1]),
    ],
    ids=["option", "trained", "cached", "chunks", "handover", "name-again", "no-end"],
)
def test_what_is_not_plain_is_left_as_it_is(other: Scenario) -> None:
    plain = [Scenario(other.config, one_by_one([(Admit("r1", 4), steps)])) for steps in (2, 3)]
    assert other not in share([*plain, other])


def test_a_reference_alone_under_its_configuration_is_left_as_it_is() -> None:
    alone = Scenario(PLAIN, one_by_one([(Admit("r0", 4), 2)]))
    assert share([alone, replace(alone, config=replace(PLAIN, seed=1))]) == {}


class Told(Launcher):
    """An engine whose runs of several bugs' requests end as `spoilt` makes of them; `given` are all scenarios."""

    def __init__(self, references: Iterable[Scenario]) -> None:
        super().__init__(jobs=1)
        self.shared = {run for runs in share(references).values() for run in runs}
        self.given: list[Scenario] = []

    def run_all(self, runs: Iterable[Run]) -> Iterator[tuple[int, Trace]]:
        """Run them and spoil what is shared."""
        listed = list(runs)
        self.given += [run.scenario for run in listed]
        for index, trace in super().run_all(listed):
            yield index, self.spoilt(trace) if listed[index].scenario in self.shared else trace

    def spoilt(self, trace: Trace) -> Trace:
        """Leave it as it is."""
        return trace


class Broken(Told):
    """It crashes where requests of several bugs follow each other."""

    def spoilt(self, trace: Trace) -> Trace:
        """Cut the run short."""
        return replace(trace, snapshots=trace.snapshots[:1], outcome=Outcome.CRASH, at=1)


class Leaking(Told):
    """Its drafts are others where requests of several bugs follow each other."""

    def spoilt(self, trace: Trace) -> Trace:
        """Change every draft."""
        snapshots = [
            replace(one, requests={name: replace(state, drafts=(-1,)) for name, state in one.requests.items()})
            for one in trace.snapshots
        ]
        return replace(trace, snapshots=snapshots)


@pytest.fixture(scope="module")
def bugs() -> list[Reproducer]:
    return [load_reproducer(find_bug(bug)) for bug in ("observed/absent-request", "nvbugs/5821053")]


def few(bug: Reproducer) -> Parameters:
    return replace(few_cases(bug), workers=("dflash",))


def references(bugs: Iterable[Reproducer]) -> list[Scenario]:
    return [bug.reference("dflash", few(bug)) for bug in bugs]


def test_bugs_that_share_are_judged_as_each_by_itself_and_run_less(bugs: list[Reproducer]) -> None:
    launcher = Told(references(bugs))
    with launcher:
        together = reproduce_all([(bug, few(bug)) for bug in bugs], launcher)
        given_together = set(launcher.given)
        apart = [reproduce(bug, few(bug), launcher) for bug in bugs]
    assert together == apart
    assert launcher.shared <= given_together
    assert not given_together & set(references(bugs))


@pytest.mark.parametrize("engine", [Broken, Leaking])
def test_where_sharing_fails_each_bug_is_judged_by_its_own_reference(
    engine: type[Told], bugs: list[Reproducer]
) -> None:
    launcher = engine(references(bugs))
    with launcher:
        results = reproduce_all([(bug, few(bug)) for bug in bugs], launcher)
    assert all(result.holds for found in results for result in found)
    assert set(references(bugs)) <= set(launcher.given)
