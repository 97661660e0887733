"""What a predicate is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.scenario import Config, Operation
from harness.trace import Buffer, Pool, RequestState, Snapshot, Violation

__all__ = ["Predicate", "View"]


@dataclass(frozen=True)
class View:
    """A snapshot, the one before it (None at first), and what was asked of the engine until now.

    live      requests that hold a seat after this operation.
    earlier   the last state of each request that has not ended, before this operation.
    written   context tokens of each live request whose states the worker was given so far.
    again     requests for which this step wrote no position of their context that an earlier one had not: it may
              have written what was there, where that one verified the same tokens and took them back.
    buckets   those whose graph was replayed at the present draft length, and can be again.
    captured  where a graph was replayed: each buffer's generation when that graph was captured.
    """

    config: Config
    operation: Operation
    now: Snapshot
    before: Snapshot | None
    live: Collection[str] = ()
    written: Mapping[str, int] = field(default_factory=dict)
    captured: Mapping[str, int] = field(default_factory=dict)
    earlier: Mapping[str, RequestState] = field(default_factory=dict)
    buckets: Collection[int] = ()
    again: Collection[str] = ()

    def span(self, pool: Pool) -> range:
        """Return the rows that requests may own: as many as the configuration says, not as the pool does."""
        count = self.config.seats * (self.config.pages_per_seat if pool.unit == "page" else 1)
        return range(pool.first, pool.first + count)

    def findings(self, invariant: str) -> Iterator[Violation]:
        """Yield what probes found in this operation for one invariant."""
        return (finding for finding in self.now.findings if finding.invariant == invariant)

    def pool(self, name: str) -> Pool | None:
        """Return the pool of that name, None if it is not allocated yet."""
        return self._pools.get(name)

    def before_pool(self, name: str) -> Pool | None:
        """Return the pool of that name as it was one operation earlier."""
        return self._earlier_pools.get(name)

    @cached_property
    def changed(self) -> list[tuple[Buffer | None, Buffer]]:
        """The buffers that are not as one operation earlier, each with what it was: None for a new one."""
        earlier = {} if self.before is None else {buffer.name: buffer for buffer in self.before.buffers}
        return [(old, new) for new in self.now.buffers if (old := earlier.get(new.name)) is not new]

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in self.now.pools}

    @cached_property
    def _earlier_pools(self) -> dict[str, Pool]:
        return {} if self.before is None else {pool.name: pool for pool in self.before.pools}

    def broken(
        self,
        invariant: str,
        rule: str,
        message: str,
        *,
        expected: object,
        seen: object,
        buffer: str = "",
        row: int | None = None,
        request: str = "",
    ) -> Violation:
        """Return a violation at this operation; the monitor adds the orders."""
        return Violation(
            invariant, rule, message, self.now.operation, str(expected), str(seen), buffer, row, request
        )


# A pure function of a view. It yields every violation it sees, the most telling first.
Predicate = Callable[[View], Iterator[Violation]]
