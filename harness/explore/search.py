"""The search: rounds of drawn scenarios, each run in a session of its own, and what they break made short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.explore.drawing import Space, draw_round
from harness.explore.finding import Finding, shortest
from harness.explore.showing import signature_of
from harness.launch import Launcher
from harness.oracles import Judgement, screen
from harness.scenario import Scenario
from harness.trace import Outcome

__all__ = ["Search"]

_BATCH = 8  # scenarios run side by side, whatever the number of hosts: what is found first must not depend on it


@dataclass
class Search:
    """One search through the scenarios of a seed, from some place on. `width` is how many hosts there are.

    judged, operations  what was run, scenarios and operations; unsupported: why scenarios could not be, how often.
    round, done         the place of the next scenario: a round, and how many of it were run.
    """

    launcher: Launcher
    space: Space
    faults: tuple[str, ...] = ()
    seed: int = 0
    width: int = 1
    round: int = 0
    done: int = 0
    judged: int = field(default=0, init=False)
    operations: int = field(default=0, init=False)
    unsupported: Counter[str] = field(default_factory=Counter, init=False)
    _known: set[str] = field(default_factory=set, init=False)

    def run(self, first: Sequence[Scenario], go_on: Callable[[], bool]) -> Iterator[Finding]:
        """Run the scenarios of `first`, then those of the seed, while `go_on` says so; yield each new finding.

        A scenario whose first violation an earlier finding's minimal scenario shows as well is that finding again.
        """
        for start in range(0, len(first), _BATCH):
            yield from self._batch(first[start : start + _BATCH])
        while go_on():
            drawn = draw_round(self.space, self.seed, self.round)
            if not drawn:  # there is no operation that could be
                return
            while self.done < len(drawn) and go_on():
                batch = drawn[self.done : self.done + _BATCH]
                yield from self._batch(batch)
                self.done += len(batch)
            if self.done >= len(drawn):
                self.round, self.done = self.round + 1, 0

    def _batch(self, scenarios: Sequence[Scenario]) -> Iterator[Finding]:
        for _, judgement in screen(self.launcher, scenarios, self.faults):
            self._count(judgement)
            if judgement.violations and signature_of(judgement.violations[0]) not in self._known:
                finding = shortest(self.launcher, judgement, self.faults, self.width)
                self._known |= {finding.signature, *finding.also}
                yield finding
                if not finding.whole:
                    raise KeyboardInterrupt

    def _count(self, judgement: Judgement) -> None:
        trace = judgement.trace
        self.judged += 1
        self.operations += len(trace.snapshots)
        if trace.outcome is Outcome.UNSUPPORTED:
            self.unsupported[trace.detail] += 1
