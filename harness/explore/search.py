"""The search: rounds of drawn scenarios, each run in a session of its own, and what they break made short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.explore.drawing import ROUND, Space, draw_round
from harness.explore.finding import Finding, shortest
from harness.explore.showing import signature_of
from harness.launch import Launcher
from harness.oracles import Judgement, screen
from harness.scenario import Scenario
from harness.trace import Outcome

__all__ = ["Search"]


@dataclass
class Search:
    """One search through the scenarios of a seed, from some place on. `width` is how many hosts there are.

    judged, operations  what was run, scenarios and operations; unsupported: why scenarios could not be, how often.
    round               the next one to be run.
    """

    launcher: Launcher
    space: Space
    faults: tuple[str, ...] = ()
    seed: int = 0
    width: int = 1
    round: int = 0
    judged: int = field(default=0, init=False)
    operations: int = field(default=0, init=False)
    unsupported: Counter[str] = field(default_factory=Counter, init=False)
    _known: set[str] = field(default_factory=set, init=False)

    def run(self, first: Sequence[Scenario], go_on: Callable[[], bool]) -> Iterator[Finding]:
        """Run the scenarios of `first`, then those of the seed, while `go_on` says so; yield each new finding.

        A scenario whose first violation an earlier finding's minimal scenario shows as well is that finding again.
        """
        for start in range(0, len(first), ROUND):
            yield from self._found_in(first[start : start + ROUND])
        while go_on():
            drawn = draw_round(self.space, self.seed, self.round)
            if not drawn:  # there is no operation that could be
                return
            yield from self._found_in(drawn)
            self.round += 1

    def _found_in(self, scenarios: Sequence[Scenario]) -> Iterator[Finding]:
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
