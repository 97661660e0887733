"""Planted defects: patched into the objects of one session, never into a file, to prove that invariants can fail.

Each is what a line of the engine would do if it were wrong in a way that some engine was. A fault that stands for
the same decision as one of the embedded engine's has its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.targets.base import UnsupportedError
from harness.targets.vllm.assembly import Parts
from harness.targets.vllm.row_faults import (
    new_rows_first,
    refusal_ignored,
    results_come_late,
    reuse_continues,
    row_zero_is_none,
)

__all__ = ["FAULTS", "Fault", "apply_faults"]

# Called with a batch's place in all inputs that the engine has just prepared for its drafter.
Spoil = Callable[[Parts, Any, dict[str, torch.Tensor]], object]


@dataclass(frozen=True)
class Fault:
    """A defect: its kind, K01 to K16, what the engine then does wrong, and how it is planted."""

    kind: str
    summary: str
    plant: Callable[[Parts], None]


def apply_faults(parts: Parts, names: Sequence[str]) -> None:
    """Plant faults by name. Raises `UnsupportedError` for one that is not there."""
    for name in names:
        if name not in FAULTS:
            raise UnsupportedError(f"target vllm has no fault {name!r}")
        FAULTS[name].plant(parts)


def _before_capture(parts: Parts, hook: Callable[[int], None]) -> None:
    """Call `hook` with the bucket before each capture of the draft graph."""
    manager = parts.speculator.query_cudagraph_manager
    capture = manager.capture

    def hooked(*args: Any, **options: Any) -> None:
        for shape in (shape for shapes in manager._capture_descs.values() for shape in shapes):
            hook(shape.num_reqs)
        capture(*args, **options)

    manager.capture = hooked


def _prepared(spoil: Spoil) -> Callable[[Parts], None]:
    """Return what plants `spoil` behind the preparation of the drafter's inputs; it is given the old ones too."""

    def plant(parts: Parts) -> None:
        module, speculator = parts.tree.dflash, parts.speculator
        prepare = module.prepare_dflash_inputs

        old = {"slots": torch.full_like(parts.runner.block_tables.slot_mappings[0], -1)}

        def spoiled(*args: Any) -> None:
            old["rows"], old["seeds"] = speculator.sample_idx_mapping.clone(), speculator.seeds.clone()
            prepare(*args)
            spoil(parts, args[9], old)
            old["slots"] = args[1].clone()  # verification writes there in between

        parts.undo.callback(setattr, module, "prepare_dflash_inputs", prepare)
        module.prepare_dflash_inputs = spoiled

    return plant


def _capacity_from_bucket(parts: Parts) -> None:
    taken: list[int] = []

    def take(bucket: int) -> None:
        if not taken:
            taken.append(bucket)
            parts.speculator.draft_logits = parts.speculator.draft_logits[:bucket].clone()

    _before_capture(parts, take)


def _sampler_too_small(parts: Parts) -> None:
    speculator = parts.speculator
    speculator.sample_idx_mapping = speculator.sample_idx_mapping[: speculator.num_speculative_steps].clone()


def _sampler_moves(parts: Parts) -> None:
    def move(_bucket: int) -> None:
        parts.speculator.draft_tokens = parts.speculator.draft_tokens.clone()

    _before_capture(parts, move)


def _pad_to_live_row(parts: Parts, batch: Any, _old: Any) -> None:
    rows = parts.speculator.sample_idx_mapping
    rows[rows == -1] = batch.idx_mapping[0]


def _pad_to_row_zero(parts: Parts, _batch: Any, _old: Any) -> None:
    rows = parts.speculator.sample_idx_mapping
    rows[rows == -1] = 0


def _stale_tail(parts: Parts, batch: Any, old: dict[str, torch.Tensor]) -> None:
    used = batch.num_reqs * parts.speculator.num_speculative_steps
    parts.speculator.sample_idx_mapping[used:] = old["rows"][used:]


def _sentinel_missing(parts: Parts, batch: Any, old: dict[str, torch.Tensor]) -> None:
    used = batch.num_reqs * parts.speculator.num_query_per_req
    parts.runner.block_tables.slot_mappings[0][used:] = old["slots"][used:]


def _lengths_drift(parts: Parts, batch: Any, _old: Any) -> None:
    parts.speculator.input_buffers.seq_lens[: batch.num_reqs] += 1


def _commit_one_short(parts: Parts, batch: Any, _old: Any) -> None:
    slots = parts.speculator._context_slot_mappings[0]
    start, end = batch.query_start_loc_np[batch.num_reqs - 1 : batch.num_reqs + 1].tolist()
    written = (slots[start:end] >= 0).nonzero().flatten()
    if batch.num_reqs > 1 and len(written) > 1:
        slots[start + int(written[-1])] = -1


