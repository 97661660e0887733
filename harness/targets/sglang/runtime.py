"""What stands around the engine's own runners and workers: model runners, tensor-parallel workers, one rank.

A model runner here holds what the real one holds and dispatches as it does: to the decode graph runner where that
can run the batch, to the model otherwise.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.base import Capture
from harness.targets.common.toy import HIDDEN, VOCAB

__all__ = ["GraphBackend", "ModelRunner", "Output", "Rank", "TpWorker", "attention_backend", "call_known"]

Tensor = torch.Tensor


class Rank:
    """A group of one process."""

    world_size = 1
    rank_in_group = 0
    is_last_rank = True
    is_first_rank = True


def attention_backend(tree: Any, token_to_kv_pool: Any, req_to_token_pool: Any) -> Any:
    """Return an attention backend without metadata: the stand-in models read rows and lengths from the batch.

    It is one of the engine's, so that whatever else a runner asks has the engine's own answer.
    """

    class Backend(tree.attention.AttentionBackend):  # type: ignore[misc]  # known at run time
        needs_cpu_seq_lens = True

        def __init__(self) -> None:
            self.token_to_kv_pool, self.req_to_token_pool = token_to_kv_pool, req_to_token_pool

        def init_forward_metadata(self, forward_batch: Any) -> None:
            """Nothing to plan for an eager forward."""

        def init_cuda_graph_state(self, max_bs: int, max_num_tokens: int) -> None:
            """Nothing to allocate."""

        def init_forward_metadata_out_graph(self, forward_batch: Any, in_capture: bool = False) -> None:
            """Nothing to plan for a replay."""

        def get_cuda_graph_seq_len_fill_value(self) -> int:
            """Return the length of a row of padding, as the engine's backends have it."""
            return 1

    return Backend()


def call_known(make: Any, **arguments: Any) -> Any:
    """Call `make` with those of the arguments that this release has."""
    known = inspect.signature(make).parameters
    return make(**{name: value for name, value in arguments.items() if name in known})


class Output(SimpleNamespace):
    """What a forward of a model runner returns."""


class GraphBackend:
    """Where the decode graph runner's captures go: into the graphs that the host makes.

    A capture keeps its outputs; a replay returns them.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._graphs: dict[Any, tuple[Callable[[], None], dict[str, Any]]] = {}

    def capture_one(self, key: Any, run_once: Callable[[], Any], **_: Any) -> None:
        """Capture one shape, warmed up as the engine's own backend does."""
        run_once()
        kept: dict[str, Any] = {}

        def forward() -> None:
            kept["output"] = run_once()

        self._graphs[key] = self._capture(forward, keep=False), kept

    def replay(self, key: Any, _forward_batch: Any) -> Any:
        """Replay the shape's graph."""
        replay, kept = self._graphs[key]
        replay()
        return kept["output"]

    def replay_session(self) -> Any:
        """Return a scope with nothing to set up."""
        return contextlib.nullcontext()

    def can_run(self, _forward_batch: Any, key: Any) -> bool:
        """Say whether the shape is captured."""
        return key in self._graphs


