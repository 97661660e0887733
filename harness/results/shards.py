"""Which shard runs which test: a pure function of the tests, one durations file and the number of shards.

Longest first onto the shard that has least (Graham, Bounds on Multiprocessing Timing Anomalies, 1969), then moves
and exchanges out of the longest shard, then a search. The aim is a longest shard of at most
`max(longest test, 1.05 x mean)`. It is reached

- always when no test is longer than 5 % of the mean shard: longest first then cannot miss it;
- wherever any assignment reaches it, for up to ten tests: the search is then exhaustive;
- elsewhere as well as exchanges and a search of bounded length find it, never worse than longest first.

Times are whole microseconds, so that no order of additions matters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from heapq import heapreplace
from statistics import median

from harness.errors import UsageError

__all__ = ["parse_shard", "plan_shards", "target_of"]

# A search for ten tests takes fewer: two steps for each partition of their prefixes, 147,493 in all.
_SEARCH_STEPS = 300_000
_NOTHING = -1  # in place of a test: one side gives, the other only takes
_UNKNOWN = 1.0  # seconds of every test when no duration is known: all weigh the same


def parse_shard(text: str) -> tuple[int, int]:
    """Read "I/N", I from 1 to N. Raises `UsageError`."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text, re.ASCII)
    index, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= index <= count:
        raise UsageError(f"--shard {text}: expected I/N with I from 1 to N, such as 2/4")
    return index, count


def plan_shards(tests: Sequence[str], durations: Mapping[str, float], count: int) -> list[list[str]]:
    """Return `count` lists of tests, each in the order of `tests`: every test in exactly one of them.

    durations   seconds by test. A test that has none counts as the median of all that are given.
    No shard is empty while there are as many tests as shards.
    """
    unknown = median(durations.values()) if durations else _UNKNOWN
    weights = [max(0, round(1e6 * durations.get(test, unknown))) for test in tests]
    shards = _longest_first(weights, count)
    target = target_of(weights, count)
    _exchange(shards, weights, target)
    if _longest(shards, weights) > target and (found := _search(weights, count, target)):
        shards = found
        _fill_empty(shards)
    return [[tests[i] for i in sorted(shard)] for shard in shards]


def target_of(weights: Sequence[int], count: int) -> int:
    """The length that no shard should exceed: `max(longest test, 1.05 x mean)`, in the unit of the weights."""
    return max(max(weights, default=0), sum(weights) * 105 // (100 * count))


def _longest(shards: Sequence[Sequence[int]], weights: Sequence[int]) -> int:
    return max(sum(weights[i] for i in shard) for shard in shards)


def _decreasing(weights: Sequence[int]) -> list[int]:
    return sorted(range(len(weights)), key=lambda i: (-weights[i], i))


def _longest_first(weights: Sequence[int], count: int) -> list[list[int]]:
    shards: list[list[int]] = [[] for _ in range(count)]
    # Fewer tests before a lower number: tests that take no time fill empty shards first.
    heap = [(0, 0, number) for number in range(count)]
    for i in _decreasing(weights):
        load, tests, number = heap[0]
        shards[number].append(i)
        heapreplace(heap, (load + weights[i], tests + 1, number))
    return shards


def _exchange(shards: list[list[int]], weights: Sequence[int], target: int) -> None:
    """Move or exchange tests out of the longest shard while that shortens it and it is over the target.

    The longer of the two shards becomes strictly shorter each time, so it ends.
    """
    loads = [sum(weights[i] for i in shard) for shard in shards]
    while max(loads, default=0) > target:
        longest = loads.index(max(loads))
        found = _best_exchange(shards, loads, weights, longest)
        if found is None:
            return
        other, mine, theirs = found
        shards[longest].remove(mine)
        shards[other].append(mine)
        if theirs != _NOTHING:
            shards[other].remove(theirs)
            shards[longest].append(theirs)
        for number in (longest, other):
            loads[number] = sum(weights[i] for i in shards[number])


def _best_exchange(
    shards: Sequence[Sequence[int]], loads: Sequence[int], weights: Sequence[int], longest: int
) -> tuple[int, int, int] | None:
    """What shortens the longer of the longest and another shard most: (other, mine, theirs); None for nothing."""
    best: tuple[int, int, int, int] | None = None
    for other, load in enumerate(loads):
        gap = loads[longest] - load
        ladder = sorted([(0, _NOTHING), *((weights[i], i) for i in shards[other])])
        for mine in shards[longest] if gap else ():
            # Half the gap should change sides: look at both neighbours of what would do that exactly.
            at = bisect_left(ladder, (weights[mine] - gap / 2, _NOTHING))
            for weight, theirs in ladder[max(0, at - 1) : at + 1]:
                given = weights[mine] - weight
                after = max(loads[longest] - given, load + given)
                if after < loads[longest] and (best is None or (after, other, mine, theirs) < best):
                    best = (after, other, mine, theirs)
    return best[1:] if best else None


def _search(weights: Sequence[int], count: int, target: int) -> list[list[int]] | None:
    """Find an assignment within the target; None when there is none or it takes too long."""
    order = _decreasing(weights)
    loads = [0] * count
    chosen = [0] * len(order)
    steps = 0
    depth = 0
    tries = [iter(_places(loads, weights[order[0]], target))] if order else []
    while 0 <= depth < len(order):
        steps += 1
        if steps > _SEARCH_STEPS:
            return None
        place = next(tries[depth], None)
        if place is None:
            tries.pop()
            depth -= 1
            if depth >= 0:
                loads[chosen[depth]] -= weights[order[depth]]
            continue
        chosen[depth] = place
        loads[place] += weights[order[depth]]
        depth += 1
        if depth < len(order):
            tries.append(iter(_places(loads, weights[order[depth]], target)))
    if depth < 0:
        return None
    shards: list[list[int]] = [[] for _ in range(count)]
    for i, place in zip(order, chosen, strict=True):
        shards[place].append(i)
    return shards


def _places(loads: Sequence[int], weight: int, target: int) -> list[int]:
    """Where a test still fits, the fullest first; of shards that have the same, one stands for all."""
    places = {load: number for number, load in reversed(list(enumerate(loads))) if load + weight <= target}
    return [places[load] for load in sorted(places, reverse=True)]


def _fill_empty(shards: list[list[int]]) -> None:
    """Give every empty shard one test of a shard that has several: no shard becomes longer than the longest.

    Longest first leaves none empty; a search may, since it only looks at lengths.
    """
    for shard in shards:
        if not shard:
            donor = max(shards, key=len)
            if len(donor) > 1:
                shard.append(donor.pop())
