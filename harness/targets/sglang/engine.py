"""The few lines of a scheduler that feed a worker, in the order in which SGLang's own overlapped loop runs them.

Rows, locations, batches, relays, metadata, graphs and steps are the engine's own. What a batch consists of, and
when a request comes and goes, the scenario says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from harness.scenario import Config
from harness.targets.base import Inspection, UnsupportedError
from harness.targets.sglang.assembly import Parts
from harness.targets.sglang.batches import Batches
from harness.targets.sglang.contexts import Contexts
from harness.targets.sglang.fields import Fields
from harness.targets.sglang.inspection import inspect_engine
from harness.targets.sglang.requests import Request
from harness.targets.sglang.rows import Rows
from harness.trace import Event

__all__ = ["SGLangEngine"]

_WARM_UP = "warm-up"


class SGLangEngine:
    """One worker at work. `batch`, `padded` and `graph` tell of the last forward.

    reserved, consumed  locations that a step found set aside for it behind the contexts, and those it wrote.
    rows_told, fields   who was refused a row and whom the relay is for; what graphs were told of the last batch.
    """

    def __init__(self, parts: Parts, config: Config, device: str) -> None:
        self.parts, self.config, self.device = parts, config, device
        self.live: dict[str, Request] = {}
        self.stepped: dict[str, Request] = {}
        self.reserved = self.consumed = 0
        self._preempted: dict[str, Request] = {}
        self.batch: tuple[str, ...] = ()
        self.padded = 0
        self.graph: int | None = None
        self._confidence: torch.Tensor | None = None
        self.contexts = Contexts(parts.pools.draft, parts.pools.requests.req_to_token)
        self._runners = [parts.target.model_runner, parts.draft]
        self._graphs = [runner.decode_cuda_graph_runner for runner in self._runners]
        self.rows_told = Rows(parts.pools.requests)
        self.batches = Batches(parts, device)
        runners = zip(self._runners, self._graphs, strict=True)
        self.fields = Fields(dict(zip(("target", "draft"), runners, strict=True)))
        self._captured: list[int] = []
        self._held: tuple[Any, ...] | None = None
        self._offer(None)

    # -- operations --------------------------------------------------------

    def begin(self) -> None:
        """Forget what the last operation showed."""
        self.batch, self.padded, self.graph, self.stepped = (), 0, None, {}
        self.reserved = self.consumed = 0
        self.rows_told.refusals.clear()

    def rows(self) -> dict[str, int]:
        """Return who holds which row."""
        return {name: request.row for name, request in self.live.items()}

    def graphs_of(self, runner: Any) -> Any:
        """Return the engine's graph runner of a model, whether it is in use or not."""
        return self._graphs[self._runners.index(runner)]

    def capture(self, bucket: int) -> None:
        """Capture a bucket of both models, the target first, as the engine does."""
        for runner, graphs in zip(self._runners, self._graphs, strict=True):
            graphs.buffers.seq_lens.fill_(graphs.seq_len_fill_value)
            graphs.buffers.seq_lens_cpu.fill_(graphs.seq_len_fill_value)
            graphs.buffers.reset_index_buffers()
            graphs.capture_one_shape(bucket, runner.model.forward)
        self._captured = sorted({*self._captured, bucket})
        self.padded = bucket

    def warmup(self, bucket: int | None) -> None:
        """Warm up as the server does: with a request of its own; or run a bucket's shape without capturing it."""
        if bucket is None:
            self.admit(_WARM_UP, 2, (), 0)
            self.step((_WARM_UP,), graph=False)
            self.finish(_WARM_UP)
            self.begin()
            return
        for runner, graphs in zip(self._runners, self._graphs, strict=True):
            batch, _, _ = graphs.capture_prepare(bucket)
            inputs = {"input_embeds": graphs.buffers.input_embeds[: batch.input_ids.numel()]}
            output = runner.model.forward(batch.input_ids, batch.positions, batch, **inputs)
            for hook in runner.capture_tail_hooks:
                hook(graphs, output, batch, batch.input_ids.numel())
        self.padded = bucket

    def admit(self, name: str, prompt_len: int, chunks: Sequence[int], cached: int) -> None:
        """Give a request a row and prefill its prompt, behind a prefix that the cache holds."""
        request = self._start(name, prompt_len)
        if cached:
            self._take_prefix(request, cached)
        for chunk in chunks or (prompt_len - cached,):
            self._prefill(request, chunk)

    def prefill(self, name: str, chunk: int) -> None:
        """Prefill the next chunk of a prompt."""
        self._prefill(self.live[name], chunk)

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Take over a request that another server prefilled: both models' keys and values come with it."""
        request = self._start(name, context_len)
        batch = self.batches.extend(request, context_len)
        prepared = self._forward_batch(batch)
        model = self.parts.target.model_runner.model
        output = model.prefill(prepared, request.key)
        self.parts.draft.model.receive(prepared.out_cache_loc, output.hidden_states)
        self._committed(request, context_len, output.next_token_logits.argmax(-1))
        self.rows_told.published([request.row])
        tokens = output.next_token_logits.argmax(-1)
        batch.spec_info = self.parts.algorithm.build_disagg_draft_input(batch, tokens, self.parts.relay)
        batch.input_ids = None
        self.batches.prefilled(request, batch)
        self._show([request], 0, None)

    def step(self, names: Sequence[str], graph: bool | None) -> None:
        """One decode step: draft, verify, accept and store, for the named requests."""
        requests = [self.live[name] for name in names]
        self._offer(False if graph is False else len(requests))
        batch = self.batches.decode(requests)
        self.reserved = sum(request.kv.kv_allocated_len - request.position for request in requests)
        self.consumed = len(requests) * (self.config.draft_len + 1)
        before = [request.position for request in requests]
        generations = [self.rows_told.made_for(request.row) for request in requests]
        result, context = self._run(batch)
        tokens = result.next_token_ids.view(len(requests), -1)
        counts = result.accept_lens.tolist()
        assert self.parts.target.verified is not None
        drafts = self.parts.target.verified.view(len(requests), -1)[:, 1:].tolist()
        confidence = None if self._confidence is None else self._confidence.tolist()
        for index, request in enumerate(requests):
            taken = tokens[index, : counts[index]].tolist()
            request.tokens += taken
            request.position += counts[index]
            request.kv.kv_committed_len = request.position
            request.drafted_at, request.emitted, request.accepted = before[index], tuple(taken), len(taken) - 1
            request.drafts, request.context = tuple(drafts[index]), context[index]
            request.generation = generations[index]
            request.confidence = tuple(confidence[index]) if confidence else ()
        self._check_held(result)
        self.stepped = {request.name: request for request in requests}
        self._show(requests, self.parts.draft.padded, self.parts.draft.graph)

    def idle(self, *, dp_dummy: bool) -> None:
        """A step of nothing, which the worker answers without a forward."""
        if dp_dummy:
            raise UnsupportedError("a data-parallel dummy needs attention data parallelism, and so more ranks")
        self.parts.worker.forward_batch_generation(self.batches.idle())

    def draft_len(self, k: int) -> None:
        """Only the configured draft length."""
        if k != self.config.draft_len:
            raise UnsupportedError(
                "SGLang's block is as long as it was configured: no other draft length at run time"
            )

    def inspect(self, events: tuple[Event, ...]) -> Inspection:
        """Show pools, relay, graph inputs and the last forward."""
        return inspect_engine(self, events)

    def close(self) -> None:
        """Let go of everything the session holds, and put back what it changed in the process."""
        self.parts.undo.close()
        self.live.clear()

    def finish(self, name: str) -> None:
        """Let a request go: its row and locations are free at once, but for those that the cache keeps."""
        request = self.live.pop(name) if name in self.live else self._preempted.pop(name)
        self._let_go(request)
        self.batches.leave(request)

    def preempt(self, name: str) -> None:
        """Retract a request: its row and locations are free at once, its tokens stay."""
        request = self.live.pop(name)
        self._let_go(request)
        self.batches.leave(request)
        request.position = 0
        self._preempted[name] = request

    def resume(self, name: str) -> None:
        """Give a retracted request a row again, and prefill all that it had said."""
        request = self._preempted.pop(name)
        self._seat(request)
        self._prefill(request, len(request.tokens))

    # -- what operations consist of ----------------------------------------

    def _offer(self, rows: int | bool | None) -> None:
        """Let the engine's runners see the graphs captured so far; none where a step is to be eager."""
        fits = rows is not None and rows is not False and bool(self._captured) and rows <= self._captured[-1]
        for runner, graphs in zip(self._runners, self._graphs, strict=True):
            graphs.capture_bs = list(self._captured) or graphs.capture_bs
            runner.decode_cuda_graph_runner = graphs if fits else None

    def _start(self, name: str, length: int) -> Request:
        request = Request.start(name, length, self.config.seed, self.parts.tree)
        self._seat(request)
        return request

    def _seat(self, request: Request) -> None:
        parts = self.parts
        parts.tree.allocation.alloc_req_slots(parts.pools.requests, [request.req], parts.cache)
        self.live[request.name] = request

    def _let_go(self, request: Request) -> None:
        """Free a request's row and locations, but for those that the prefix cache keeps."""
        if not request.kv.holds_kv:
            return
        pool, allocator = self.parts.pools.requests, self.parts.pools.allocator
        places = pool.req_to_token[request.row, : request.kv.kv_allocated_len].long()
        kept = request.kv.cache_protected_len
        if request.name != _WARM_UP and self.parts.cache.keep(request.name, places[: request.position].clone()):
            kept = request.position
        allocator.free(places[kept:])
        pool.free(request.req)
        request.kv.cache_protected_len = request.kv.kv_allocated_len = request.kv.kv_committed_len = 0

    def _take_prefix(self, request: Request, cached: int) -> None:
        """Point a request at the locations of a cached prefix. Whoever had this prompt before filled them."""
        places = self.parts.cache.take(request.name, cached)
        if places is None:
            raise UnsupportedError("a prefix hit needs an earlier request with this prompt, which has ended")
        self.parts.pools.requests.write((request.row, slice(0, cached)), places.to(torch.int32))
        request.position = request.kv.kv_committed_len = request.kv.kv_allocated_len = cached
        request.kv.cache_protected_len = cached

    def _prefill(self, request: Request, count: int) -> None:
        self.parts.target.key = request.key
        batch = self.batches.extend(request, count)
        result, _ = self._run(batch)
        if request.position + count == len(request.tokens):
            self.batches.prefilled(request, batch)
        self._committed(request, count, result.next_token_ids)
        self._show([request], 0, None)

    def _committed(self, request: Request, count: int, following: torch.Tensor) -> None:
        request.position += count
        request.kv.kv_committed_len = request.position
        if request.position == len(request.tokens):
            request.tokens.append(int(following[-1]))

    def _forward_batch(self, batch: Any) -> Any:
        return self.parts.tree.forward.ForwardBatch.init_new(
            batch, self.parts.target.model_runner, capture_hidden_mode=None, return_hidden_states_before_norm=False
        )

    def _run(self, batch: Any) -> tuple[Any, list[int]]:
        """Run a batch as the overlapped loop does: take what the last step left, forward, leave for the next."""
        relay, rows = self.parts.relay, batch.req_pool_indices
        relay.resolve_seq_lens_cpu(batch)
        self.parts.tree.relay.resolve_forward_inputs(batch, relay)
        context = batch.seq_lens.tolist()
        self._confidence = None

        def publish(new_seq_lens: torch.Tensor, confidence: torch.Tensor | None = None) -> None:
            self._confidence = confidence
            self.rows_told.published(rows.tolist())
            relay.publish(rows, new_seq_lens, confidence)

        with _put_back(batch):
            result = self.parts.worker.forward_batch_generation(batch, on_publish=publish)
            relay.stash(rows, self.parts.tree.relay.RelayPayload.from_draft_input(result.next_draft_input))
        batch.input_ids, batch.spec_info = None, result.next_draft_input
        batch.spec_info.future_indices = rows
        return result, context

    def _check_held(self, result: Any) -> None:
        """Look at the result of the step before: the scheduler reads it while this step runs."""
        if self._held is not None:
            views, copies = self._held
            if not all(torch.equal(view, copy) for view, copy in zip(views, copies, strict=True)):
                raise RuntimeError("the result of the step before was overwritten while it was still to be read")
        views = (result.next_token_ids, result.accept_lens, result.new_seq_lens)
        self._held = views, tuple(view.clone() for view in views)

    def _show(self, requests: Sequence[Request], padded: int, graph: int | None) -> None:
        self.batch = tuple(request.name for request in requests)
        self.padded, self.graph = padded, graph


@contextlib.contextmanager
def _put_back(batch: Any) -> Iterator[None]:
    """Lend a batch to a forward, which rebinds its fields: they come back, and penalties are not its to add to."""
    before = dict(vars(batch))
    batch.sampling_info = batch.sampling_info.copy_for_forward()
    try:
        yield
    finally:
        vars(batch).update(before)
