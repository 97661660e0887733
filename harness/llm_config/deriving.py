"""Buckets, `max_num_requests` and `num_seq_slots` as the engine gets them from its options, and how.

The rules are those of TensorRT-LLM: `DecodeCudaGraphConfig` makes batch sizes, the model engine filters them,
`compute_max_num_sequences` sizes the pool of sequence slots, and the speculative metadata is told that size
only where the overlap scheduler's headroom under attention data parallelism asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.errors import UsageError
from harness.llm_config.reading import LlmOptions
from harness.scenario import WORKERS, Config

__all__ = ["MOST_REQUESTS", "Derived", "derive"]

# More requests than this show nothing that fewer do not, and take minutes.
MOST_REQUESTS = 16
_DRAFT_LEN = 3


@dataclass(frozen=True)
class Derived:
    """What a reproducer runs with. `notes` say how, one line a number.

    config     num_seq_slots 0 where the engine leaves it unset; the worker is that of `workers[0]`.
    padding    whether a batch between two buckets is padded; without, it runs eagerly.
    handed_over  whether requests come prefilled from a context server.
    """

    config: Config
    workers: tuple[str, ...]
    padding: bool
    handed_over: bool
    notes: tuple[str, ...]


def derive(options: LlmOptions) -> Derived:
    """Return what `options` come to. Raises `UsageError` for options that upstream refuses too."""
    notes: list[str] = []
    workers = (options.worker.value,) if options.worker.value else WORKERS
    notes.append(f"worker {' and '.join(workers)}: {options.worker}")
    rows = options.max_batch_size.value
    notes.append(f"max_num_requests {rows}: {options.max_batch_size}")
    buckets = _buckets(options, rows, notes)
    times = _slots(options, rows, notes)
    if options.role:
        comes = "hand-over" if options.role == "generation" else "prefill"
        notes.append(f"requests come by {comes}: role {options.role}")
    draft_len = options.max_draft_len.value or _DRAFT_LEN
    own = "" if options.max_draft_len.given else f"; {_DRAFT_LEN} is the harness's own"
    notes.append(f"draft_len {draft_len}: {options.max_draft_len}{own}")
    rows, buckets = _scaled(rows, buckets, times, notes)
    config = Config(workers[0], times * rows if times > 1 else 0, rows, buckets, draft_len)
    # Room for every step of a sweep past all borders of buckets, with every draft accepted.
    steps = 2 * max(3 * (len(buckets) + 2), config.seats) + 8
    config = replace(config, max_seq_len=max(config.max_seq_len, 8 + steps * (draft_len + 1)))
    return Derived(config, workers, options.enable_padding.value, options.role == "generation", tuple(notes))


def _buckets(options: LlmOptions, rows: int, notes: list[str]) -> tuple[int, ...]:
    if not options.graphs:
        raise UsageError(f"{options.file}: cuda_graph_config is null, so there are no buckets to capture")
    padding = options.enable_padding
    if options.batch_sizes.given:
        sizes, largest = options.batch_sizes.value, options.graph_max_batch_size
        if largest.value and largest.value != max(sizes):
            why = f"{largest.name} {largest.value} is not the largest of batch_sizes, {max(sizes)}"
            raise UsageError(why, largest.place)
        source = str(options.batch_sizes)
    else:
        most = options.graph_max_batch_size.value or 128
        sizes = _generated(most, padding.value)
        source = f"generated up to {most} by {options.graph_max_batch_size}"
    kept = tuple(size for size in sizes if size <= rows)
    cut = len(kept) < len(sizes)
    if cut and padding.value and rows not in kept:
        kept = (*kept, rows)
    if not kept:
        why = f"no size of {options.batch_sizes.name} fits max_batch_size {rows}, and nothing is padded"
        raise UsageError(why, options.batch_sizes.place)
    notes.append(f"buckets {_listed(kept)}: {source}, {padding}{f', none above {rows}' if cut else ''}")
    return kept


def _generated(most: int, padding: bool) -> tuple[int, ...]:
    if padding:
        sizes = [1, 2, 4, *range(8, 129, 8), *range(192, most + 1, 64)]
    else:
        sizes = [*range(1, 33), 64, 128, *(2**power for power in range(8, most.bit_length()))]
    return tuple(sorted({size for size in sizes if size <= most} | {most}))


def _slots(options: LlmOptions, rows: int, notes: list[str]) -> int:
    """Return how many times `max_num_requests` the metadata's `num_seq_slots` is; 1 where it is left unset."""
    stages = options.pipeline_parallel_size.value
    overlaps = not options.disable_overlap_scheduler.value
    because = (
        f"{options.pipeline_parallel_size}, {options.enable_attention_dp}, {options.disable_overlap_scheduler}"
    )
    if stages == 1 and overlaps and options.enable_attention_dp.value:
        rule = "twice max_num_requests, headroom of the overlap scheduler under attention DP"
        notes.append(f"num_seq_slots {2 * rows}: {rule} ({because})")
        return 2
    pool = f"the engine seats {stages * rows}" + (f", {stages} stages of {rows}" if stages > 1 else "")
    rule = "tells the metadata only with attention DP, overlap and one stage"
    notes.append(f"num_seq_slots unset, max_num_requests {rows} counts: {pool}, and {rule} ({because})")
    if options.disaggregated.value or options.role:
        which = f"role {options.role}" if options.role else str(options.disaggregated)
        notes.append(f"disaggregated serving ({which}) adds no seats")
    return 1


def _scaled(rows: int, buckets: tuple[int, ...], times: int, notes: list[str]) -> tuple[int, tuple[int, ...]]:
    """Divide large numbers so that what is smaller stays smaller: that is what a pool depends on."""
    most = max(4, MOST_REQUESTS // times)
    if rows <= most:
        return rows, buckets
    factor = -(-rows // most)
    below = tuple(sorted({-(-bucket // factor) for bucket in buckets if bucket < rows}))
    small = max(-(-rows // factor), max(below, default=0) + 1)
    kept = (*below, small) if rows in buckets else below
    slots = f", num_seq_slots {times * small}" if times > 1 else ""
    run_as = f"run as max_num_requests {small}{slots}, buckets {_listed(kept)}"
    notes.append(f"{run_as}: all divided by {factor}, in the same order of size")
    return small, kept


def _listed(numbers: tuple[int, ...]) -> str:
    shown = [*map(str, numbers)] if len(numbers) <= 12 else [*map(str, numbers[:10]), "...", str(numbers[-1])]
    return ",".join(shown)
