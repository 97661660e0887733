"""What one run showed: snapshots and events in order, how it ended, and what was found wrong.

Standard library only: hosts write these records, the parent's invariants read them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from harness.scenario import Scenario

__all__ = [
    "Buffer",
    "Event",
    "EventKind",
    "GraphInput",
    "MetadataField",
    "Outcome",
    "Pool",
    "RequestState",
    "Snapshot",
    "Trace",
    "Violation",
]


class Outcome(enum.Enum):
    """How a run ended. `ERROR`: the worker raised in a legal scenario; `CRASH`: a signal or sticky CUDA error."""

    OK = "ok"
    VIOLATION = "violation"
    ERROR = "error"
    CRASH = "crash"
    HANG = "hang"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Buffer:
    """One persistent tensor of a target, as seen after an operation.

    space    whose index addresses its rows: the name of a pool, "batch", "fixed" (no index: weights,
             tables), or "unclassified" when no placing was found.
    rows     how many rows it has, along `row_dim`, a row being `entries` indices of that dimension.
    extra    rows that a healthy target has beyond the pool's capacity: its dummy rows.
    owned    whether a row belongs to one request, so that nobody else may change it; data: whether it is content,
             and no index or cursor; initial: what a row holds when somebody gets it, None where that is open.
    storage  identity of the storage; `generation` counts reallocations seen under the same name.
    digests  a position-weighted sum of each row's bits; empty where rows are not slot-indexed.
    stride   elements from one row to the next; `index_bits`: width of the integer in which the target computes
             row * stride, and `guard` rows of `extra` lie behind all others and are nobody's, the dummy's neither.
    """

    name: str
    space: str
    rows: int
    row_dim: int
    entries: int
    extra: int
    owned: bool
    storage: int
    generation: int
    digests: tuple[int, ...] = ()
    stride: int = 0
    index_bits: int = 64
    guard: int = 0
    data: bool = True
    initial: float | None = None


@dataclass(frozen=True)
class Pool:
    """A slot pool: `capacity` rows that requests may own, and where padding goes.

    dummy   the row of padding and warm-up, None where the engine has no such row (a sentinel then).
    owners  request -> row. `retiring` rows belong to finished requests and are not free yet.
    dummy_position  context tokens that the dummy row is said to hold, None where nobody counts them.
    unit      what a row is: a "seat" (one a request, in `owners`) or a "page" (several a request, in `holdings`,
              in the order of the context); a configuration has `seats`, or `seats * pages_per_seat` of them.
    generations  how often each row was given to somebody, () where the target does not count.
    first     the first row that requests may own: 1 where the engine reserves row 0 for padding.
    """

    name: str
    capacity: int
    dummy: int | None
    owners: dict[str, int]
    free: tuple[int, ...]
    retiring: tuple[int, ...] = ()
    dummy_position: int | None = None
    unit: str = "seat"
    holdings: dict[str, tuple[int, ...]] = field(default_factory=dict)
    generations: tuple[int, ...] = ()
    first: int = 0

    def holders(self) -> dict[str, tuple[int, ...]]:
        """Return the rows of every request that holds any, whatever a row is."""
        return {**{request: (row,) for request, row in self.owners.items()}, **self.holdings}

    def taken(self) -> set[int]:
        """Return the rows that are somebody's, or were and are not free yet."""
        return {row for rows in self.holders().values() for row in rows} | set(self.retiring)


@dataclass(frozen=True)
class GraphInput:
    """A persistent input of captured graphs: the rows past the live ones, up to the batch's padded size.

    tail      the values of rows live..padded, flattened; sentinel: what each of them has to be.
    live      the values of the live rows, flattened; pool: whose rows the values name, "" for none.
    bits      width of its integers.
    """

    name: str
    sentinel: int
    pool: str
    live: tuple[int, ...]
    tail: tuple[int, ...]
    bits: int = 64


