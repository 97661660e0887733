"""The few lines of a scheduler that feed vLLM's model runner, in the order in which its own core runs them.

Rows, block tables, batches, metadata, graphs, verification and drafting are the engine's own. What a batch is made
of, and when a request comes and goes, the scenario says.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from harness.scenario import Config
from harness.targets.base import Inspection, UnsupportedError
from harness.targets.vllm.assembly import Parts
from harness.targets.vllm.contexts import Contexts
from harness.targets.vllm.inspection import inspect_engine
from harness.targets.vllm.requests import Request
from harness.targets.vllm.rows import Rows
from harness.trace import Event

__all__ = ["VLLMEngine"]


class VLLMEngine:
    """One model runner at work. `batch`, `padded` and `graph` tell of the last forward.

    reserved, consumed  tokens that a step found blocks for behind the contexts, and those that it wrote.
    rows_told           who was given or refused a row, and whose results it was given.
    """

    def __init__(self, parts: Parts, config: Config, acquired: Callable[[str, int], None]) -> None:
        self.parts, self.config = parts, config
        self.live: dict[str, Request] = {}
        self.stepped: dict[str, Request] = {}
        self.reserved = self.consumed = 0
        self.batch: tuple[str, ...] = ()
        self.padded = 0
        self.graph: int | None = None
        self.lookahead: int = parts.speculator.num_query_per_req
        self.contexts = Contexts(parts)
        self._preempted: dict[str, Request] = {}
        self._known: set[str] = set()
        self._captured: list[int] = []
        self._leaving: dict[str, set[str]] = {"finished_req_ids": set(), "preempted_req_ids": set()}
        self.rows_told = Rows(parts.runner, acquired)
        self._greedy = parts.tree.sampling.SamplingParams(temperature=0.0, max_tokens=1 << 20)

    # -- operations --------------------------------------------------------

    def begin(self) -> None:
        """Forget what the last operation showed."""
        self.batch, self.padded, self.graph, self.stepped = (), 0, None, {}
        self.reserved = self.consumed = 0
        self.rows_told.refusals.clear()

    def rows(self) -> dict[str, int]:
        """Return who holds which row."""
        held = self.parts.runner.req_states.req_id_to_index
        return {name: held[name] for name in self.live if name in held}

    def retiring(self) -> list[int]:
        """Return the rows of requests that left since the last step: the next one gives them back."""
        held, rows = self.parts.runner.req_states.req_id_to_index, self.rows().values()
        left = [held[name] for names in self._leaving.values() for name in names if name in held]
        return sorted(set(left) - set(rows))

    def capture(self, bucket: int) -> None:
        """Capture a bucket of both models by the engine's own loop, the target first.

        The engine captures its largest bucket first, and what that leaves is where the target's output goes from
        then on; so the target's largest is captured before any other, whatever the scenario begins with.
        """
        if not self._captured:
            self._capture(max(self.config.buckets), self.parts.graphs[:1])
        self._captured = sorted({*self._captured, bucket})
        self._capture(bucket, self.parts.graphs)

    def _capture(self, bucket: int, managers: Sequence[Any]) -> None:
        old: list[Any] = []  # until there are new ones: with its last graph a pool of graphs would end
        for manager in self.parts.graphs:
            width = manager.decode_query_len
            buckets = self._captured or [bucket]
            manager.compilation_config = copy.copy(manager.compilation_config)
            manager.compilation_config.cudagraph_capture_sizes = [size * width for size in buckets]
            manager.compilation_config.max_cudagraph_capture_size = buckets[-1] * width
            manager._candidates.clear()
            manager._capture_descs.clear()
            manager._init_candidates()
            for mode, shapes in manager._capture_descs.items():
                wanted = [shape for shape in shapes if shape.num_reqs == bucket and manager in managers]
                manager._capture_descs[mode] = wanted
            old += [manager.graphs.pop(shape) for shape in [*manager.graphs] if shape.num_reqs == bucket]
        self.parts.runner.capture_model()

    def warmup(self, bucket: int | None) -> None:
        """Run the engine's own dummy batch without a graph: of a bucket's shape, or as many rows as there are."""
        self._eagerly(lambda: self._dummy(bucket or self.config.seats))

    def admit(self, name: str, prompt_len: int, chunks: Sequence[int], cached: int) -> None:
        """Give a request a row and prefill its prompt, behind a prefix that earlier requests left."""
        request = self.live[name] = Request.start(name, prompt_len, self.config.seed)
        copies = self.parts.blocks.share(request, cached)
        if copies is None:
            del self.live[name]
            raise UnsupportedError("a prefix hit needs an earlier request with this prompt, which has ended")
        request.position = cached
        for chunk in chunks or (prompt_len - cached,):
            self._prefill(request, chunk, copies)
            copies = []

    def prefill(self, name: str, chunk: int) -> None:
        """Prefill the next chunk of a prompt."""
        self._prefill(self.live[name], chunk)

    def admit_disaggregated(self, name: str, context_len: int) -> None:
        """Take over a request that another server prefilled: both models' keys and values come with it.

        As behind a connector's load, the last token of the prompt is computed here.
        """
        request = self.live[name] = Request.start(name, context_len, self.config.seed)
        self.parts.blocks.cover(request, context_len)
        request.position = context_len - 1
        self.contexts.receive(request)
        self._prefill(request, 1)

    def step(self, names: Sequence[str], graph: bool | None) -> None:
        """One decode step of the named requests: verify, accept, store the context, and draft."""
        requests = [self.live[name] for name in names]
        if graph is False:
            self._eagerly(lambda: self._decode(requests))
        else:
            self._decode(requests)

    def idle(self, *, dp_dummy: bool) -> None:
        """A step of nothing, or the dummy batch that a rank runs beside others that have work."""
        if dp_dummy:
            self._dummy(1)
        else:
            self._execute(self._plan())

    def draft_len(self, k: int) -> None:
        """Only the configured draft length: any other needs graphs of its own."""
        if k != self.config.draft_len:
            raise UnsupportedError("vLLM drafts fewer tokens only where a schedule of draft lengths is configured")

    def finish(self, name: str) -> None:
        """Let a request go. The runner is told with the next step, as by the engine's scheduler."""
        request = self.live.pop(name) if name in self.live else self._preempted.pop(name)
        self.parts.blocks.release(request, keep=True)
        self._leave(name, "finished_req_ids")

    def preempt(self, name: str) -> None:
        """Take a request's row and blocks; its tokens stay."""
        request = self._preempted[name] = self.live.pop(name)
        self.parts.blocks.release(request, keep=False)
        request.position = 0
        self._leave(name, "preempted_req_ids")

    def resume(self, name: str) -> None:
        """Give a preempted request a row again, and prefill all that it had said."""
        request = self.live[name] = self._preempted.pop(name)
        self._prefill(request, len(request.tokens))

    def inspect(self, events: tuple[Event, ...]) -> Inspection:
        """Show the state after the last operation."""
        return inspect_engine(self, events)

    def close(self) -> None:
        """Put back what the session changed in the process."""
        self.parts.undo.close()
        self.live.clear()

    # -- what operations consist of ----------------------------------------

    def _leave(self, name: str, kind: str) -> None:
        self._known.discard(name)
        self._leaving[kind].add(name)

    def _dummy(self, rows: int) -> None:
        self.parts.runner._dummy_run(rows * (self.config.draft_len + 1), uniform_decode=True)

    def _eagerly(self, run: Any) -> None:
        """Run something while no graph is captured, as far as the engine can see."""
        before = [manager._graphs_captured for manager in self.parts.graphs]
        try:
            for manager in self.parts.graphs:
                manager._graphs_captured = False
            run()
        finally:
            for manager, captured in zip(self.parts.graphs, before, strict=True):
                manager._graphs_captured = captured

    def _plan(self, **parts: Any) -> Any:
        """Return what a scheduler tells the runner; nobody is scheduled unless `parts` say so."""
        plan = self.parts.tree.sched.SchedulerOutput.make_empty()
        for name, value in parts.items():
            setattr(plan, name, value)
        plan.total_num_scheduled_tokens = sum(plan.num_scheduled_tokens.values())
        return plan

    def _execute(self, plan: Any) -> Any:
        """Run the plan as the engine core does; return its output, None where nobody was scheduled."""
        runner = self.parts.runner
        for kind, names in self._leaving.items():
            setattr(plan, kind, set(names))
        runner.execute_model(plan)
        for names in self._leaving.values():
            names.clear()
        return runner.sample_tokens(None).get_output() if plan.total_num_scheduled_tokens else None

    def _scheduled(self, request: Request, tokens: int, reserve: int) -> dict[str, Any]:
        """Return how a request and its new blocks are told to the runner: whole at first, then what is new."""
        sched = self.parts.tree.sched
        new = self.parts.blocks.cover(request, request.position + tokens + reserve)
        if request.name not in self._known:
            self._known.add(request.name)
            told = sched.NewRequestData(
                req_id=request.name, prompt_token_ids=request.tokens[: request.prompt_len], mm_features=[],
                sampling_params=self._greedy, pooling_params=None, lora_request=None,
                block_ids=([block.block_id for block in request.blocks],),
                num_computed_tokens=request.position, prefill_token_ids=list(request.tokens),
            )  # fmt: skip
            return {"new": told}
        return {"cached": (request.name, (new,) if new else None, request.position)}

    def _requests(self, told: Sequence[dict[str, Any]]) -> dict[str, Any]:
        cached = self.parts.tree.sched.CachedRequestData.make_empty()
        for name, blocks, position in (each["cached"] for each in told if "cached" in each):
            cached.req_ids.append(name)
            cached.new_block_ids.append(blocks)
            cached.num_computed_tokens.append(position)
            cached.num_output_tokens.append(0)
        new = [each["new"] for each in told if "new" in each]
        return {"scheduled_new_reqs": new, "scheduled_cached_reqs": cached}

    def _prefill(self, request: Request, count: int, copies: Sequence[tuple[int, int]] = ()) -> None:
        """Prefill tokens of a prompt, as many at a time as a step has room for."""
        budget = self.parts.runner.max_num_tokens
        for done in range(0, count, budget):
            self._prefill_chunk(request, min(budget, count - done), copies)
            copies = ()

    def _prefill_chunk(self, request: Request, count: int, copies: Sequence[tuple[int, int]]) -> None:
        tree, last = self.parts.tree, request.position + count == len(request.tokens)
        told = self._scheduled(request, count, self.lookahead)
        plan = self._plan(
            **self._requests([told]), num_scheduled_tokens={request.name: count}, skip_drafts=not last,
            num_spec_tokens_to_schedule=self.config.draft_len,
            kv_cache_block_copies=[tree.blocks.KVCacheBlockCopy(*pair) for pair in copies] or None,
        )  # fmt: skip
        self.parts.target.key = request.key
        try:
            output = self._execute(plan)
        finally:
            self.parts.target.key = 0
        request.position += count
        request.tokens += output.sampled_token_ids[0]
        self.batch, self.padded = (request.name,), 0

    def _decode(self, requests: Sequence[Request]) -> None:
        drafts, width = self.config.draft_len, self.config.draft_len + 1
        told = [self._scheduled(request, width, self.lookahead) for request in requests]
        plan = self._plan(
            **self._requests(told), num_scheduled_tokens={request.name: width for request in requests},
            scheduled_spec_decode_tokens={request.name: [-1] * drafts for request in requests},
            num_spec_tokens_to_schedule=drafts,
        )  # fmt: skip
        before = {request.name: request.position for request in requests}
        rows = self._fitting(len(requests))
        output = self._execute(plan)
        counts = self.parts.speculator.input_buffers.seq_lens.tolist()
        states = self.parts.runner.req_states
        for place, (name, taken) in enumerate(zip(output.req_ids, output.sampled_token_ids, strict=True)):
            request = self.live[name]
            request.tokens += taken
            request.position += len(taken)
            request.emitted, request.accepted = tuple(taken), len(taken) - 1
            request.drafts = tuple(states.draft_tokens[states.req_id_to_index[name]].tolist())
            request.context = counts[place] - self.lookahead
            request.generation = self.rows_told.made_for(states.req_id_to_index[name])
        self.stepped = {name: self.live[name] for name in output.req_ids}
        self.batch = tuple(output.req_ids)
        self.padded, self.graph = rows or len(requests), rows
        for request in requests:
            start = before[request.name]
            self.reserved += len(request.blocks) * self.parts.blocks.size - start
            self.consumed += max(start + width, request.position + self.lookahead) - start

    def _fitting(self, rows: int) -> int | None:
        """Return the bucket that the drafter's graph manager will take for so many rows, None for no graph."""
        manager = self.parts.graphs[1]
        width = manager.decode_query_len
        shape = manager.dispatch(rows, rows * width, width, 0)
        return shape.num_reqs if shape in manager.graphs else None
