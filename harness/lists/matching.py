"""Which entries select which test ids, and which waiver applies to a test. Look-ups, never a scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.lists.model import Entry, Line, Waiver
from harness.lists.nodeid import Level, normalized, scopes

__all__ = ["Applied", "Selected", "WaiverIndex", "coverage", "match_entries", "stage_head"]


@dataclass(frozen=True, slots=True)
class Selected:
    """The ids an entry names, in the order in which they were given; empty when it names nothing.

    `entry.keyword` and `entry.markexpr` are still to be applied, by pytest.
    """

    entry: Entry
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """A waiver that applies to a test, and how widely it names it."""

    waiver: Waiver
    level: Level


def stage_head(stage: str) -> str:
    """What `full:<head>/` is compared with: `H100_PCIe` for `H100_PCIe-PyTorch-1`, "" without a stage."""
    return stage.partition("-")[0]


def match_entries(entries: Iterable[Entry], ids: Iterable[str]) -> tuple[Selected, ...]:
    """For every entry, in order, the ids that its targets name: as id, function, class, file or folder.

    An id that two targets of one entry name is there once.
    """
    holding: defaultdict[str, list[str]] = defaultdict(list)
    for nodeid in dict.fromkeys(ids):
        for scope, _ in scopes(nodeid):
            holding[scope].append(nodeid)

    selected = []
    for entry in entries:
        named = (nodeid for target in entry.targets for nodeid in holding.get(normalized(target.text), ()))
        selected.append(Selected(entry, tuple(dict.fromkeys(named))))
    return tuple(selected)


def coverage(line: Line, nodeid: str) -> Level | None:
    """How the targets of a line name this id; None when they do not. Arguments are not looked at."""
    named = {normalized(target.text) for target in line.targets}
    return next((level for scope, level in scopes(nodeid) if scope in named), None)


class WaiverIndex:
    """The waivers that can reach one stage, by the text of their targets.

    A line with a prefix reaches a stage whose head is exactly that prefix, and no run without stage.
    A line with arguments (`-k`, `-m`, options) names the list entry of exactly that text, not its tests.
    """

    def __init__(self, waivers: Iterable[Waiver], stage: str = "") -> None:
        self.head = stage_head(stage)
        self._by_target: defaultdict[str, list[Waiver]] = defaultdict(list)
        self._by_entry: defaultdict[str, list[Waiver]] = defaultdict(list)
        for waiver in waivers:
            if waiver.head and waiver.head != self.head:
                continue
            if waiver.has_arguments:
                self._by_entry[_entry_key(waiver)].append(waiver)
            else:
                for target in waiver.targets:
                    self._by_target[normalized(target.text)].append(waiver)

    def applicable(self, nodeid: str, entries: Sequence[Entry] = ()) -> tuple[Applied, ...]:
        """Every waiver that applies, the one that decides first.

        The narrower level decides; within a level the line with a prefix, then the later line. `entries` are
        the list entries through which the test runs; only they make a line with arguments apply.
        """
        found = [
            (level, depth, not waiver.head, -waiver.place.line, waiver)
            for depth, (scope, level) in enumerate(scopes(nodeid))
            for waiver in self._by_target.get(scope, ())
        ]
        for entry in entries if self._by_entry else ():
            if entry.has_arguments:
                waivers = self._by_entry.get(_entry_key(entry), ())
                found += [(Level.ENTRY, 0, not waiver.head, -waiver.place.line, waiver) for waiver in waivers]
        found.sort(key=lambda item: item[:4])
        return tuple(Applied(waiver, level) for level, *_, waiver in found)

    def find(self, nodeid: str, entries: Sequence[Entry] = ()) -> Applied | None:
        """The waiver that decides, None when there is none."""
        return next(iter(self.applicable(nodeid, entries)), None)


def _entry_key(line: Line) -> str:
    """The text of an entry without regard to the number of blanks."""
    return " ".join(line.test.text.split())
