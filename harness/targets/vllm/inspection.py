"""What a session shows: the engine's per-request pools, and the inputs of its captured graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from harness.targets.base import GraphTensor, Inspection, PersistentTensor
from harness.targets.common.session import POOL
from harness.trace import Event, MetadataField, Pool

if TYPE_CHECKING:
    from harness.targets.vllm.engine import VLLMEngine

__all__ = ["inspect_engine"]

# Of the speculator: rows of requests. All else that it holds is a batch's, or of tokens.
_BY_REQUEST = ("draft_logits", "temperature", "seeds")
_CLEARED = {"states.draft_tokens": 0.0}  # when a request gets the row
_PAD_SLOT = -1


def inspect_engine(engine: VLLMEngine, events: tuple[Event, ...]) -> Inspection:
    """Show the state after the last operation."""
    runner, speculator = engine.parts.runner, engine.parts.speculator
    states = runner.req_states
    tensors = dict(_pools(engine))
    for owner, of in (
        ("draft", speculator),
        ("draft", speculator.input_buffers),
        ("target", runner.input_buffers),
    ):
        for name, value in _tensors(of):
            pool = POOL if of is speculator and name in _BY_REQUEST else ""
            tensors[f"{owner}.{name}"] = PersistentTensor(value, pool, data=name == "draft_logits")
    told = engine.rows_told
    # Who was refused a row owns none, whatever the engine then sends it to.
    owners = {name: row for name, row in engine.rows().items() if not told.refused(name)}
    requests = Pool(
        POOL, states.max_num_reqs, None, owners, tuple(states.free_indices), tuple(engine.retiring()),
        generations=tuple(told.given),
    )  # fmt: skip
    shown = {name: request.state() for name, request in engine.stepped.items()}
    budget = ({"tokens": engine.reserved}, {"tokens": engine.consumed}) if engine.stepped else ({}, {})
    return Inspection(
        tensors, dict(_graph_tensors(engine)), (requests,), shown, _facts(engine), engine.batch, engine.padded,
        engine.graph, (*events, *told.refusals), *budget, fields=tuple(_fields(engine)),
    )  # fmt: skip


def _pools(engine: VLLMEngine) -> Iterator[tuple[str, PersistentTensor]]:
    """Yield what has a row a request. Of what the host keeps and copies in turns, the host's own is shown."""
    runner = engine.parts.runner
    sampler = runner.sampler
    owners = (
        ("states", runner.req_states), ("tables", runner.block_tables),
        ("sampler.states", sampler.sampling_states), ("sampler.penalties", sampler.penalties_state),
    )  # fmt: skip
    for owner, of in owners:
        for name, value in vars(of).items():
            for place, each in enumerate(value if isinstance(value, list) else [value]):
                tensor = _whole(each)
                # Plain tensors of the block tables are a batch's, or say where the others are.
                if tensor is not None and (owner != "tables" or each is not tensor):
                    label = f"[{place}]" if isinstance(value, list) else ""
                    initial = _CLEARED.get(f"{owner}.{name}")
                    yield f"{owner}.{name}{label}", PersistentTensor(tensor, POOL, data=False, initial=initial)
    for place, tensor in enumerate(runner.block_tables.input_block_tables):
        yield f"batch.block_table[{place}]", PersistentTensor(tensor)
    yield "batch.slot_mappings", PersistentTensor(runner.block_tables.slot_mappings)
    yield "draft.kv", PersistentTensor(engine.contexts.gather(engine.live), POOL, data=False)


def _whole(value: Any) -> torch.Tensor | None:
    """Return a tensor, or the one behind the engine's own kinds of buffer."""
    if isinstance(value, torch.Tensor):
        return value
    if hasattr(value, "np") and hasattr(value, "cpu"):
        return value.cpu  # type: ignore[no-any-return]  # a tensor
    staged = getattr(value, "gpu", None)
    return staged if isinstance(staged, torch.Tensor) else None


def _tensors(owner: Any) -> Iterator[tuple[str, torch.Tensor]]:
    yield from ((name, value) for name, value in vars(owner).items() if isinstance(value, torch.Tensor))


def _graph_tensors(engine: VLLMEngine) -> Iterator[tuple[str, GraphTensor]]:
    """Yield the inputs whose padding the engine promises, a row a batch row."""
    runner, speculator = engine.parts.runner, engine.parts.speculator
    rows, drafts, width = engine.config.seats, engine.config.draft_len, engine.lookahead
    inputs = speculator.input_buffers

    def by_row(tensor: torch.Tensor, entries: int) -> torch.Tensor:
        return tensor[: rows * entries].view(rows, entries)

    rows_of = by_row(speculator.sample_idx_mapping, drafts)
    yield "draft.sample_idx_mapping", GraphTensor(rows_of, -1, POOL)
    yield "draft.request_rows", GraphTensor(rows_of[:, 0], -1, POOL)
    yield "draft.sample_indices", GraphTensor(by_row(speculator.sample_indices, drafts), 0)
    yield "draft.sample_pos", GraphTensor(by_row(speculator.sample_pos, drafts), 0)
    yield "draft.slots", GraphTensor(by_row(runner.block_tables.slot_mappings[0], width), _PAD_SLOT)
    yield "draft.context_slots", GraphTensor(by_row(speculator._context_slot_mappings[0], drafts + 1), _PAD_SLOT)
    yield "draft.input_ids", GraphTensor(by_row(inputs.input_ids, width), 0)
    yield "draft.positions", GraphTensor(by_row(inputs.positions, width), 0)
    yield "draft.is_padding", GraphTensor(by_row(inputs.is_padding.view(torch.uint8), width), 1)
    yield "draft.seq_lens", GraphTensor(inputs.seq_lens, 0)
    yield "target.seq_lens", GraphTensor(runner.input_buffers.seq_lens, 0)
    yield "batch.block_table", GraphTensor(runner.block_tables.input_block_tables[0], 0)


def _fields(engine: VLLMEngine) -> Iterator[MetadataField]:
    """Yield what a draft is told of each request of its batch, and what its graph was replayed with."""
    runner, speculator, rows = engine.parts.runner, engine.parts.speculator, engine.rows()
    if not engine.stepped:
        return
    batch = [rows[name] for name in engine.batch]
    sampling, tables = runner.sampler.sampling_states, runner.block_tables
    told, given = tables.block_tables[0].gpu[batch].tolist(), tables.input_block_tables[0].tolist()
    blocks = list(
        zip(tables.num_blocks.np[0, batch].tolist(), told, given, strict=False)
    )  # [number, owner's, copy]
    copied: dict[str, tuple[list[Any], list[Any]]] = {
        "temperature": (sampling.temperature.np[batch].tolist(), speculator.temperature[batch].tolist()),
        "seeds": (sampling.seeds.np[batch].tolist(), speculator.seeds[batch].tolist()),
        "block table": ([own[:count] for count, own, _ in blocks], [copy[:count] for count, _, copy in blocks]),
    }
    for name, (owner, copy) in copied.items():
        replayed = tuple(map(str, copy)) if engine.graph is not None else None
        yield MetadataField(f"draft.{name}", "per-request", tuple(map(str, owner)), replayed)


def _facts(engine: VLLMEngine) -> dict[str, int]:
    return {
        "max_num_seqs": engine.parts.runner.max_num_reqs,
        "max_num_batched_tokens": engine.parts.runner.max_num_tokens,
        "query tokens a row": engine.lookahead,
    }
