"""What every target fulfils: `describe`, and sessions that apply operations and show their tensors.

A session shows tensors, not snapshots: digests, identities and probes are the host's, the same for every
target. Where a tensor's rows are is a `Layout`, found by opening the target with other capacities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from harness.protocol import Description
from harness.scenario import Config, Operation
from harness.trace import Event, MetadataField, Pool, RequestState

if TYPE_CHECKING:
    import torch

__all__ = [
    "Capture",
    "GraphTensor",
    "Inspection",
    "OpenOptions",
    "PersistentTensor",
    "Session",
    "Sourced",
    "Target",
    "UnsupportedError",
    "refuse_options",
]


class Capture(Protocol):
    """Makes a forward replayable: on CUDA a graph, on a CPU a tape."""

    def __call__(self, forward: Callable[[], None], *, keep: bool = True) -> Callable[[], None]:
        """Run `forward` once to warm up, capture it, and return what replays it.

        With `keep` False that run leaves no trace on a CPU: for an engine whose own code puts back what a warm-up
        changed, and would not while it is told that it is capturing.
        """


def _nobody_listens(pool: str, row: int) -> None:
    del pool, row


class UnsupportedError(Exception):
    """The target cannot do what a scenario asks. Not a verdict: the scenario is skipped, with this reason."""


@dataclass(frozen=True)
class OpenOptions:
    """How to open a session: where it computes, how graphs are made, which seeded faults are in it.

    `acquired` is told the pool and row of whoever gets one, after the row was reset and before it is written.
    """

    device: str
    capture: Capture
    faults: tuple[str, ...] = ()
    source: str = ""
    acquired: Callable[[str, int], None] = _nobody_listens


@dataclass(frozen=True)
class PersistentTensor:
    """A tensor that outlives an operation. `pool` names the pool that may address it, "" where none does.

    `data` tells content from indices and cursors: a canary may stand only in the former.
    `initial` is what every element of a row holds when somebody gets the row, None where old content may stay.
    The last `guard` rows are nobody's: no forward may read or write them. `index_bits` is the width of the
    integer in which row * stride is computed.
    """

    tensor: torch.Tensor
    pool: str = ""
    data: bool = True
    initial: float | None = None
    guard: int = 0
    index_bits: int = 64


@dataclass(frozen=True)
class GraphTensor:
    """A persistent input of captured graphs, one row a batch row; rows of padding must hold `sentinel`.

    `pool` names the pool whose rows the values are, "" where they are something else.
    """

    tensor: torch.Tensor
    sentinel: int
    pool: str = ""


@dataclass(frozen=True)
class Inspection:
    """A session's state as its own tensors and plain facts. Tensors are references: reading copies nothing.

    `requests` and `events` are those of the last operation; `batch` its rows, `padded` with the padding,
    `graph` the bucket replayed; `reserved`, `consumed` and `fields` as in a snapshot.
    """

    tensors: Mapping[str, PersistentTensor]
    graph_tensors: Mapping[str, GraphTensor]
    pools: tuple[Pool, ...]
    requests: Mapping[str, RequestState]
    metadata: Mapping[str, int]
    batch: tuple[str, ...] = ()
    padded: int = 0
    graph: int | None = None
    events: tuple[Event, ...] = field(default=())
    reserved: Mapping[str, int] = field(default_factory=dict)
    consumed: Mapping[str, int] = field(default_factory=dict)
    fields: tuple[MetadataField, ...] = ()


class Session(Protocol):
    """One opened engine with one worker."""

    def apply(self, operation: Operation) -> None:
        """Do `operation`. Raises `UnsupportedError`, or whatever the worker raises."""

    def inspect(self) -> Inspection:
        """Show the state after the last operation."""

    def close(self) -> None:
        """Give everything back that the session holds."""


@runtime_checkable
class Sourced(Protocol):
    """A target whose code is somewhere else than the harness, and was not imported with it."""

    def describe_source(self, source: str) -> Description:
        """Say what is at `source`. Raises `LaunchError` where nothing can be launched."""

    def preload(self, source: str) -> None:
        """Import what every case would import again. It must start no thread and compute nothing."""


class Target(Protocol):
    """An engine under test."""

    def describe(self) -> Description:
        """Say what the target is and can do, without opening it."""

    def open(self, config: Config, options: OpenOptions) -> Session:
        """Open an engine. Raises `UnsupportedError` for a configuration it does not have."""


def refuse_options(config: Config, description: Description) -> None:
    """Raise `UnsupportedError` if an option is on in `config` that the described target does not have."""
    missing = [name for name in config.options if name not in description.options]
    if missing:
        raise UnsupportedError(f"target {description.name} has no option {missing[0]!r}")