def _row_leaks(parts: Parts) -> None:
    states = parts.runner.req_states
    remove = states.remove_request

    def removed(name: str) -> Any:
        row = remove(name)
        if row is not None:
            states.free_indices.remove(row)
        return row

    states.remove_request = removed


def _drafts_not_cleared(parts: Parts) -> None:
    states = parts.runner.req_states
    add = states.add_request

    def added(*args: Any, **options: Any) -> None:
        before = states.draft_tokens.clone()
        add(*args, **options)
        states.draft_tokens.copy_(before)

    states.add_request = added


def _anchor_by_batch_row(parts: Parts) -> None:
    propose = parts.speculator.propose

    def proposed(*args: Any, **options: Any) -> Any:
        if not args:
            return propose(**options)  # of a dummy
        batch, last = args[0], args[7].clone()
        last[batch.idx_mapping] = args[7][: batch.num_reqs]
        return propose(*args[:7], last, *args[8:], **options)

    parts.speculator.propose = proposed


def _context_not_seeded(parts: Parts, _batch: Any, _old: Any) -> None:
    if parts.target.key and parts.graphs[1].graphs:  # of a prompt
        parts.speculator._context_slot_mappings.fill_(-1)


def _seeds_not_copied(parts: Parts, _batch: Any, old: dict[str, torch.Tensor]) -> None:
    parts.speculator.seeds.copy_(old["seeds"])


def _eager_for_ever(parts: Parts) -> None:
    module = parts.tree.graphs
    fits = module._is_compatible
    parts.undo.callback(setattr, module, "_is_compatible", fits)
    module._is_compatible = lambda shape, rows, *rest: fits(shape, rows, *rest) and shape.num_reqs == rows


def _reserve_too_small(parts: Parts) -> None:
    cover = parts.blocks.cover
    parts.blocks.cover = lambda request, tokens: cover(  # type: ignore[method-assign]  # that is the fault
        request, tokens - parts.speculator.num_query_per_req
    )


FAULTS = {
    "capacity-from-bucket": Fault(
        "K01", "the pool of draft logits is made by the first capture, for the rows of that batch",
        _capacity_from_bucket,
    ),
    "sampler-too-small": Fault(
        "K01", "the map of sampled rows has room for one request alone", _sampler_too_small
    ),
    "pad-to-live-row": Fault(
        "K02", "padding is mapped to the row of the batch's first request", _prepared(_pad_to_live_row)
    ),
    "pad-to-slot-zero": Fault(
        "K02", "padding is mapped to row 0, where a request may be", _prepared(_pad_to_row_zero)
    ),
    "stale-tail": Fault(
        "K03", "rows of padding keep the request rows of an earlier batch", _prepared(_stale_tail)
    ),
    "sentinel-missing": Fault(
        "K03", "padding keeps the cache slots of an earlier batch, and writes there", _prepared(_sentinel_missing)
    ),
    "new-rows-first": Fault(
        "K04", "requests that come are given rows before those of ended ones are free", new_rows_first
    ),
    "row-leaks": Fault("K05", "the row of a request that ended is not given back", _row_leaks),
    "drafts-not-cleared": Fault(
        "K06", "a request starts with the drafts of whoever had its row before", _drafts_not_cleared
    ),
    "anchor-by-batch-row": Fault(
        "K07", "anchors are read by place in the batch, not by row", _anchor_by_batch_row
    ),
    "context-not-seeded": Fault(
        "K08", "where a graph drafts behind a prompt, its context is not stored", _prepared(_context_not_seeded)
    ),
    "lengths-drift": Fault(
        "K09", "every length that the drafter is told is one too long", _prepared(_lengths_drift)
    ),
    "commit-one-short": Fault(
        "K10", "the last accepted token of a batch's last request is not stored", _prepared(_commit_one_short)
    ),
    "sampler-moves": Fault("K11", "every capture gives the drafts another buffer", _sampler_moves),
    "results-come-late": Fault(
        "K12", "how much was rejected is told with the next step, to whoever has the rows then", results_come_late
    ),
    "reuse-continues": Fault(
        "K12", "an id that ended and comes again before a step goes on with its row", reuse_continues
    ),
    "seeds-not-copied": Fault(
        "K13", "a draft is told everything of its requests but their seeds", _prepared(_seeds_not_copied)
    ),
    "reserve-too-small": Fault("K14", "no blocks are reserved for the drafter's own tokens", _reserve_too_small),
    "eager-for-ever": Fault(
        "K15", "a graph is found for batches of its very size alone; the others run without one", _eager_for_ever
    ),
    "refusal-ignored": Fault("K15", "a request that finds no row free is sent to row 0", refusal_ignored),
    "row-zero-is-none": Fault("K16", "row 0 counts as no row, where a free one is looked for", row_zero_is_none),
}  # fmt: skip