class ModelRunner:
    """One model with its pools. `graph` says what its last forward replayed, None for an eager one.

    `eager_inputs` are those of the last eager forward, a row a batch row.
    """

    gpu_id = 0
    is_generation = True
    prefill_attention_backend_str = "torch_native"
    lora_manager = None
    hisparse_coordinator = None
    canary_manager = None
    device_timer = None
    is_hybrid_swa = False
    sampling_prewarm_result = None
    decode_cuda_graph_runner: Any = None
    tp_rank = attn_dcp_rank = 0
    attn_dcp_size = 1
    tp_group = Rank()

    def __init__(
        self, tree: Any, model: Any, pools: Any, kv_pool: Any, algorithm: Any, *, device: str, width: int,
        context_len: int, draft: bool,
    ) -> None:  # fmt: skip
        self.model, self.device, self.is_draft_worker = model, device, draft
        self.spec_algorithm, self._width = algorithm, width
        self.req_to_token_pool, self.token_to_kv_pool = pools.requests, kv_pool
        self.token_to_kv_pool_allocator = pools.allocator
        self.attn_backend = attention_backend(tree, kv_pool, pools.requests)
        self.kv_index_translator = call_known(
            tree.translator.KVIndexTranslator, req_to_token=pools.requests.req_to_token,
            token_to_kv_pool_allocator=pools.allocator, token_to_kv_pool=kv_pool, page_size=1, device=device,
            is_draft_worker=draft,
        )  # fmt: skip
        self.server_args = tree.context.get_server_args()
        hf_config = SimpleNamespace(
            architectures=["StandIn"], model_type="stand-in", dflash_config={},
            markov_rank=1, markov_head_type="vanilla", logits_mup_width_multiplier=None,
        )  # fmt: skip
        self.model_config = SimpleNamespace(
            vocab_size=VOCAB, hidden_size=HIDDEN, dtype=torch.float32, context_len=context_len,
            is_encoder_decoder=False, model_is_mrope=False, hf_config=hf_config, hf_text_config=hf_config,
            is_multimodal=False, num_nextn_predict_layers=None, requires_mm_token_modalities=False,
            quantization=None,
        )  # fmt: skip
        self.ngram_embedding_manager = SimpleNamespace(enabled=False, update_after_verify=lambda **_: None)
        self.spec_aux_config = SimpleNamespace(draft_model_config=None)
        self.capture_head_hooks: list[Any] = []
        self.capture_tail_hooks: list[Any] = []
        self.graph_shared_output = SimpleNamespace(
            get_logits_buffer=lambda vocab, rows: torch.zeros(rows, vocab, device=device)
        )
        self.graph: int | None = None
        self.padded = 0
        self.eager_inputs: dict[str, Tensor] = {}

    def decode_num_tokens_per_req(self, num_draft_tokens: int | None = None) -> int:
        """Return the tokens of a row: of the draft block, or of the block that is verified."""
        del num_draft_tokens
        return self._width

    def attn_tp_sequence_sharded(self, _num_tokens: int) -> bool:
        """One rank holds all tokens."""
        return False

    def get_pp_proxy_topk_size(self) -> None:
        """There is one stage."""

    def get_pp_proxy_residual_num_blocks(self) -> None:
        """There is one stage."""

    def get_pp_proxy_dspark_hidden_size(self) -> None:
        """There is one stage."""

    def get_aux_hidden_states_width(self) -> None:
        """The model returns its states itself."""

    def forward(self, forward_batch: Any, **_: Any) -> Output:
        """Run a decode forward: a captured graph where one holds the batch, else the model."""
        rows = forward_batch.batch_size
        runner = self.decode_cuda_graph_runner
        if runner is not None and runner.can_run_graph(forward_batch):
            output = runner.execute(forward_batch)
            self.graph, self.padded = runner.bs, runner.bs
            return Output(logits_output=output, can_run_graph=True)
        self.graph, self.padded = None, rows
        self.eager_inputs = {
            "req_pool_indices": forward_batch.req_pool_indices,
            "seq_lens": forward_batch.seq_lens,
            "out_cache_loc": forward_batch.out_cache_loc.view(rows, -1),
            "positions": forward_batch.positions.view(rows, -1),
        }
        inputs = {} if forward_batch.input_embeds is None else {"input_embeds": forward_batch.input_embeds}
        output = self.model.forward(forward_batch.input_ids, forward_batch.positions, forward_batch, **inputs)
        return Output(logits_output=output, can_run_graph=False)


class TpWorker:
    """A tensor-parallel worker of one rank: its model runner, and the target's forwards."""

    random_seed = 0
    hicache_layer_transfer_counter = None

    def __init__(self, tree: Any, model_runner: ModelRunner) -> None:
        self._tree, self.model_runner, self.device = tree, model_runner, model_runner.device
        self.model_config = model_runner.model_config
        self.key = 0  # of the prompt being prefilled
        self.verified: Tensor | None = None  # the tokens of the last verification, anchors and drafts

    def forward_batch_generation(
        self, batch: Any = None, *, forward_batch: Any = None, is_verify: bool = False, **options: Any
    ) -> Any:
        """Verify a prepared batch, or prefill one request's chunk."""
        results = self._tree.results
        if is_verify:
            self.verified = forward_batch.input_ids
            out = self.model_runner.forward(forward_batch)
            return results.GenerationBatchResult(
                logits_output=out.logits_output, can_run_cuda_graph=out.can_run_graph
            )
        prepared = self._tree.forward.ForwardBatch.init_new(
            batch, self.model_runner,
            capture_hidden_mode=options.get("capture_hidden_mode"), return_hidden_states_before_norm=False,
        )  # fmt: skip
        output = self.model_runner.model.prefill(prepared, self.key)
        result = results.GenerationBatchResult(
            logits_output=output, next_token_ids=output.next_token_logits.argmax(-1), can_run_cuda_graph=False
        )
        if options.get("return_kv_loc_plan"):
            result.kv_loc_plan = prepared.kv_loc_plan
        return result
