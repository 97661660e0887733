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
from harness.targets.sglang.assembly import Parts
from harness.targets.sglang.batch_faults import prompt_lengths_not_filtered, relay_rows_not_filtered
from harness.targets.sglang.row_faults import (
    freed_a_step_late,
    length_survives,
    refusal_ignored,
    reuse_uncounted,
    view_into_free_list,
)

__all__ = ["FAULTS", "Fault", "apply_faults"]


@dataclass(frozen=True)
class Fault:
    """A defect: its kind, K01 to K16, what the engine then does wrong, and how it is planted."""

    kind: str
    summary: str
    plant: Callable[[Parts], None]


def apply_faults(parts: Parts, names: Sequence[str]) -> None:
    """Plant faults by name. Raises `UnsupportedError` for one that is not there or not this worker's."""
    for name in names:
        if name not in FAULTS:
            raise UnsupportedError(f"target sglang has no fault {name!r}")
        FAULTS[name].plant(parts)


def _runners(parts: Parts) -> list[Any]:
    return [runner.decode_cuda_graph_runner for runner in (parts.target.model_runner, parts.draft)]


def _before_capture(parts: Parts, hook: Callable[[int], None]) -> None:
    """Call `hook` with the bucket before each capture of the draft graph."""
    runner = parts.draft.decode_cuda_graph_runner
    capture = runner.capture_one_shape

    def hooked(size: int, *rest: Any, **options: Any) -> Any:
        hook(size)
        return capture(size, *rest, **options)

    runner.capture_one_shape = hooked


def _capacity_from_bucket(parts: Parts) -> None:
    """As if the capture of a graph made the relay, for the rows of its own batch, and the map took it over."""
    taken: list[int] = []

    def take(bucket: int) -> None:
        if not taken:
            taken.append(bucket)
            for name in ("output_tokens_buf", "new_seq_lens_buf"):
                setattr(parts.relay, name, getattr(parts.relay, name)[: bucket + 1].clone())

    _before_capture(parts, take)


def _pad_to_live_row(parts: Parts) -> None:
    for runner in _runners(parts):
        _after_fill(runner, "req_pool_indices", lambda rows, live: rows[live:].fill_(int(rows[0])))


def _after_fill(runner: Any, name: str, spoil: Callable[[torch.Tensor, int], object]) -> None:
    registry = runner.buffer_registry
    fill = registry.fill_from

    def spoiled(forward_batch: Any, **sizes: Any) -> Any:
        result = fill(forward_batch, **sizes)
        if sizes["padded_bs"] > sizes["raw_bs"]:
            spoil(registry.get_slot(name).buffer[: sizes["padded_bs"]], sizes["raw_bs"])
        return result

    registry.fill_from = spoiled


def _drop_padding(name: str) -> Callable[[Parts], None]:
    def plant(parts: Parts) -> None:
        policy = parts.tree.registry.PaddingPolicy.FOREACH_COPY
        for runner in _runners(parts):
            runner.buffer_registry.get_slot(name).padding_policy = policy

    return plant


def _mirror_not_copied(parts: Parts) -> None:
    for runner in _runners(parts):
        runner.buffer_registry.get_slot("seq_lens_cpu").copy_from_fb = False


def _eager_for_ever(parts: Parts) -> None:
    for runner in _runners(parts):
        runner.disable_padding = True


def _sampler_too_small(parts: Parts) -> None:
    sampler = parts.worker._draft_sampler
    sizes = parts.draft.decode_cuda_graph_runner.capture_bs
    rows = sampler.out.numel() // parts.draft.decode_cuda_graph_runner.max_bs * min(sizes)
    sampler.out = sampler.out[:rows].clone()


def _sampler_moves(parts: Parts) -> None:
    sampler = parts.worker._draft_sampler

    def move(_bucket: int) -> None:
        sampler.out = sampler.out.clone()

    _before_capture(parts, move)


def _row_leaks(parts: Parts) -> None:
    def free(req: Any) -> None:
        req.kv.req_pool_idx = None

    parts.pools.requests.free = free


def _reserved_row_given(parts: Parts) -> None:
    pool = parts.pools.requests
    pool.free_slots = [*pool.free_slots[1:], 0]


def _relay_not_seeded(parts: Parts) -> None:
    publish = parts.relay.publish
    length = {int(row): 0 for row in range(parts.relay.req_pool_size)}

    def publish_steps(rows: torch.Tensor, lengths: torch.Tensor, confidence: torch.Tensor | None = None) -> None:
        first = [row for row in rows.tolist() if not length[row]]
        publish(rows, lengths.clone().fill_(1) if first else lengths, confidence)
        length.update(dict.fromkeys(rows.tolist(), 1))

    parts.relay.publish = publish_steps


