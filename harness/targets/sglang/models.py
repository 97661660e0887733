"""Stand-in models: a target that follows a rule, and drafters that follow it if their context is whole.

Each reads what a real model's attention reads, the pool's keys and values at `req_to_token[row, :length]`, and
writes what it writes, one entry a token at `out_cache_loc`. A stored state says whose it is and where it stands
(see `harness.targets.common.toy`), so a row, location or length that is not the request's own changes what
is drafted. Everything is tensor operations: it runs in a captured graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

from harness.targets.common.toy import (
    HIDDEN,
    JUNK_KEY,
    VOCAB,
    chain,
    find_key,
    next_tokens,
    one_hot,
    states_of,
)

__all__ = ["HEADS", "LAYERS", "WIDTH", "DFlashDrafter", "DSparkDrafter", "TargetModel"]

Tensor = torch.Tensor
LAYERS = 2
HEADS = 2
WIDTH = HIDDEN // HEADS


class _Memory:
    """A KV pool as a model sees it."""

    def __init__(self, pool: Any, req_to_token: Tensor) -> None:
        self.pool, self.req_to_token = pool, req_to_token
        self._columns = torch.arange(req_to_token.shape[1], device=req_to_token.device)
        self.layers = [SimpleNamespace(layer_id=i, k_scale=None, v_scale=None) for i in range(LAYERS)]

    def key(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Return the key [rows] that the whole context of each row agrees on, 0 where it does not."""
        places = self.req_to_token[rows].long()
        due = self._columns < lengths.unsqueeze(1)
        found = None
        for layer in range(LAYERS):
            for buffer in (self.pool.get_key_buffer(layer), self.pool.get_value_buffer(layer)):
                states = buffer[places].reshape(*places.shape, HIDDEN)
                key = find_key(states, self._columns.expand_as(places), due)
                found = key if found is None else torch.where(found == key, key, 0)
        assert found is not None
        return found

    def write(self, places: Tensor, states: Tensor) -> None:
        """Store one state a token in every layer."""
        rows = states.view(-1, HEADS, WIDTH)
        for layer in self.layers:
            self.pool.set_kv_buffer(layer, places, rows, rows)


class _Embedding:
    """One-hot rows: a token can be read back from its embedding."""

    def __init__(self, device: str) -> None:
        self.weight = torch.eye(VOCAB, HIDDEN, device=device)

    def __call__(self, tokens: Tensor) -> Tensor:
        return one_hot(tokens, HIDDEN)


class TargetModel:
    """The target: the next token follows from the token, the request's key and the position."""

    shared_experts_config = None

    def __init__(self, tree: Any, pool: Any, req_to_token: Tensor, device: str) -> None:
        self._memory, self._output = _Memory(pool, req_to_token), tree.logits.LogitsProcessorOutput
        self._embedding = _Embedding(device)
        self.lm_head = SimpleNamespace(weight=torch.eye(VOCAB, HIDDEN, device=device), org_vocab_size=VOCAB)

    def get_input_embeddings(self) -> _Embedding:
        """Return what turns tokens into inputs."""
        return self._embedding

    def modules(self) -> Iterator[Any]:
        """There is no logits processor of the engine's in it."""
        return iter(())

    def forward(self, input_ids: Tensor, positions: Tensor, forward_batch: Any, **_: Any) -> Any:
        """Verify a block a row: logits and states [tokens, ...]. States behind a wrong draft are junk."""
        rows = forward_batch.batch_size
        tokens, places = input_ids.view(rows, -1), positions.view(rows, -1)
        keys = self._memory.key(forward_batch.req_pool_indices, forward_batch.seq_lens).unsqueeze(1)
        following = next_tokens(tokens, keys, places)
        agrees = (tokens[:, 1:] == following[:, :-1]).long().cumprod(1)
        agrees = torch.cat([torch.ones_like(tokens[:, :1]), agrees], 1).bool()
        states = states_of(torch.where(agrees, keys, JUNK_KEY).reshape(-1), places.reshape(-1))
        self._memory.write(forward_batch.out_cache_loc, states)
        return self._output(next_token_logits=one_hot(following.reshape(-1)), hidden_states=states)

    def prefill(self, forward_batch: Any, key: int) -> Any:
        """Compute a chunk of one prompt, whose key is known: logits of its last token, states of all."""
        positions = forward_batch.positions
        keys = torch.full_like(positions, key)
        states = states_of(keys, positions)
        self._memory.write(forward_batch.out_cache_loc, states)
        following = next_tokens(forward_batch.input_ids[-1:].long(), keys[-1:], positions[-1:])
        return self._output(next_token_logits=one_hot(following), hidden_states=states)


