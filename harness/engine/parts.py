"""What the engine is assembled from. A fault replaces a part; the engine holds no fault switch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch

from harness.engine import context, decisions, metadata, pages, positions, recurrent, sampling, scheduler
from harness.engine.metadata import SpecMetadata
from harness.engine.pages import PagePool
from harness.engine.requests import Left, Request
from harness.engine.slots import SlotPool
from harness.scenario import Config

__all__ = ["Parts", "Revise"]

Tensor = torch.Tensor
# (request, anchor position, drafts) -> the drafts to verify instead
Revise = Callable[[str, int, list[int]], list[int]]


@dataclass(frozen=True)
class Parts:
    """Every decision that a known bug got wrong, one function each; what each decides is in its docstring.

    revise  the last word on the drafts of a request, for drafters that are not a model (tests).
    """

    # how large
    pool_capacity: Callable[[SpecMetadata], int] = decisions.pool_capacity
    seat_capacity: Callable[[SpecMetadata], int] = decisions.seat_capacity
    page_capacity: Callable[[Config], int] = pages.page_capacity
    map_capacity: Callable[[SpecMetadata, SlotPool], int] = decisions.map_capacity
    # what a forward is told
    graph_copy: Callable[[SpecMetadata, int], SpecMetadata] = metadata.graph_copy
    refresh: Callable[[SpecMetadata, SpecMetadata], None] = metadata.refresh
    write_rows: Callable[[Tensor, Sequence[int | list[int]], int, int], None] = decisions.write_rows
    padding_row: Callable[[SlotPool], int] = decisions.padding_row
    padding_seat: Callable[[SlotPool], int] = decisions.padding_seat
    unmapped_row: Callable[[SlotPool], int] = decisions.unmapped_row
    prepares_at_once: Callable[[bool], bool] = decisions.prepares_at_once
    warmup_requests: Callable[[int], tuple[str, ...]] = decisions.warmup_requests
    idle_requests: Callable[[], tuple[str, ...]] = decisions.idle_requests
    idle_rows: Callable[[], int] = decisions.idle_rows
    # who gets which row, and until when
    claim_row: Callable[[SlotPool, str, int], tuple[int, bool]] = decisions.claim_row
    known_slot: Callable[[SlotPool, str], int | None] = decisions.known_slot
    row_without_slot: Callable[[SlotPool], int | None] = decisions.row_without_slot
    staged: Callable[[Tensor, int], Tensor] = decisions.staged
    slots_of: Callable[[Tensor, int], Tensor] = decisions.slots_of
    let_go: Callable[[SlotPool, Sequence[str]], Sequence[str]] = decisions.let_go
    give_back: Callable[[SlotPool, str], None] = decisions.give_back
    gives_back: Callable[[str, str], bool] = decisions.gives_back
    retires: Callable[[bool, bool], bool] = decisions.retires
    resets_state: Callable[[], bool] = decisions.resets_state
    # pages
    null_page: Callable[[PagePool], int] = pages.null_page
    pages_needed: Callable[[int, int], int] = pages.pages_needed
    more_pages: Callable[[PagePool, str, int], list[int]] = decisions.more_pages
    locate: Callable[[Tensor, int], tuple[Tensor, Tensor]] = context.locate
    clears_table: Callable[[], bool] = decisions.clears_table
    # positions, chunks and what was rejected
    after_prefix: Callable[[int], tuple[int, int]] = positions.after_prefix
    handed_over: Callable[[int], tuple[int, int]] = positions.handed_over
    chunk_span: Callable[[int, int], tuple[int, int]] = positions.chunk_span
    restarts_context: Callable[[int, int], bool] = positions.restarts_context
    stores_context: Callable[[int, int], bool] = positions.stores_context
    follows: Callable[[], bool] = positions.follows
    advance: Callable[[Tensor, Tensor], Tensor] = positions.advance
    empty_dummy: Callable[[Tensor, int], None] = positions.empty_dummy
    turned_to: Callable[[Tensor], Tensor] = positions.turned_to
    hidden_by_age: Callable[[Tensor, Tensor], Tensor] = positions.hidden_by_age
    committed: Callable[[Tensor, Tensor], Tensor] = decisions.committed
    ring_rows: Callable[[Tensor, Tensor, Tensor], Tensor] = positions.ring_rows
    roll_back: Callable[[Tensor, Tensor], Tensor] = recurrent.roll_back
    row_offsets: Callable[[Tensor, int], Tensor] = recurrent.row_offsets
    resume_span: Callable[[Request], tuple[int, int]] = positions.resume_span
    left_after_resume: Callable[[Left, int], Left] = decisions.left_after_resume
    # drafts and results
    accept: Callable[[Tensor, Tensor], Tensor] = decisions.accept_greedily
    revise: Revise = decisions.keep_drafts
    placeholders: Callable[[int, bool], list[int]] = decisions.placeholders
    relay_key: Callable[[int, int], int] = decisions.relay_key
    result_row: Callable[[int, int], int] = decisions.result_row
    applies: Callable[[Left, int], bool] = decisions.applies
    # sampling
    seed_of: Callable[[str, int], int] = decisions.seed_of
    temperature_of: Callable[[str, int], float] = decisions.temperature_of
    sampling_rows: Callable[[Tensor], Tensor] = decisions.sampling_rows
    uniform: sampling.Uniform = sampling.uniform
    accept_sampled: sampling.Accept = sampling.accept_sampled
    residual: sampling.Residual = sampling.residual
    # budgets and graphs
    admission_load: Callable[[int, int], int] = scheduler.admission_load
    tokens_reserved: Callable[[int, int], int] = scheduler.tokens_reserved
    verify_lengths: Callable[[Sequence[Sequence[float]], int], list[int]] = scheduler.verify_lengths
    fitting_bucket: Callable[[Collection[int], int], int | None] = scheduler.fitting_bucket
    graph_key: Callable[[int, int], tuple[int, int]] = decisions.graph_key
    voids_graphs: Callable[[], bool] = decisions.voids_graphs
    survives_rebind: Callable[[], bool] = decisions.survives_rebind
