"""The few lines of a model engine that feed a worker: metadata, target logits, captured states, graphs.

Everything slot-shaped is the tree's own and runs by itself: `prepare()`, the metadata's copies, the lazy
initialisation, the forwards. As in the real engine a request that is absent from a batch is, to the worker,
gone; so running requests ride along, as generation rows, in the batch that prefills another.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from harness.scenario import Config
from harness.targets.base import Capture, UnsupportedError
from harness.targets.tensorrt_llm.attention import attention_class
from harness.targets.tensorrt_llm.batch import LiveRequest, Rows
from harness.targets.tensorrt_llm.device import Device
from harness.targets.tensorrt_llm.given import Recorder
from harness.targets.tensorrt_llm.graphs import Graph
from harness.targets.tensorrt_llm.loader import Tree
from harness.targets.tensorrt_llm.managers import DraftManager, HistoryManager
from harness.targets.tensorrt_llm.parts import Parts

__all__ = ["Engine"]

_FIRST_NUMBER = 1000  # ids of real requests; warm-up has the ordinary ids below, padding the highest there are
_WARMUPS = 2  # forwards before a capture, as the real engine runs
_PADDING = (1 << 64) - 1
_ADP_DUMMY = 0


class Engine:
    """One worker at work. `batch`, `padded` and `graph` tell of the last forward."""

    def __init__(self, tree: Tree, parts: Parts, config: Config, device: Device, capture: Capture) -> None:
        self.parts, self.config, self.device = parts, config, device
        self.live: dict[str, LiveRequest] = {}
        self.graphs: dict[int, Graph] = {}
        self.draft_len = config.draft_len
        self.batch: tuple[str, ...] = ()
        self.padded = 0
        self.graph: int | None = None
        self.logger: Recorder = tree.logger
        self._attention = attention_class(tree.attention_metadata)
        self._capture = capture
        # One buffer for all eager batches, as the real engine has it.
        drafts = config.max_num_requests * config.draft_len
        self._drafts = torch.zeros(drafts, dtype=torch.int32, device=device.name)
        self._numbers = _FIRST_NUMBER
        self._names: dict[int, str] = {}
        forward = inspect.signature(type(parts.worker)._forward_impl).parameters
        self._extra = {"resource_manager": parts.resources} if "resource_manager" in forward else {}

    # -- operations --------------------------------------------------------

    def begin(self) -> None:
        """Forget what the last operation showed."""
        self.batch, self.padded, self.graph = (), 0, None
        for request in self.live.values():
            request.begin_operation()

    def capture(self, bucket: int) -> None:
        """Warm up and capture one bucket, on padding alone."""
        graph = self._graph(bucket)
        self._fill(graph, [], [self._padding_number()] * bucket)
        for _ in range(_WARMUPS):
            self._forward(graph.attention, graph.metadata, graph.inputs)
            self._prepare(graph.metadata, graph.attention, [self._padding_number()] * bucket, bucket)

        def forward() -> None:
            with self.device.capturing():
                graph.outputs = self._forward(graph.attention, graph.metadata, graph.inputs)

        graph.replay = self._capture(forward, keep=False)
        self.graphs[bucket] = graph
        self.padded = bucket

    def warmup(self, bucket: int | None) -> None:
        """Run requests with ordinary ids, which end with this forward: eagerly, or in a bucket's shape."""
        if bucket is None:
            request = LiveRequest.start("warm-up 1", 1, 2, self.config.seed)
            self._eager([(request, 0, 2)], [])
            return
        graph = self._graph(bucket)
        self._fill(graph, [], list(range(1, bucket + 1)))
        self._forward(graph.attention, graph.metadata, graph.inputs)

    def admit(self, name: str, prompt_len: int, chunks: Sequence[int]) -> None:
        """Prefill a request in chunks, the running ones riding along."""
        request = self._new(name, prompt_len)
        riders = list(self.live.values())[: self.config.max_num_requests - 1]
        self.live[name] = request
        for count in chunks or (prompt_len,):
            start = request.position
            outputs = self._eager([(request, start, count)], riders)
            last = start + count == prompt_len
            new = outputs["new_tokens"][0].tolist()[:1] if last else []
            following = outputs["next_new_tokens"][0].tolist() if last else []
            request.take(new, following, count)
            request.accepted = 0
            self._take(riders, outputs, offset=1)
            if self.draft_len == 0:
                request.context_lost = True  # the worker stood aside and stored nothing
        self.batch = (name, *(rider.name for rider in riders))
        self.padded = len(self.batch)

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Take over a request that was prefilled elsewhere; it is first seen in the next step."""
        request = self._new(name, context_len)
        rows = Rows()
        rows.add_context(request, 0, context_len)
        request.take(rows.targets, [*rows.targets, *([0] * self.draft_len)], context_len)
        request.accepted = 0
        self.live[name] = request
        if isinstance(self.parts.manager, HistoryManager):
            self.parts.manager.import_history(request.number, rows.states(), self._reach(request))

    def step(self, names: Sequence[str], graph: bool | None) -> None:
        """One decode step of the named requests, in the smallest captured bucket that fits, or eagerly."""
        requests = [self.live[name] for name in names]
        fitting = [bucket for bucket in self.graphs if bucket >= len(requests)]
        if graph and self.draft_len == 0:
            raise UnsupportedError("graphs are captured with drafts; at draft length 0 steps are eager")
        if graph is False or not fitting or self.draft_len == 0:
            self._take(requests, self._eager([], requests))
            self.padded = len(requests)
        else:
            bucket = min(fitting)
            padding = [self._padding_number()] * (bucket - len(requests))
            outputs = self._replay(self.graphs[bucket], requests, padding)
            self._take(requests, outputs)
        self.batch = tuple(names)

    def idle(self) -> None:
        """A step of nothing but the data-parallel dummy, padded where a graph is there."""
        if not self.graphs or self.draft_len == 0:
            raise UnsupportedError("a data-parallel dummy needs a captured bucket and drafting")
        bucket = min(self.graphs)
        self._replay(self.graphs[bucket], [], [_ADP_DUMMY, *[self._padding_number()] * (bucket - 1)])

    def finish(self, name: str) -> None:
        """Let a request go. The worker hears of it in the next batch."""
        request = self.live.pop(name)
        if isinstance(self.parts.manager, HistoryManager):
            self.parts.manager.forget(request.number)
        elif isinstance(self.parts.manager, DraftManager):
            self.parts.manager.release(request.number)

    def rebind(self) -> None:
        """Replace the cache manager under the live requests; graphs captured before are void."""
        if self.parts.manager is None:
            raise UnsupportedError(
                f"{self.parts.shape.family} keeps its context itself: there is no manager to replace"
            )
        self.parts.resources.manager = self.parts.manager.replaced()
        self.graphs.clear()

    def set_draft_len(self, length: int) -> None:
        """Draft in full from here on, or not at all."""
        if length not in (0, self.config.draft_len):
            raise UnsupportedError("these workers draft their whole block or nothing")
        if length == 0 and not self.parts.shape.skips:
            raise UnsupportedError(f"{self.parts.shape.family} has no way to stand aside at draft length 0")
        self.draft_len = length

    def name_of(self, number: int) -> str:
        """Return the request that has an id, a made-up name for warm-up's."""
        return self._names.get(number, f"warm-up {number}")

    # -- forwards ----------------------------------------------------------

    def _eager(self, contexts: Sequence[tuple[LiveRequest, int, int]], generations: Sequence[LiveRequest]) -> Any:
        rows = Rows()
        for request, start, count in contexts:
            rows.add_context(request, start, count)
        rows.add_generations(generations, self.draft_len)
        members = [*(request for request, _, _ in contexts), *generations]
        self._check_reach(members)
        metadata, name = self.parts.metadata, self.device.name
        attention = self._new_attention(len(contexts), rows.lengths)
        drafts = self._drafts[: len(rows.drafts)]
        drafts.copy_(torch.tensor(rows.drafts, dtype=torch.int32))
        metadata.draft_tokens = drafts if rows.drafts else None
        states = rows.states()
        metadata.captured_hidden_states[: len(states)] = states.to(name)
        inputs = {
            "input_ids": torch.tensor(rows.tokens, dtype=torch.long, device=name),
            "position_ids": torch.tensor([rows.positions], dtype=torch.long, device=name),
            "hidden_states": torch.zeros(1, states.shape[1], device=name),
            "logits": rows.logits().to(name),
        }
        tracked = set(self.parts.worker._req_to_slot)
        self._reserve(attention, members)
        numbers = [request.number for request in members]
        self._prepare(metadata, attention, numbers, len(generations), rows.positions)
        outputs = self._forward(attention, metadata, inputs)
        self._note_lost(tracked, numbers, generations)
        return outputs

    def _replay(self, graph: Graph, requests: Sequence[LiveRequest], padding: Sequence[int]) -> Any:
        tracked = set(self.parts.worker._req_to_slot)
        self._check_reach(requests)
        self._fill(graph, requests, padding)
        assert graph.replay is not None
        graph.replay()
        self.graph, self.padded = graph.bucket, graph.bucket
        self._note_lost(tracked, [request.number for request in requests], requests)
        return graph.outputs

    def _graph(self, bucket: int) -> Graph:
        if self.draft_len == 0:
            raise UnsupportedError("graphs are captured with drafts; at draft length 0 there is no such shape")
        with self.device.computing():
            metadata = self.parts.metadata.create_cuda_graph_metadata(bucket)
        width = self.config.draft_len + 1
        return Graph.allocate(bucket, width, metadata, self._new_attention(0, [width] * bucket), self.device.name)

    def _fill(self, graph: Graph, requests: Sequence[LiveRequest], padding: Sequence[int]) -> None:
        """Write the inputs of a replay and prepare it."""
        rows = Rows()
        rows.add_generations(requests, self.draft_len)
        rows.add_padding(len(padding), self.draft_len)
        graph.write(rows)
        self._reserve(graph.attention, requests, padding)
        numbers = [*(request.number for request in requests), *padding]
        self._prepare(graph.metadata, graph.attention, numbers, graph.bucket, rows.positions)

    def _prepare(
        self, metadata: Any, attention: Any, numbers: Sequence[int], generations: int,
        positions: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """What the real engine does before a forward."""
        metadata.request_ids, metadata.num_generations = list(numbers), generations
        metadata.runtime_draft_len = self.draft_len
        metadata.runtime_tokens_per_gen_step = self.draft_len + 1
        if positions is not None:
            metadata.num_tokens = len(positions)
            if hasattr(metadata, "host_position_ids"):
                metadata.host_position_ids = list(positions)
        with self.device.computing():
            metadata.prepare()
            if self.parts.shape.prepares:
                self.parts.worker.prepare_managed_draft_cache(
                    self.parts.drafter, metadata, attention, self.parts.resources
                )

    def _forward(self, attention: Any, metadata: Any, inputs: dict[str, torch.Tensor]) -> Any:
        with self.device.computing():
            return self.parts.worker(
                **inputs, attn_metadata=attention, spec_metadata=metadata, draft_model=self.parts.drafter,
                **self._extra,
            )  # fmt: skip

    # -- bookkeeping -------------------------------------------------------

    def _new(self, name: str, length: int) -> LiveRequest:
        request = LiveRequest.start(name, self._numbers, length, self.config.seed)
        self._names[self._numbers] = name
        self._numbers += 1
        return request

    def _new_attention(self, contexts: int, lengths: Sequence[int]) -> Any:
        manager = self.parts.manager
        attention = self._attention(contexts, lengths, self.parts.max_seq_len, self.device.name, manager)
        if isinstance(manager, DraftManager):
            shape = (1, len(lengths), 2, manager.max_blocks_per_seq)
            attention.draft_kv_cache_block_offsets = torch.zeros(shape, dtype=torch.int32, device=self.device.name)
        return attention

    def _reach(self, request: LiveRequest) -> int:
        """Return the tokens that pages are needed for: this step's, and the next block behind them."""
        return max(request.position, len(request.prompt)) + 2 * (self.config.draft_len + 1)

    def _reserve(self, attention: Any, requests: Sequence[LiveRequest], others: Sequence[int] = ()) -> None:
        """Give every row its pages, padding and warm-up included: those are requests too."""
        manager, spare = self.parts.manager, 2 * (self.config.draft_len + 1)
        if isinstance(manager, DraftManager):
            tokens = {request.number: self._reach(request) for request in requests}
            manager.fill_offsets(attention.draft_kv_cache_block_offsets, tokens, others, spare)
        elif isinstance(manager, HistoryManager):
            for request in requests:
                manager.track(request.number, request.position, self._reach(request))
            for number in others:
                if 0 < number < _FIRST_NUMBER:
                    manager.track(number, 0, spare, dummy=True)

    def _check_reach(self, requests: Sequence[LiveRequest]) -> None:
        for request in requests:
            if self._reach(request) > self.parts.max_seq_len:
                raise UnsupportedError(
                    f"{request.name} rode along in so many batches that it passes {self.parts.max_seq_len} tokens"
                )

    def _padding_number(self) -> int:
        return _PADDING - self.config.draft_len

    def _take(self, requests: Sequence[LiveRequest], outputs: Any, offset: int = 0) -> None:
        """Read what a forward gave its generations."""
        if not requests:
            return
        lengths = outputs["new_tokens_lens"].tolist()
        tokens, following = outputs["new_tokens"].tolist(), outputs["next_new_tokens"].tolist()
        for row, request in enumerate(requests, offset):
            request.take(tokens[row][: lengths[row]], following[row], lengths[row])

    def _note_lost(self, tracked: set[int], numbers: Sequence[int], generations: Sequence[LiveRequest]) -> None:
        """Mark the live requests whose context the worker gave away because they were absent from a batch."""
        if self.draft_len == 0:
            for request in generations:
                request.context_lost = True
        if self.parts.shape.prepares:
            return  # lengths come back from the manager's history
        for request in self.live.values():
            if request.number in tracked and request.number not in self.parts.worker._req_to_slot:
                request.context_lost = request.context_lost or request.number not in numbers
