"""Why a waiver applies to a test or not, in sentences, and where upstream would decide otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.lists.matching import WaiverIndex, coverage, stage_head
from harness.lists.model import Entry, Waiver
from harness.lists.nodeid import Level, NodeId, normalized
from harness.lists.text import WaiverFile
from harness.lists.upstream import UpstreamHit, prefixed, read_upstream, reading_differences, upstream_hits

__all__ = ["WaiverVerdict", "explain_waivers"]


@dataclass(frozen=True, slots=True)
class WaiverVerdict:
    """A waiver that mentions a test. `level` is None when it does not apply, and `why` says the reason.

    `decides` is true for the one whose markers count. `upstream` are sentences on where upstream differs.
    """

    waiver: Waiver
    level: Level | None
    decides: bool
    why: str
    upstream: tuple[str, ...]


def explain_waivers(
    file: WaiverFile, test: str, stage: str = "", entries: Sequence[Entry] = ()
) -> tuple[WaiverVerdict, ...]:
    """Every waiver that mentions a test, first those that apply, the one that decides in front.

    `test` may be less than an id: a function, class, file or folder. `entries` are the list entries through
    which the test runs, if they are known.
    """
    applied = WaiverIndex(file.waivers, stage).applicable(test, entries)
    hits = {id(hit.waiver): hit for hit in reversed(upstream_hits(file.waivers, test, stage))}
    verdicts = []
    for rank, found in enumerate(applied):
        why = f"applies too, but {applied[0].waiver.place} decides" if rank else f"applies to the {found.level}"
        upstream = _upstream(file, found.waiver, stage, hits, found.level)
        verdicts.append(WaiverVerdict(found.waiver, found.level, rank == 0, why, upstream))
    seen = {id(found.waiver) for found in applied}
    for waiver in file.waivers:
        reason = "" if id(waiver) in seen else _why_not(waiver, test, stage)
        if reason:
            upstream = _upstream(file, waiver, stage, hits, None)
            verdicts.append(WaiverVerdict(waiver, None, False, reason, upstream))
    return tuple(verdicts)


def _why_not(waiver: Waiver, test: str, stage: str) -> str:
    """Why a waiver that mentions the test does not apply; "" when it does not mention it."""
    covers, part = coverage(waiver, test) is not None, _named_part(waiver, test)
    if not covers and not part:
        return ""
    head = stage_head(stage)
    if waiver.head and not stage:
        return f"full:{waiver.head}/ reaches only stages with the head {waiver.head}, and no stage is given"
    if waiver.head and waiver.head != head:
        return f"full:{waiver.head}/ does not reach stage {stage}, whose head is {head}"
    return "names the list entry of exactly this text, not the tests in it" if covers else part


def _named_part(waiver: Waiver, test: str) -> str:
    """What of a test's surroundings a waiver names that is not the test itself; "" for nothing."""
    wanted = NodeId.of(test)
    for target in waiver.targets:
        named = NodeId.of(normalized(target.text))
        if named[:2] == wanted[:2] and named.parameters is not None:
            other = "other parameters" if wanted.parameters is not None else "one of its parameters"
            return f"names {other}: [{named.parameters}]"
        if _inside(normalized(target.text), normalized(test)):
            return "names only a part of it"
    return ""


def _inside(inner: str, outer: str) -> bool:
    return inner.startswith((f"{outer}::", f"{outer}/"))


def _upstream(
    file: WaiverFile, waiver: Waiver, stage: str, hits: dict[int, UpstreamHit], level: Level | None
) -> tuple[str, ...]:
    return (
        *reading_differences(waiver),
        *_prefix_differences(waiver, stage),
        *_outcome(file, waiver, hits, level),
    )


def _prefix_differences(waiver: Waiver, stage: str) -> Iterator[str]:
    if not waiver.prefix or not stage:
        return
    name = f"full:{waiver.prefix}/{waiver.test}"
    becomes = prefixed(name, stage)
    if waiver.head == stage_head(stage):
        if becomes != f"{stage}/{waiver.test}":
            yield f"upstream makes '{becomes}' of it, which is the name of no test"
    elif stage_head(stage) in name.lstrip("full:"):  # noqa: B005  upstream's rule
        yield f"upstream replaces '{stage_head(stage)}' inside it and makes '{becomes}'"


def _outcome(file: WaiverFile, waiver: Waiver, hits: dict[int, UpstreamHit], level: Level | None) -> Iterator[str]:
    hit = hits.get(id(waiver))
    reading = read_upstream(waiver.text)
    name = reading.name if reading else ""
    same = [other.place for other in file.waivers if (r := read_upstream(other.text)) and r.name == name]
    if same and same[-1] != waiver.place:
        yield f"upstream silently takes the last line of this name, {same[-1]}"
    if hit and level is None:
        yield f"upstream applies it in the {hit.session} session, to the {hit.level}"
    elif hit is None and level is not None and same[-1:] == [waiver.place]:
        yield f"upstream does not apply it: {_upstream_limit(level)}"
    if waiver.marker("XFAIL"):
        yield "upstream takes XFAIL loosely: an unexpected pass is no failure there"
    if reading and reading.marker == "TIMEOUT":
        yield "upstream ignores a TIMEOUT in a waiver file"


def _upstream_limit(level: Level) -> str:
    if level is Level.FOLDER:
        return "no session of it matches a folder"
    return "its outer session compares whole ids only, and its inner one has unittest/ alone"
