"""A whole target: a make-believe engine with one slot pool, for docs/adding-a-target.md.

A request's next token follows from its name and its position. Its slot keeps the sum of its tokens, and its drafts
are read from there: a slot that is lost, shared or stale drafts something else than the request does alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import torch

from harness.protocol import Description
from harness.scenario import Admit, Capture, Config, Finish, Operation, Step, Warmup
from harness.targets.base import (
    GraphTensor,
    Inspection,
    OpenOptions,
    PersistentTensor,
    UnsupportedError,
    refuse_options,
)
from harness.trace import Pool, RequestState

PINNED = "pinned-by-bucket"  # the seeded fault: the pool has the size of whatever drafts first


class TinyTarget:
    """What the harness opens. A host makes one object of it, and a session for every case."""

    def describe(self) -> Description:
        """Say what this is; what is not named here is reported as unsupported, never as a pass."""
        return Description(
            name="tiny",
            version="1",
            devices=("cpu",),
            workers=("dflash",),
            operations=("capture", "warmup", "admit", "step", "finish"),
            faults={PINNED: "the pool is sized by what drafts first"},
            dummy="a row behind the pool: row num_seq_slots",
            releases="at finish",
            keeps_absent=True,
            own=("slot pool",),
            stand_ins=("models",),
        )

    def open(self, config: Config, options: OpenOptions) -> TinySession:
        """Open an engine; nothing may be shared with another session."""
        refuse_options(config, self.describe())
        if config.worker != "dflash":
            raise UnsupportedError("target tiny has no worker dspark")
        return TinySession(config, options)


class TinySession:
    """One opened engine. Everything that outlives an operation is a tensor that `inspect` shows."""

    def __init__(self, config: Config, options: OpenOptions) -> None:
        self._config, self._options = config, options
        rows = max(config.seats, config.max_num_requests)
        self._slots, self._tokens = (torch.zeros(rows, dtype=torch.int64) for _ in range(2))  # of a batch's rows
        self._drafts = torch.zeros(rows, config.draft_len, dtype=torch.int64)
        self._sums: torch.Tensor | None = None  # the slots' content, allocated by the first draft
        self._capacity = 0
        self._owners: dict[str, int] = {}
        self._positions: dict[str, int] = {}
        self._graphs: dict[int, Callable[[], None]] = {}
        self._last: tuple[tuple[str, ...], int, int | None] = ((), 0, None)
        self._requests: dict[str, RequestState] = {}

    def apply(self, operation: Operation) -> None:
        """Do one operation; what is raised here ends the case as an error of the engine."""
        self._requests, self._last = {}, ((), 0, None)
        if isinstance(operation, Capture):
            self._capture(operation.bucket)
        elif isinstance(operation, Warmup):
            self._allocate(operation.bucket or self._config.max_num_requests)
            self._forward(operation.bucket or 1)
        elif isinstance(operation, Admit):
            self._admit(operation.request, operation.prompt_len)
        elif isinstance(operation, Step):
            self._step(operation.requests or tuple(self._owners), operation.graph)
        elif isinstance(operation, Finish):
            del self._owners[operation.request], self._positions[operation.request]
        else:
            raise UnsupportedError(f"target tiny has no operation {operation.name!r}")

    def inspect(self) -> Inspection:
        """Show references to the tensors and plain facts; copies and digests are the harness's work."""
        batch, padded, graph = self._last
        tensors = {"worker.drafts": PersistentTensor(self._drafts)}
        pools: tuple[Pool, ...] = ()
        if self._sums is not None:
            tensors["worker.sums"] = PersistentTensor(self._sums, "slots")
            pools = (Pool("slots", self._capacity, self._capacity, dict(self._owners), self._free()),)
        inputs = {"worker.slots": GraphTensor(self._slots, self._capacity, "slots")}
        told = {"max_num_requests": self._config.max_num_requests, "num_seq_slots": self._config.num_seq_slots}
        return Inspection(tensors, inputs if pools else {}, pools, self._requests, told, batch, padded, graph)

    def close(self) -> None:
        """Nothing is held outside of this object."""

    def _allocate(self, told: int) -> None:
        """Make the pool; `told` is how many requests the forward that comes first may have."""
        if self._sums is None:
            self._capacity = told if PINNED in self._options.faults else self._config.seats
            self._sums = torch.zeros(self._capacity + 1, dtype=torch.float64)

    def _free(self) -> tuple[int, ...]:
        return tuple(row for row in range(self._capacity) if row not in self._owners.values())

    def _capture(self, bucket: int) -> None:
        self._allocate(bucket)
        self._slots[:bucket], self._tokens[:bucket] = self._capacity, 0
        self._graphs[bucket] = self._options.capture(lambda: self._forward(bucket))

    def _admit(self, request: str, prompt_len: int) -> None:
        self._allocate(self._config.max_num_requests)
        assert self._sums is not None
        if not self._free():
            raise RuntimeError("no free slot")
        self._owners[request], self._positions[request] = self._free()[0], prompt_len
        self._sums[self._owners[request]] = sum(_token(request, position) for position in range(prompt_len))

    def _step(self, batch: tuple[str, ...], graph: bool | None) -> None:
        fitting = [bucket for bucket in sorted(self._graphs) if bucket >= len(batch) and graph is not False]
        rows = fitting[0] if fitting else len(batch)
        emitted = {name: _token(name, self._positions[name]) for name in batch}
        padding = rows - len(batch)
        self._slots[:rows] = torch.tensor([self._owners[name] for name in batch] + [self._capacity] * padding)
        self._tokens[:rows] = torch.tensor([*emitted.values(), *[0] * padding])
        (self._graphs[rows] if fitting else lambda: self._forward(rows))()
        for row, name in enumerate(batch):
            self._positions[name] += 1
            drafts = tuple(self._drafts[row].tolist())
            self._requests[name] = RequestState(self._positions[name], (emitted[name],), 0, drafts)
        self._last = batch, rows, rows if fitting else None

    def _forward(self, rows: int) -> None:
        """Draft for the first `rows` rows of the batch: all that a graph holds."""
        assert self._sums is not None
        slots = self._slots[:rows]
        self._sums[slots] = self._sums[slots] + self._tokens[:rows]
        ahead = torch.arange(1, self._config.draft_len + 1)
        self._drafts[:rows] = (self._sums[slots].long()[:, None] * 31 + ahead) % 97


def _token(request: str, position: int) -> int:
    return zlib.crc32(f"{request} {position}".encode()) % 97
