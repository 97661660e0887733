"""A waiver file counted: every waiver with its age, groups of them, and the trend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import median_low

from harness.errors import Place
from harness.lists.lines import parse_waiver
from harness.lists.model import Waiver
from harness.lists.source import Source, readable
from harness.lists.stats.history import Origin, Version
from harness.lists.text import WaiverFile
from harness.lists.waives import parse_waives

__all__ = ["Aged", "Group", "Stats", "gather"]

EVERYWHERE, NOBODY, NO_BUG = "everywhere", "nobody", "no bug"


@dataclass(frozen=True)
class Aged:
    """A waiver and where it comes from. `gpu` is the stage-name head it is limited to; `since` None: unknown.

    state  "expired", "expiring" (within the days that were asked for), "dated" or "undated".
    """

    place: str
    test: str
    gpu: str
    bug: str
    owner: str
    markers: tuple[str, ...]
    until: date | None
    since: date | None
    author: str
    commit: str
    age: int | None
    state: str


@dataclass(frozen=True)
class Group:
    """Waivers with the same bug, GPU or owner: how many, how old the oldest is in days, how many are expired."""

    name: str
    waivers: int
    oldest: int | None
    expired: int


@dataclass(frozen=True)
class Stats:
    """All there is to say of a waiver file. `trend` is (day, commit, number of waivers), oldest first."""

    file: str
    today: date
    soon: int
    waivers: tuple[Aged, ...]
    trend: tuple[tuple[date, str, int], ...] = ()
    problems: int = 0
    groups: Mapping[str, tuple[Group, ...]] = field(default_factory=dict)

    def having(self, state: str) -> list[Aged]:
        """Return the waivers in a state, the one that ends or ended first in front."""
        found = [waiver for waiver in self.waivers if waiver.state == state]
        return sorted(found, key=lambda waiver: (waiver.until or date.max, waiver.place))

    @property
    def ages(self) -> list[int]:
        """Return the known ages in days, ascending."""
        return sorted(waiver.age for waiver in self.waivers if waiver.age is not None)

    @property
    def median_age(self) -> int | None:
        """Return the age that half of the waivers have reached."""
        return median_low(self.ages) if self.ages else None


def gather(
    file: WaiverFile, origins: Mapping[int, Origin], versions: Sequence[Version], today: date, soon: int
) -> Stats:
    """Return the statistics of `file`; a waiver that ends within `soon` days is expiring."""
    waivers = tuple(_aged(waiver, _oldest(waiver, origins), today, soon) for waiver in file.waivers)
    groups = {
        "bug": _groups(waivers, lambda waiver: waiver.bug or NO_BUG),
        "gpu": _groups(waivers, lambda waiver: waiver.gpu or EVERYWHERE),
        "owner": _groups(waivers, lambda waiver: waiver.owner or NOBODY),
    }
    count = _Counter(file.file)
    trend = tuple((version.day, version.commit, count(version.data)) for version in versions)
    return Stats(file.file, today, soon, waivers, trend, len(file.problems), groups)


def _oldest(waiver: Waiver, origins: Mapping[int, Origin]) -> Origin | None:
    """Return the oldest origin of a waiver's lines: adding a field to it in YAML does not make it young."""
    lines = [origins[line] for line in range(waiver.place.line, waiver.last_line + 1) if line in origins]
    dated = [origin for origin in lines if origin.day is not None]
    return min(dated, key=lambda origin: origin.day or date.max, default=lines[0] if lines else None)


def _aged(waiver: Waiver, origin: Origin | None, today: date, soon: int) -> Aged:
    since = origin.day if origin else None
    return Aged(
        f"{waiver.place.file}:{waiver.place.line}", waiver.test.text, waiver.head, waiver.reason.bug,
        waiver.reason.owner, tuple(marker.name for marker in waiver.markers), waiver.reason.until, since,
        readable(origin.author) if origin else "", origin.commit if origin else "",
        max(0, (today - since).days) if since else None, _state(waiver.reason.until, today, soon),
    )  # fmt: skip


def _state(until: date | None, today: date, soon: int) -> str:
    if until is None:
        return "undated"
    if until < today:
        return "expired"
    return "expiring" if until <= today + timedelta(days=soon) else "dated"


def _groups(waivers: Iterable[Aged], key: Callable[[Aged], str]) -> tuple[Group, ...]:
    found: dict[str, list[Aged]] = {}
    for waiver in waivers:
        found.setdefault(key(waiver), []).append(waiver)
    groups = [
        Group(
            name, len(members), max((m.age for m in members if m.age is not None), default=None),
            sum(member.state == "expired" for member in members),
        )
        for name, members in found.items()
    ]  # fmt: skip
    return tuple(sorted(groups, key=lambda group: (-group.waivers, group.name)))


class _Counter:
    """Counts the waivers of old versions. Most lines are in most of them, so each line is parsed once."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: dict[bytes, bool] = {}

    def __call__(self, data: bytes) -> int:
        if self._file.endswith((".yml", ".yaml")):
            return len(parse_waives(Source.of(data, self._file)).waivers)
        return sum(self._is_waiver(line) for line in data.splitlines())

    def _is_waiver(self, line: bytes) -> bool:
        known = self._lines.get(line)
        if known is None:
            text = readable(line.decode("utf-8", "surrogateescape"))
            known = self._lines[line] = parse_waiver(text, Place(self._file, 1, 1))[0] is not None
        return known
