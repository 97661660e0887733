"""What results say of waivers: per waiver, place and test, how often it passed, failed or was skipped."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.errors import UsageError
from harness.lists.edits.junit import Result, chunks, read_junit
from harness.lists.model import Waiver
from harness.lists.nodeid import normalized, scopes

__all__ = ["Evidence", "Tally", "clean_runs_needed", "gather"]

_RISK = 0.01


def clean_runs_needed(failure_rate: float) -> int:
    """How many runs in a row a test that fails at this rate passes with a chance of at most 1 %.

    44 at 10 %, 90 at 5 %, 459 at 1 %. Raises UsageError for what is no rate between 0 and 1.
    """
    if not 0 < failure_rate < 1:
        raise UsageError(f"--failure-rate {failure_rate}: expected a share between 0 and 1, such as 0.05")
    needed = math.log(_RISK) / math.log1p(-failure_rate)
    return max(1, math.ceil(needed - 1e-9))


@dataclass
class Tally:
    """Runs of the tests of one waiver in one place, by test: passed, failed, skipped."""

    runs: dict[str, list[int]] = field(default_factory=dict)

    def count(self, test: str, outcome: str) -> None:
        """Add one run."""
        self.runs.setdefault(test, [0, 0, 0])[("passed", "failed", "skipped").index(outcome)] += 1

    @property
    def failed(self) -> int:
        """Failed runs of all tests."""
        return sum(failed for _, failed, _ in self.runs.values())

    @property
    def clean(self) -> int:
        """Passed runs of the test that has fewest: a test that was only skipped has none."""
        return min((passed for passed, _, _ in self.runs.values()), default=0)

    def is_clean(self, needed: int) -> bool:
        """Whether every test passed often enough, and none ever failed."""
        return not self.failed and self.clean >= needed


Evidence = dict[int, dict[str, Tally]]
"""For every waiver that results mention, by its index: the stage heads where its tests ran, "" for unknown."""


def gather(waivers: Iterable[Waiver], paths: Iterable[str]) -> Evidence:
    """Read results of JUnit files. A run that two files tell of counts once, and so does a file given twice.

    A waiver with a prefix has evidence only from stages of that head, one with arguments only from the list
    entry of the same text.
    """
    collector = _Collector(waivers)
    seen: set[bytes] = set()
    for path in paths:
        digest = _digest(path)
        if digest not in seen:
            seen.add(digest)
            read_junit(path, collector.take)
    return collector.evidence


def _digest(path: str) -> bytes:
    import hashlib

    digest = hashlib.sha256()
    for chunk in chunks(path):
        digest.update(chunk)
    return digest.digest()


class _Collector:
    def __init__(self, waivers: Iterable[Waiver]) -> None:
        self.evidence: Evidence = defaultdict(lambda: defaultdict(Tally))
        self.seen: set[tuple[str, ...]] = set()
        self.by_target: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for index, waiver in enumerate(waivers):
            names = [normalized(target.text) for target in waiver.targets]
            if waiver.has_arguments:
                names = [" ".join(waiver.test.text.split())]
            for name in names:
                self.by_target[name].append((index, waiver.head))

    def take(self, result: Result) -> None:
        matched: set[int] = set()
        for nodeid in result.ids:
            name = " ".join(nodeid.split())
            for scope in dict.fromkeys([name, *(scope for scope, _ in scopes(nodeid))]):
                for index, head in self.by_target.get(scope, ()):
                    if head in ("", result.head):
                        matched.add(index)
        if not matched or (result.key and result.key in self.seen):
            return
        if result.key:
            self.seen.add(result.key)
        for index in matched:
            self.evidence[index][result.head].count(result.ids[0], result.outcome)
