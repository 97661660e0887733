"""What a request holds in the engine itself: a seat, its pages, its recurrent state, how it is sampled."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.engine.context import DenseContext, PagedContext
from harness.engine.pages import PagePool
from harness.engine.parts import Parts
from harness.engine.recurrent import RecurrentState
from harness.engine.sampling import Rows
from harness.engine.slots import NoFreeSlotError, SlotPool
from harness.engine.target_model import TargetModel
from harness.scenario import Config
from harness.trace import Event, Pool

__all__ = ["SamplingTable", "Seating"]

Tensor = torch.Tensor


class SamplingTable:
    """How each seat's request is sampled: `seeds` int64 [rows], `temperatures` [rows]."""

    def __init__(self, parts: Parts, rows: int, like: Tensor) -> None:
        self.seeds = like.new_zeros(rows, dtype=torch.int64)
        self.temperatures = like.new_ones(rows)
        self._parts = parts

    def seat(self, seat: int, name: str, seed: int) -> None:
        """Write what `name` brings along into its seat."""
        self.seeds[seat] = self._parts.seed_of(name, seed)
        self.temperatures[seat] = self._parts.temperature_of(name, seed)

    def rows(self, seats: Tensor) -> Rows:
        """Return how the batch rows in seats [B] are sampled."""
        index = self._parts.sampling_rows(seats)
        return Rows(self.seeds[index], self.temperatures[index], self._parts.uniform)


class Seating:
    """The seat pool and everything that a seat addresses. What no option asks for is not there.

    context    the target's keys and values, dense or in `pages`.
    """

    pages: PagePool | None = None
    recurrent: RecurrentState | None = None
    sampling: SamplingTable | None = None

    def __init__(
        self,
        config: Config,
        parts: Parts,
        capacity: int,
        target: TargetModel,
        like: Tensor,
        acquired: Callable[[str, int], None],
    ) -> None:
        self._config, self._parts, self._acquired = config, parts, acquired
        self.pool = SlotPool("seats", capacity)
        self._ending: list[int] = []
        rows = self.pool.rows
        self.context: DenseContext | PagedContext
        if config.page_size:
            self.context = self._paged(target, like)
        else:
            self.context = DenseContext(target.new_cache(rows, config.max_seq_len + config.draft_len + 1))
        if config.recurrent:
            self.recurrent = RecurrentState(target.gate, rows, parts.row_offsets)
        if config.sampling:
            self.sampling = SamplingTable(parts, rows, like)

    def _paged(self, target: TargetModel, like: Tensor) -> PagedContext:
        config = self._config
        self.pages = PagePool(self._parts.page_capacity(config))
        self.null = self._parts.null_page(self.pages)
        table = like.new_full((self.pool.rows, config.pages_per_seat), self.null, dtype=torch.int64)
        # Behind the pages that may be held: the null page and a guard.
        return PagedContext(target.new_cache(self.pages.capacity + 2, config.page_size), table, self._parts.locate)

    def take(self, name: str) -> tuple[int, int]:
        """Give `name` a seat as if nobody ever sat there; return it and its generation.

        Raises `NoFreeSlotError` and changes nothing when there is no place.
        """
        limit = self._config.running_limit
        if self._parts.admission_load(len(self.pool.owners), self.pool.retiring) >= limit:
            raise NoFreeSlotError(f"{limit} requests may run at once; {name!r} would be one more")
        seat = self.pool.acquire(name)
        if self.recurrent is not None and self._parts.resets_state():
            self.recurrent.reset(seat)
        if self.sampling is not None:
            self.sampling.seat(seat, name, self._config.seed)
        self._acquired("seats", seat)
        return seat, self.pool.generation(seat)

    def grow(self, name: str, seat: int, tokens: int) -> int:
        """See to it that `name` has pages for that many tokens; return how many those are, 0 for dense rows."""
        if self.pages is None or not isinstance(self.context, PagedContext):
            return 0
        needed = self._parts.pages_needed(tokens, self._config.page_size)
        held = self.pages.held(name)
        if held < needed:
            pages = self._parts.more_pages(self.pages, name, needed - held)
            self.context.table[seat, held : held + len(pages)] = torch.tensor(
                pages, device=self.context.table.device
            )
        return needed

    def leave(self, name: str, seat: int, way: str, *, late: bool) -> None:
        """Take everything back from `name`, which leaves by "finish", "abort" or "preempt".

        Late: nothing is handed out again until `reclaim`, a step being still under way there.
        """
        if late:
            self._ending.append(seat)
        else:
            self._clear(seat)
        for pool in (self.pool, self.pages):
            if pool is not None and self._parts.gives_back(way, pool.name):
                (pool.retire if late else pool.release)(name)

    def reclaim(self) -> None:
        """Hand out again what requests left behind late: the step that was under way then is over."""
        for seat in self._ending:
            self._clear(seat)
        self._ending.clear()
        self.pool.reclaim()
        if self.pages is not None:
            self.pages.reclaim()

    def _clear(self, seat: int) -> None:
        if isinstance(self.context, PagedContext) and self._parts.clears_table():
            self.context.table[seat].fill_(self.null)

    def views(self) -> list[Pool]:
        """Return the present partition of each pool as plain data."""
        return [self.pool.view(), *([] if self.pages is None else [self.pages.view()])]

    def take_events(self) -> tuple[Event, ...]:
        """Return what happened in the pools since the last call."""
        return self.pool.take_events() + (() if self.pages is None else self.pages.take_events())