@dataclass(frozen=True)
class MetadataField:
    """A field of the metadata that a forward is told, in the owner's object and in the copy of its graph.

    sort   what a copy does with it: "shared" (equals the owner's), "owned" (the copy has its own), "rebuilt"
           (computed anew for every forward, equal in both), "per-request" (rebuilt, one value a row of `batch`).
    owner  its value or values as text; copy: the same in the replayed graph's copy, None for an eager forward.
    """

    name: str
    sort: str
    owner: tuple[str, ...]
    copy: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RequestState:
    """A request after a step that it was part of.

    position  tokens committed to its context; the newest one, its anchor, is not consumed yet.
    emitted   tokens that this operation added, `accepted` of them having been drafted.
    drafts    the proposal for the next step; `confidence` its chance of acceptance, where a worker says.
    context_lost  the target declared that the drafter no longer has the whole context (a request absent from a
              batch, where that costs it its slot): drafts need not be those of the request alone any more.
    context   the worker's own count of the request's context tokens; visible: how many of them its next draft
              attends to. None where the worker does not say, or did not meet the request yet.
    verified  how many drafts this operation verified, None where all that the step has room for.
    generation  generation of the seat for which this operation's drafts were made: the owner's, or they are
              somebody else's. None where the target does not count.
    state     a digest of the recurrent state at `position`: a function of the committed tokens alone.
    """

    position: int
    emitted: tuple[int, ...]
    accepted: int
    drafts: tuple[int, ...]
    confidence: tuple[float, ...] = ()
    context_lost: bool = False
    context: int | None = None
    visible: int | None = None
    verified: int | None = None
    generation: int | None = None
    state: int | None = None


class EventKind(enum.Enum):
    """What a pool or a worker did beside computing."""

    ACQUIRE = "acquire"
    RELEASE = "release"
    REFUSE = "refuse"
    WARN = "warn"
    RESERVE = "reserve"


@dataclass(frozen=True)
class Event:
    """Something that happened during an operation: which pool, whose row, or what was said."""

    kind: EventKind
    pool: str = ""
    request: str = ""
    row: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Violation:
    """One broken invariant, with what a person needs to look at it.

    `rule` names the part of the invariant that broke; `orders` are the capture and use orders so far.
    """

    invariant: str
    rule: str
    message: str
    operation: int
    expected: str
    seen: str
    buffer: str = ""
    row: int | None = None
    request: str = ""
    orders: str = ""

    @property
    def signature(self) -> str:
        """What makes two violations the same finding, whatever the order or operation that showed them."""
        return ":".join(part for part in (self.invariant, self.rule, self.buffer) if part)


@dataclass(frozen=True)
class Snapshot:
    """What a target shows after an operation.

    batch     the requests of this operation's forward, in row order; padded: its rows, padding included.
    graph     the bucket whose graph was replayed, None where the forward was eager or there was none.
    findings  what host-side probes found broken during this operation.
    reserved  "tokens", "rows" and, where there are pages, "pages" that the scheduler set aside for this forward;
              consumed: what the forward then used of each, padding included. Empty where none ran.
    fields    what the last step was told, field by field.
    """

    operation: int
    buffers: tuple[Buffer, ...]
    pools: tuple[Pool, ...]
    graph_inputs: tuple[GraphInput, ...]
    requests: dict[str, RequestState]
    metadata: dict[str, int]
    batch: tuple[str, ...] = ()
    padded: int = 0
    graph: int | None = None
    events: tuple[Event, ...] = ()
    findings: tuple[Violation, ...] = ()
    reserved: dict[str, int] = field(default_factory=dict)
    consumed: dict[str, int] = field(default_factory=dict)
    fields: tuple[MetadataField, ...] = ()


@dataclass
class Trace:
    """A whole run. `at` is the index of the operation in which it ended other than OK; `detail` says why.

    left  what an operation that raised left behind: pools, events and the sizes of buffers, without contents.
    """

    scenario: Scenario
    target: str
    device: str
    snapshots: list[Snapshot] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    at: int | None = None
    detail: str = ""
    log: str = ""
    violations: list[Violation] = field(default_factory=list)
    left: Snapshot | None = None

    def where(self) -> str:
        """Return the operation in which the run ended, as text."""
        if self.at is None:
            return "the end"
        if self.at >= len(self.scenario.operations):
            return "closing"
        return f"operation {self.at}, {self.scenario.operations[self.at]}" if self.at >= 0 else "opening"