class _Drafter:
    """What both draft models share: a block of mask tokens behind an anchor, filled in one forward.

    first  the step that the first row of a block predicts: its own position (0, nothing to predict) or the next.
    """

    first = 0
    block_size: int | None = None
    is_nemotron_35_draft = False
    candidate_selector = None
    lilicorr = None
    shared_experts_config = None
    supports_fused_context_kv = False
    supports_pre_gather_target_hidden_projection = False

    def __init__(self, tree: Any, pool: Any, req_to_token: Tensor, device: str) -> None:
        self._memory, self._output = _Memory(pool, req_to_token), tree.logits.LogitsProcessorOutput
        self.config = SimpleNamespace(hidden_size=HIDDEN)
        self._embedding = _Embedding(device)

    def get_input_embeddings(self) -> _Embedding:
        """Return what turns tokens into inputs."""
        return self._embedding

    def modules(self) -> Iterator[Any]:
        """There is no quantized layer in it."""
        return iter(())

    def receive(self, places: Tensor, states: Tensor) -> None:
        """Take over the context that another server computed, at these locations."""
        self._memory.write(places, states)

    def forward(
        self, input_ids: Tensor, positions: Tensor, forward_batch: Any, input_embeds: Tensor | None = None
    ) -> Any:
        """Return hidden states [tokens, HIDDEN] that name the token which each row predicts.

        The block's own keys and values are written first, as attention does, at its locations.
        """
        del input_ids  # a graph's padding keeps stale ids there: the model is given embeddings
        assert input_embeds is not None, "drafters are given embeddings"
        rows = forward_batch.batch_size
        self._memory.write(forward_batch.out_cache_loc, states_of(torch.full_like(positions, JUNK_KEY), positions))
        anchors = input_embeds.view(rows, -1, HIDDEN)[:, 0, :VOCAB].argmax(-1)
        key = self._memory.key(forward_batch.req_pool_indices, forward_batch.seq_lens)
        steps = torch.arange(positions.numel() // rows, device=positions.device) + self.first
        return self._output(next_token_logits=None, hidden_states=one_hot(chain(anchors, key, steps), HIDDEN).view(
            -1, HIDDEN
        ))  # fmt: skip


class DFlashDrafter(_Drafter):
    """DFlash: row j of the block predicts its own position; the worker stores the context layer by layer."""

    def __init__(self, tree: Any, pool: Any, req_to_token: Tensor, device: str) -> None:
        super().__init__(tree, pool, req_to_token, device)
        self.layers = [SimpleNamespace(self_attn=_attention(layer)) for layer in self._memory.layers]

    def set_block_size(self, size: int) -> None:
        """Note the block size that the worker decided on."""
        self.block_size = size

    def project_target_hidden(self, states: Tensor) -> Tensor:
        """Keep the captured states as they are."""
        return states

    def prepare_context_hidden_for_kv(self, _layer: Any, states: Tensor) -> Tensor:
        """Keep them for every layer."""
        return states


def _attention(layer: Any) -> SimpleNamespace:
    def keep(_positions: Tensor, keys: Tensor) -> Tensor:
        return keys

    project: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda states: (states, states.clone())  # noqa: E731
    return SimpleNamespace(
        kv_proj_only=project, apply_k_norm=lambda keys: keys, apply_k_rope=keep, attn=layer,
        num_kv_heads=HEADS, head_dim=WIDTH,
    )  # fmt: skip


class DSparkDrafter(_Drafter):
    """DSpark: row j predicts the next position, sampled one by one with a bias from the token before."""

    first = 1
    sample_from_anchor = True

    def __init__(self, tree: Any, pool: Any, req_to_token: Tensor, device: str) -> None:
        super().__init__(tree, pool, req_to_token, device)
        self.markov_head = _MarkovHead()
        self.confidence_head = SimpleNamespace(proj=SimpleNamespace(weight=torch.ones(1, device=device)))
        self.lm_head = SimpleNamespace(org_vocab_size=VOCAB)

    def attach_shared_modules(self, embed_tokens: Any, lm_head: Any) -> None:
        """Take the target's embedding and head."""
        self.embed_tokens, self.lm_head = embed_tokens, lm_head

    def compute_base_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [rows, VOCAB] and the features of the confidence head."""
        logits = hidden[:, :VOCAB].contiguous()
        return logits, logits

    def compute_confidence(
        self, *, anchor_tokens: Tensor, draft_tokens: Tensor, confidence_features: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return how likely each draft is accepted [rows, drafts]: less the further it is."""
        del anchor_tokens, confidence_features
        steps = torch.arange(draft_tokens.shape[1], device=draft_tokens.device, dtype=torch.float32)
        confidence = (1.0 / (1.0 + steps)).expand(draft_tokens.shape).contiguous()
        return confidence, confidence

    def write_target_hidden_kv(
        self,
        *,
        target_hidden: Tensor,
        pool: Any,
        positions: Tensor,
        cache_loc: Tensor,
        cache_loc_2d: Tensor | None = None,
        commit_lens: Tensor | None = None,
        target_hidden_is_projected: bool = False,
    ) -> None:
        """Store the context: all tokens of a prompt, or of each row those that were committed."""
        del positions, target_hidden_is_projected
        if cache_loc_2d is None:
            self._memory.write(cache_loc, target_hidden)
            return
        rows = target_hidden.view(-1, HEADS, WIDTH)
        for layer in self._memory.layers:
            pool.set_kv_buffer_prefix_valid(layer, cache_loc_2d, commit_lens, rows, rows.clone())


class _MarkovHead:
    """A bias from the token before: too small to change a choice, so that a wrong choice has another cause."""

    vocab_shard = None
    vocab_size = VOCAB

    def step_logits_dtype(self, _dtype: torch.dtype) -> torch.dtype:
        """Return the type of step logits."""
        return torch.float32

    def greedy_w2_weight(self) -> None:
        """There is no factored bias for the fused kernel."""

    def init_state(self, _hidden: Tensor | None) -> None:
        """The bias depends on the last token alone."""

    def step_bias(self, tokens: Tensor, *, hidden_states: Tensor | None, state: None) -> tuple[Tensor, None]:
        """Return the bias [rows, VOCAB] after `tokens`."""
        del hidden_states
        return one_hot(tokens) * 0.25, state

    def parameters(self) -> Iterator[Tensor]:
        """Yield what a type is read from."""
        yield torch.zeros(1)

    def sample_block(
        self,
        base_logits: Tensor,
        *,
        first_prev_tokens: Tensor,
        hidden_states: Tensor | None,
        sampler: Callable[[Tensor, int], Tensor],
        collect_corrected: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Sample a block step by step; releases before 0.5.22 leave that to the model."""
        tokens, previous, corrected = [], first_prev_tokens, []
        for step in range(base_logits.shape[1]):
            bias, _ = self.step_bias(previous, hidden_states=hidden_states, state=None)
            corrected.append(base_logits[:, step] + bias)
            previous = sampler(corrected[-1], step)
            tokens.append(previous)
        return torch.stack(tokens, 1), torch.stack(corrected, 1) if collect_corrected else None