def _relay_by_batch_row(parts: Parts) -> None:
    relay = parts.relay

    def resolve(batch: Any) -> None:
        places = torch.arange(len(batch.req_pool_indices), device=relay.output_tokens_buf.device) + 1
        batch.spec_info.bonus_tokens = relay.output_tokens_buf[places]

    relay._resolve_spec_extras = lambda batch: resolve(batch) if batch.spec_info is not None else None


def _lengths_drift(parts: Parts) -> None:
    publish = parts.relay.publish
    parts.relay.publish = lambda rows, lengths, confidence=None: publish(rows, lengths + 1, confidence)


def _commit_one_short(parts: Parts) -> None:
    pool = parts.pools.draft
    write = pool.set_kv_buffer_prefix_valid

    def written(layer: Any, places: torch.Tensor, counts: torch.Tensor, *rest: Any) -> None:
        short = counts.clone()
        if len(short) > 1:
            short[-1:] = (short[-1:] - 1).clamp(min=1)
        write(layer, places, short, *rest)

    pool.set_kv_buffer_prefix_valid = written


def _result_overwritten(parts: Parts) -> None:
    worker = parts.worker
    if not hasattr(type(worker), "_next_accept_bonus_buffers"):
        raise UnsupportedError("only DFlash hands out results in two buffers that take turns")
    take = worker._next_accept_bonus_buffers

    def take_the_first(rows: int) -> Any:
        worker._accept_bonus_buffer_slot = 0
        return take(rows)

    worker._next_accept_bonus_buffers = take_the_first


def _reserve_too_small(parts: Parts) -> None:
    reserve = parts.tree.draft_input.page_aligned_decode_alloc_lens
    module = parts.tree.draft_input

    def too_little(reqs: Any, *, reserve: int, page_size: int, _whole: Any = reserve) -> Any:
        return _whole(reqs, reserve=reserve // 4, page_size=page_size)

    parts.undo.callback(setattr, module, "page_aligned_decode_alloc_lens", reserve)
    module.page_aligned_decode_alloc_lens = too_little


FAULTS = {
    "capacity-from-bucket": Fault(
        "K01", "the relay between steps is made by the first capture, for the rows of that batch",
        _capacity_from_bucket,
    ),
    "sampler-too-small": Fault(
        "K01", "the draft sampler's output has room for the smallest bucket alone", _sampler_too_small
    ),
    "pad-to-live-row": Fault("K02", "padding is mapped to the row of the batch's first request", _pad_to_live_row),
    "reserved-row-given": Fault("K02", "row 0 is among the rows that requests are given", _reserved_row_given),
    "stale-tail": Fault(
        "K03", "rows of padding keep the request rows of an earlier batch", _drop_padding("req_pool_indices")
    ),
    "sentinel-missing": Fault(
        "K03", "padding keeps the locations of an earlier batch, and writes there", _drop_padding("out_cache_loc")
    ),
    "freed-a-step-late": Fault(
        "K04", "rows of ended requests are free when the next step is over, and the pool has no others",
        freed_a_step_late,
    ),
    "row-leaks": Fault("K05", "the row of a request that ended is not given back", _row_leaks),
    "length-survives": Fault(
        "K06", "a request starts from the length that its row's last owner left in the relay", length_survives
    ),
    "relay-by-batch-row": Fault("K07", "anchors are read by place in the batch, not by row", _relay_by_batch_row),
    "relay-not-seeded": Fault("K08", "the length that a prefill publishes is not the prompt's", _relay_not_seeded),
    "lengths-drift": Fault("K09", "every published length is one too long", _lengths_drift),
    "commit-one-short": Fault(
        "K10", "the last accepted token of a batch's last request is not stored", _commit_one_short
    ),
    "sampler-moves": Fault("K11", "every capture gives the sampler another output buffer", _sampler_moves),
    "result-overwritten": Fault("K12", "results of all steps share one buffer", _result_overwritten),
    "reuse-uncounted": Fault("K12", "a row is given anew and its generation stays", reuse_uncounted),
    "mirror-not-copied": Fault(
        "K13", "a graph is told the lengths of its batch, but not the host's copy of them", _mirror_not_copied
    ),
    "relay-rows-not-filtered": Fault(
        "K13", "who stays in a batch that others leave takes from the relay what its first requests left there",
        relay_rows_not_filtered,
    ),
    "prompt-lengths-not-filtered": Fault(
        "K13", "a batch that requests leave keeps the lengths of their prompts", prompt_lengths_not_filtered
    ),
    "reserve-too-small": Fault("K14", "half a block is reserved for a step that writes one", _reserve_too_small),
    "eager-for-ever": Fault(
        "K15", "a graph is found for batches of its very size alone; the others run without one", _eager_for_ever
    ),
    "refusal-ignored": Fault(
        "K15", "a request that the pool has no row for is sent to row 0, with padding", refusal_ignored
    ),
    "view-into-free-list": Fault(
        "K16", "a row's number is a view into the free list, which another request's end writes",
        view_into_free_list,
    ),
}  # fmt: skip
