"""The running batch: who decodes is merged into it and filtered out of it, by the engine's own code.

A batch is built here for a prefill alone. Behind its last chunk it is a batch of one that waits to join, as in
SGLang. Who sits out a step is in a batch of one again, as in another micro-batch, and joins the same way.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from harness.targets.sglang.assembly import Parts
from harness.targets.sglang.requests import Request
from harness.trace import MetadataField

__all__ = ["Batches"]

# What a batch keeps a value a request of, beside the list of its requests: filtered and merged field by field.
_OF_BATCH = ("req_pool_indices", "req_pool_indices_cpu", "seq_lens", "seq_lens_cpu", "orig_seq_lens")
_OF_SAMPLING = ("temperatures", "top_ps", "top_ks", "min_ps")


class Batches:
    """Makes batches of requests on `device`, and keeps those that a later step needs."""

    def __init__(self, parts: Parts, device: str) -> None:
        self._parts, self._device = parts, device
        self._running: Any = None
        self._apart: dict[Any, Any] = {}  # the engine's object for a request -> its batch of one

    def idle(self) -> Any:
        """Return a batch of nobody."""
        batch = self._batch([], self._parts.tree.forward.ForwardMode.IDLE)
        batch.seq_lens = torch.empty(0, dtype=torch.int64, device=self._device)
        return batch

    def extend(self, request: Request, count: int) -> Any:
        """Return a batch that prefills the next `count` tokens of a request, at locations that it takes."""
        tree, pools, start = self._parts.tree, self._parts.pools, request.position
        places = pools.allocator.alloc(count)
        if places is None:
            raise RuntimeError(f"no location is free for {request.name}")
        end = start + count
        pools.requests.write((request.row, slice(start, end)), places.to(torch.int32))
        request.kv.kv_allocated_len = request.req.extend_end = end
        batch = self._batch([request], tree.forward.ForwardMode.EXTEND)
        batch.input_ids = self._tensor(request.tokens[start:end])
        batch.out_cache_loc = places
        batch.seq_lens, batch.seq_lens_cpu = self._tensor([end]), torch.tensor([end])
        batch.orig_seq_lens = batch.seq_lens.to(torch.int32)
        batch.seq_lens_sum, batch.extend_num_tokens = end, count
        batch.prefix_lens, batch.extend_lens, batch.extend_logprob_start_lens = [start], [count], [0]
        batch.sampling_info = tree.sampling.SamplingBatchInfo.from_schedule_batch(
            batch, batch.model_config.vocab_size
        )
        return batch

    def prefilled(self, request: Request, batch: Any) -> None:
        """Keep the batch of a request whose prompt is whole, to be merged when it first decodes."""
        self._apart[request.req] = batch

    def decode(self, requests: Sequence[Request]) -> Any:
        """Return the running batch, ready for a step of these requests, in this order."""
        wanted = [request.req for request in requests]
        self._park(wanted)
        for req in wanted[0 if self._running is None else len(self._running.reqs) :]:
            batch = self._apart.pop(req)
            if self._running is None:
                self._running = batch
            else:
                self._running.merge_batch(batch)
        self._running.prepare_for_decode()
        return self._running

    def leave(self, request: Request) -> None:
        """Filter a request out that ended or was retracted, as SGLang does before it makes another batch."""
        self._apart.pop(request.req, None)
        if self._running is not None:
            self._filter([request.req])

    def fields(self) -> Iterator[MetadataField]:
        """Yield each field of the running batch that has a value a request, as the last step left it."""
        batch = self._running
        if batch is None:
            return
        values = {f"batch.{name}": getattr(batch, name) for name in _OF_BATCH}
        values |= {f"sampling.{name}": getattr(batch.sampling_info, name) for name in _OF_SAMPLING}
        values["spec.future_indices"] = batch.spec_info.future_indices
        for name, value in values.items():
            if value is not None:
                yield MetadataField(name, "per-request", tuple(map(str, value.flatten().tolist())))

    def _park(self, wanted: Sequence[Any]) -> None:
        """Filter out whoever is not wanted, or not in this order: who stays are the first of `wanted`.

        A merge appends, so whoever has to come behind another one that is not there yet joins again.
        """
        if self._running is None:
            return
        stay: list[Any] = []
        for req in self._running.reqs:
            if req in wanted[len(stay) : len(stay) + 1]:
                stay.append(req)
        out = [req for req in self._running.reqs if req not in stay]
        for req in out:
            batch = copy.copy(self._running)
            batch.sampling_info, batch.spec_info = copy.copy(batch.sampling_info), copy.copy(batch.spec_info)
            batch.filter_batch([other for other in batch.reqs if other is not req])
            self._apart[req] = batch
        self._filter(out)

    def _filter(self, out: list[Any]) -> None:
        self._running.filter_batch(out)
        if self._running.is_empty():
            self._running = None

    def _batch(self, requests: Sequence[Request], mode: Any) -> Any:
        parts, pools = self._parts, self._parts.pools
        rows = [request.row for request in requests]
        return parts.tree.batch.ScheduleBatch(
            reqs=[request.req for request in requests], req_to_token_pool=pools.requests,
            token_to_kv_pool_allocator=pools.allocator,
            tree_cache=parts.cache, model_config=parts.target.model_config, enable_overlap=True,
            device=self._device, forward_mode=mode, spec_algorithm=parts.algorithm, forward_iter=0,
            req_pool_indices=self._tensor(rows), req_pool_indices_cpu=torch.tensor(rows, dtype=torch.int64),
            can_run_decode_cuda_graph=True,
        )  # fmt: skip

    def _tensor(self, values: Sequence[int]) -> torch.Tensor:
        return torch.tensor(list(values), dtype=torch.int64, device=self._device)
