"""The messages between parent and host: one JSON object a line, on a private descriptor.

parent -> host   a `Request`; in lockstep, after each snapshot, `{"go": true}` or `{"go": false}` (stop).
host -> parent   `{"pid": ...}` of the process that runs the case, `{"opened": true}`, a `{"snapshot": ...}` (what
                 changed since the last one) after each operation, `{"end": ...}`, and `{"exit": status}` once
                 the host can take the next request.
Everything is plain data: nothing is evaluated, nothing unpickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.scenario import Scenario
from harness.trace import Outcome, Snapshot

__all__ = ["Description", "End", "FaultOrigin", "Layout", "Reply", "Request", "changes", "with_changes"]

# Fields of a snapshot that are lists of named records, most of which no operation touches.
_NAMED = ("buffers", "pools", "graph_inputs", "fields")


@dataclass(frozen=True)
class Layout:
    """Where a tensor's rows are, found by opening the target with other capacities.

    moves_with  "slot" (grows with num_seq_slots), "batch" (with max_num_requests), "fixed" (with neither),
                "unclassified" (with both, or unevenly), or "transient" (made anew by every eager forward).
    row_dim     the dimension that grows; entries: by how much a row; extra: rows beyond the capacity.
    """

    moves_with: str
    row_dim: int = 0
    entries: int = 1
    extra: int = 0


@dataclass(frozen=True)
class Request:
    """What a host is to do: `kind` is "describe", "layout" or "run".

    lockstep  wait for the parent's word after each snapshot.
    probes    let host-side probes write canaries and poison.
    """

    kind: str
    target: str
    device: str = "cpu"
    source: str = ""
    faults: tuple[str, ...] = ()
    scenario: Scenario | None = None
    layout: dict[str, Layout] = field(default_factory=dict)
    lockstep: bool = True
    probes: bool = True


@dataclass(frozen=True)
class FaultOrigin:
    """Where a seeded fault comes from: the kind of bug, K01 to K16, and the public bug it is modelled on or ""."""

    kind: str
    modelled_on: str


@dataclass(frozen=True)
class Description:
    """What a target is and can do, as `harness targets` and every report show it.

    version     a version or a commit.
    operations  names of the operations it can do; faults: seeded defects it knows, with their meaning.
    dummy       where its padding goes, in words; releases: when a slot is given back.
    keeps_absent  whether a live request that is absent from a batch keeps its slot.
    own, stand_ins  which code is the engine's own, and what was put in the place of something else.
    origins     where its faults come from: of what kind, and after which public bug.
    options     names of the options of a configuration that it can be opened with.
    """

    name: str
    version: str
    devices: tuple[str, ...]
    workers: tuple[str, ...]
    operations: tuple[str, ...]
    faults: dict[str, str]
    dummy: str
    releases: str
    keeps_absent: bool
    own: tuple[str, ...]
    stand_ins: tuple[str, ...]
    options: tuple[str, ...] = ()
    origins: dict[str, FaultOrigin] = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """How a case ended. `at` is the operation's index, -1 while opening, None at the end or before any of it.

    `device` is the hardware's name.

    `stuck` says that the process can serve no further case (a sticky CUDA error); `traceback` is that of
    what was raised; `last` what the operation that raised left behind, half done and without contents.
    """

    outcome: Outcome
    at: int | None = None
    detail: str = ""
    device: str = ""
    stuck: bool = False
    traceback: str = ""
    last: Snapshot | None = None


@dataclass(frozen=True)
class Reply:
    """One line from a host; exactly one field is set."""

    pid: int | None = None
    opened: bool | None = None
    snapshot: Snapshot | None = None
    end: End | None = None
    exit: int | None = None
    layout: dict[str, Layout] | None = None
    description: Description | None = None


def changes(before: Snapshot | None, now: Snapshot) -> Snapshot:
    """Return `now` without the named records that are as they were: what travels."""
    if before is None:
        return now
    kept: dict[str, Any] = {}
    for field_name in _NAMED:
        earlier, items = getattr(before, field_name), getattr(now, field_name)
        if not _same_names(earlier, items):
            known = {item.name: item for item in earlier}
            earlier = [known.get(item.name) for item in items]
        kept[field_name] = tuple(
            item for old, item in zip(earlier, items, strict=True) if old is not item and old != item
        )
    return replace(now, **kept)


def _same_names(earlier: Sequence[Any], items: Sequence[Any]) -> bool:
    """Whether the records are those of before, in their order: after nearly every operation."""
    return len(earlier) == len(items) and all(
        old is item or old.name == item.name for old, item in zip(earlier, items, strict=True)
    )


def with_changes(before: Snapshot | None, received: Snapshot) -> Snapshot:
    """Return the whole snapshot from the one before it and what `changes` left of it."""
    if before is None:
        return received
    whole: dict[str, Any] = {}
    for field_name in _NAMED:
        changed = getattr(received, field_name)
        if not changed:
            whole[field_name] = getattr(before, field_name)
            continue
        items = {item.name: item for item in getattr(before, field_name)}
        items.update((item.name, item) for item in changed)
        whole[field_name] = tuple(items.values())
    return replace(received, **whole)
