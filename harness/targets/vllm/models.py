"""Stand-in models: a target that follows a rule, and drafters that follow it if their context is whole.

Each reads what a real model's attention reads, the cache blocks of its request's block table up to its length, and
writes what it writes, one entry a token at its slot, nothing at a padding slot. A stored state says whose it is
and where it stands (see `harness.targets.common.toy`), so a block, slot or length that is not the request's own
changes what is drafted. Everything is tensor operations: it runs in a captured graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

__all__ = ["HEADS", "LAYERS", "WIDTH", "DFlashDrafter", "DSparkDrafter", "Memory", "TargetModel", "layer_class"]

Tensor = torch.Tensor
LAYERS = 2
HEADS = 2
WIDTH = HIDDEN // HEADS


def layer_class(tree: Any) -> Any:
    """Return a cache layer with its attention backend, made of the engine's own base classes.

    A layer's metadata is the engine's common metadata itself: the stand-in models read it as it is.
    """

    class Builder(tree.attention.AttentionMetadataBuilder):  # type: ignore[misc]  # known at run time
        _cudagraph_support = tree.attention.AttentionCGSupport.UNIFORM_BATCH

        def __init__(self, kv_cache_spec: Any, *_: Any) -> None:
            self.kv_cache_spec = kv_cache_spec

        def build(self, common_prefix_len: int, common_attn_metadata: Any, **_: Any) -> Any:
            del common_prefix_len
            return common_attn_metadata

    class Backend(tree.attention.AttentionBackend):  # type: ignore[misc]  # known at run time
        @staticmethod
        def get_name() -> str:
            return "STAND_IN"

        @staticmethod
        def get_impl_cls() -> type:
            raise NotImplementedError

        @staticmethod
        def get_builder_cls() -> type:
            return Builder

    class Layer(tree.layers.AttentionLayerBase):  # type: ignore[misc]  # known at run time
        def __init__(self, spec: Any) -> None:
            self.spec = spec

        def get_attn_backend(self) -> type:
            return Backend

        def get_kv_cache_spec(self, _vllm_config: Any) -> Any:
            return self.spec

    return Layer


class Memory:
    """The cache of one model: its layers' blocks, as the engine allocated and bound them."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self._layers = layers

    def key(self, block_table: Tensor, lengths: Tensor) -> Tensor:
        """Return the key [rows] that the whole context of each row agrees on, 0 where it does not."""
        found = None
        for states in self.contexts(block_table):
            columns = torch.arange(states.shape[1], device=states.device)
            key = find_key(states, columns.expand(states.shape[:2]), columns < lengths.unsqueeze(1))
            found = key if found is None else torch.where(found == key, key, 0)
        assert found is not None
        return found

    def contexts(self, block_table: Tensor) -> Iterator[Tensor]:
        """Yield, for keys and values of each layer, the states [rows, columns, HIDDEN] at a block table."""
        rows = len(block_table)
        for layer in self._layers:
            # [blocks, heads, tokens, keys and values] -> [rows, columns, heads, ...]
            cells = layer.kv_cache[block_table.long()].transpose(2, 3).reshape(rows, -1, HEADS, 2 * WIDTH)
            yield cells[..., :WIDTH].flatten(2)
            yield cells[..., WIDTH:].flatten(2)

    def write(self, slots: Tensor, states: Tensor) -> None:
        """Store one state a token in every layer, at slots that are not padding."""
        rows = states.view(-1, HEADS, WIDTH)
        cells = torch.cat([rows, rows], -1)
        real = (slots >= 0).view(-1, 1, 1)
        at = slots.clamp(min=0)
        for layer in self._layers:
            size = layer.kv_cache.shape[2]
            place = (at // size, slice(None), at % size)
            layer.kv_cache[place] = torch.where(real, cells, layer.kv_cache[place])


class _Model:
    """What both kinds of model share: a cache, and what their layers are told for the present forward."""

    def __init__(self, tree: Any, names: Sequence[str], layers: Sequence[Any]) -> None:
        self._context, self._names = tree.context.get_forward_context, names
        self.memory = Memory(layers)

    def modules(self) -> Iterator[Any]:
        """There is no module of the engine's in it."""
        return iter(())

    def _told(self) -> tuple[Any, Tensor]:
        """Return metadata and slots of this forward; every layer was told the same."""
        context = self._context()
        metadata = [context.attn_metadata[name] for name in self._names]
        slots = [context.slot_mapping[name] for name in self._names]
        assert all(each is metadata[0] for each in metadata)
        assert all(each.data_ptr() == slots[0].data_ptr() for each in slots)
        return metadata[0], slots[0]


class TargetModel(_Model):
    """The target: the next token follows from the token, the request's key and the position.

    `key` is that of the prompt being prefilled, 0 in a decode step; `verified` the tokens of the last step.
    """

    key = 0
    verified: Tensor | None = None

    def set_aux_hidden_state_layers(self, layers: Sequence[int]) -> None:
        """Every layer's states are the same."""

    def __call__(self, input_ids: Tensor, positions: Tensor, **_: Any) -> tuple[Tensor, list[Tensor]]:
        """Return what names the token after each token, and the states that a drafter is given, a tensor a layer.

        Of a block to verify, states behind a wrong draft are junk.
        """
        metadata, slots = self._told()
        tokens = input_ids.long()
        if self.key:
            keys = torch.full_like(positions, self.key)
            following = next_tokens(tokens, keys, positions)
            states = states_of(keys, positions)
        else:
            blocks = tokens.view(metadata.num_reqs, -1)
            places = positions.view(blocks.shape)
            width = blocks.shape[1]
            found = self.memory.key(metadata.block_table_tensor, metadata.seq_lens - width).unsqueeze(1)
            said = next_tokens(blocks, found, places)
            agrees = (blocks[:, 1:] == said[:, :-1]).long().cumprod(1)
            agrees = torch.cat([torch.ones_like(blocks[:, :1]), agrees], 1).bool()
            states = states_of(torch.where(agrees, found, JUNK_KEY).reshape(-1), positions)
            following = said.reshape(-1)
        self.memory.write(slots[: len(tokens)], states)
        return one_hot(following, HIDDEN), [states, states.clone()]

    def compute_logits(self, hidden: Tensor) -> Tensor:
        """Return logits [rows, VOCAB]."""
        return hidden[:, :VOCAB].contiguous()


class _Drafter(_Model):
    """What both draft models share: a block of mask tokens behind an anchor, filled in one forward.

    first  the step that the first row of a block predicts: its own position (0, nothing to predict) or the next.
    """

    first = 0
    draft_id_to_target_id = None

    def combine_hidden_states(self, states: Tensor) -> Tensor:
        """Return one state a token of the target layers' [tokens, layers * HIDDEN]: theirs, where they agree."""
        layers: Tensor = states.unflatten(-1, (-1, HIDDEN))
        alike = (layers == layers[:, :1]).all(-1).all(-1, keepdim=True)
        return torch.where(alike, layers[:, 0], 0.0)

    def precompute_and_store_context_kv(
        self, states: Tensor, positions: Tensor, slots: Tensor | None = None
    ) -> None:
        """Store the context of tokens that the target computed; without slots it is a dummy's, and nobody's."""
        del positions  # a state says where it stands
        if slots is not None:
            self.memory.write(slots, states)

    def __call__(self, input_ids: Tensor, positions: Tensor, inputs_embeds: Tensor | None = None) -> Tensor:
        """Return hidden states [tokens, HIDDEN] that name the token which each row predicts.

        The block's own keys and values are written first, as attention does, at its slots.
        """
        assert inputs_embeds is None
        metadata, slots = self._told()
        blocks = input_ids.long().view(metadata.num_reqs, -1)
        width = blocks.shape[1]
        self.memory.write(slots[: len(positions)], states_of(torch.full_like(positions, JUNK_KEY), positions))
        key = self.memory.key(metadata.block_table_tensor, metadata.seq_lens - width)
        steps = torch.arange(width, device=blocks.device) + self.first
        named = one_hot(chain(blocks[:, 0], key, steps).reshape(-1), HIDDEN)
        # No two steps of a request leave the same logits behind.
        return named * (1.0 + positions.unsqueeze(1) / 1024.0)

    def compute_logits(self, hidden: Tensor) -> Tensor:
        """Return draft logits [rows, VOCAB]."""
        return hidden[:, :VOCAB].contiguous()


class DFlashDrafter(_Drafter):
    """DFlash: row j of the block predicts its own position."""


class DSparkDrafter(_Drafter):
    """DSpark: row j predicts the next position, sampled one by one with a bias from the token before."""

    first = 1
    compute_draft_logits = _Drafter.compute_logits

    def markov_embed(self, tokens: Tensor) -> Tensor:
        """Return what the bias after `tokens` is made of."""
        return one_hot(tokens)

    def markov_bias(self, embedded: Tensor) -> Tensor:
        """Return a bias too small to change a choice, so that a wrong choice has another cause."""
        return embedded * 0.25

    def map_draft_to_target(self, tokens: Tensor) -> Tensor:
        """Both have one vocabulary."""
        return tokens
