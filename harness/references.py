"""References shared between bugs: a request that several of them run alone is run once, for as long as any needs.

Only what is plain is shared: requests that come whole and once each, under a configuration without options. There
a right engine shows the same of a request whatever ended before it came, and what it shows of a step hangs on no
later one. All else is run as its bug has it, so that whoever refuses it refuses it to that bug alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.scenario import Admit, AdmitDisaggregated, Config, Finish, Operation, Scenario, Step
from harness.trace import Snapshot, Trace

__all__ = ["one_by_one", "own_part", "share"]

_Lives = Mapping[Admit, int]  # how each request comes, and how many steps it takes then
_Place = tuple[Operation, int]  # how the request came, and which of the operations since then


def one_by_one(lives: Iterable[tuple[Admit | AdmitDisaggregated, int]]) -> tuple[Operation, ...]:
    """Return requests one after the other, each with its number of steps, with no graph and no padding."""
    operations: list[Operation] = []
    for admission, steps in lives:
        name = admission.request
        operations += [admission, *[Step((name,), graph=False)] * steps, Finish(name)]
    return tuple(operations)


def share(references: Iterable[Scenario]) -> dict[Scenario, tuple[Scenario, ...]]:
    """Return what to run in place of each reference that has something to share; the others are not in it.

    Each admission under a configuration is run once, with as many steps as follow it in any reference, in as few
    scenarios as have no name twice. They are as legal as the references: each request has ended when the next one
    comes, and none gets longer than it gets in one of these.
    """
    groups: defaultdict[Config, dict[Scenario, _Lives]] = defaultdict(dict)
    for reference in references:
        if lives := _plain(reference):
            groups[reference.config][reference] = lives
    shared: dict[Scenario, tuple[Scenario, ...]] = {}
    for config, group in groups.items():
        if len(group) > 1:
            shared |= _shared(config, group)
    return shared


def own_part(reference: Scenario, runs: Sequence[Trace]) -> Trace:
    """Return what a run of `reference` alone would show, cut from what `share` gave for it, run to the end.

    The ends of requests are left out: nothing is compared there, and a longer life ends otherwise.
    """
    shown: dict[_Place, Snapshot] = {}
    for run in runs:
        places = dict(_places(run.scenario))
        shown |= {places[one.operation]: one for one in run.snapshots if one.operation in places}
    snapshots = [replace(shown[place], operation=index) for index, place in _places(reference)]
    return Trace(reference, runs[0].target, runs[0].device, snapshots)


def _plain(scenario: Scenario) -> _Lives:
    """Return the lives that a scenario consists of; none where they are not all of it, or not plain."""
    came = [operation for operation in scenario.operations if isinstance(operation, Admit)]
    taken = Counter(operation.requests for operation in scenario.operations if isinstance(operation, Step))
    lives = {admission: taken[admission.request,] for admission in came}
    plain = all(admission == Admit(admission.request, admission.prompt_len) for admission in came)
    once = len({admission.request for admission in came}) == len(came)
    alone = scenario.operations == one_by_one(lives.items())
    return lives if plain and once and alone and not scenario.config.options else {}


def _shared(config: Config, group: Mapping[Scenario, _Lives]) -> dict[Scenario, tuple[Scenario, ...]]:
    runs = [
        (lives, Scenario(config, one_by_one(lives.items()), "each request of several bugs alone"))
        for lives in _packed(_longest(group.values()))
    ]
    return {
        reference: tuple(run for held, run in runs if held.keys() & lives.keys())
        for reference, lives in group.items()
    }


def _longest(references: Iterable[_Lives]) -> _Lives:
    longest: dict[Admit, int] = {}
    for lives in references:
        for admission, steps in lives.items():
            longest[admission] = max(steps, longest.get(admission, 0))
    return longest


def _packed(lives: _Lives) -> list[_Lives]:
    """Spread lives over scenarios: the n-th of a name into the n-th one."""
    seen: Counter[str] = Counter()
    packed: defaultdict[int, dict[Admit, int]] = defaultdict(dict)
    for admission, steps in lives.items():
        packed[seen[admission.request]][admission] = steps
        seen[admission.request] += 1
    return list(packed.values())


def _places(scenario: Scenario) -> Iterator[tuple[int, _Place]]:
    """Yield the index and the place of each operation of plain lives, but of their ends."""
    start = 0
    for index, operation in enumerate(scenario.operations):
        start = index if isinstance(operation, Admit) else start
        if not isinstance(operation, Finish):
            yield index, (scenario.operations[start], index - start)
