"""The shortest scenario that still shows a violation.

Delta debugging over operations (ddmin: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input,
IEEE Transactions on Software Engineering 28(2), 2002), then plainer configurations and operands, then pairs of
operations, then steps that longer prompts or drafts stand for, all again until nothing gets lighter.

The result is 1-minimal: take any one operation away, with it what is not legal any more without it, and the
violation is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, islice, pairwise

from harness.explore.shortening import CONFIGURED, absorbed, removed, reworded, weight
from harness.scenario import Scenario

__all__ = ["Minimiser", "Shows"]

# Says of each of some scenarios whether it shows the violation.
Shows = Callable[[Sequence[Scenario]], Sequence[bool]]

_FEW = 14  # operations up to which pairs of them are tried, too: a hundred runs at most


class Minimiser:
    """Makes a scenario that shows a violation lighter; `best` is the lightest one so far that does.

    `width` scenarios are tried at a time, and the first one that shows it is taken, whichever ends first: the
    result does not depend on it. What did not show it is not tried again.
    """

    def __init__(self, scenario: Scenario, shows: Shows, width: int = 1) -> None:
        self.best = scenario
        self._shows = shows
        self._width = width
        self._failed: set[Scenario] = set()

    def run(self) -> Scenario:
        """Go on until nothing gets lighter, and return the result."""
        before = None
        while self.best != before:
            before = self.best
            self._leave_out_parts()
            for respect in CONFIGURED:
                self._exhaust(respect)
            self._reword()
            self._exhaust(_without_two)
            self._exhaust(absorbed)
        return self.best

    def _leave_out_parts(self) -> None:
        """Leave out ever smaller parts, in the end each single operation."""
        parts = 2
        while True:
            count = len(self.best.operations)
            parts = min(parts, count)
            if self._lighter(removed(self.best, part) for part in _split(count, parts)):
                parts = max(parts - 1, 2)
            elif parts < count:
                parts *= 2
            else:
                return

    def _reword(self) -> None:
        index = 0
        while index < len(self.best.operations):
            self._exhaust(partial(reworded, index=index))
            index += 1

    def _exhaust(self, respect: Callable[[Scenario], Iterable[Scenario]]) -> None:
        while self._lighter(respect(self.best)):
            pass

    def _lighter(self, candidates: Iterable[Scenario]) -> bool:
        """Take the first candidate that is lighter and shows the violation; return whether there was one."""
        limit = weight(self.best)
        left = (one for one in candidates if one.operations and one not in self._failed and weight(one) < limit)
        while window := list(dict.fromkeys(islice(left, self._width))):
            shown = [one for one, shows in zip(window, self._shows(window), strict=True) if shows]
            self._failed.update(set(window).difference(shown))
            if shown:
                self.best = shown[0]
                return True
        return False


def _split(count: int, parts: int) -> Iterator[range]:
    """Split `count` indices into parts of nearly one size, the last one first: nothing needs an ending."""
    borders = [count * part // parts for part in range(parts + 1)]
    return (range(low, high) for low, high in reversed(list(pairwise(borders))))


def _without_two(scenario: Scenario) -> Iterator[Scenario]:
    """Leave out two operations that go only together, such as a preemption and its resumption."""
    count = len(scenario.operations)
    pairs = combinations(range(count), 2) if count <= _FEW else ()
    return (removed(scenario, pair) for pair in pairs)
