"""What a predicate is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.scenario import Config, Operation
from harness.trace import Pool, Snapshot, Violation

__all__ = ["Predicate", "View"]


@dataclass(frozen=True)
class View:
    """A snapshot, the one before it (None at first), and what was asked of the engine."""

    config: Config
    operation: Operation
    now: Snapshot
    before: Snapshot | None

    def pool(self, name: str) -> Pool | None:
        """Return the pool of that name, None if it is not allocated yet."""
        return next((pool for pool in self.now.pools if pool.name == name), None)

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
