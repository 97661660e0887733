"""Sizes of the embedded models: what a checkpoint's config file would say."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ModelShape"]


@dataclass(frozen=True)
class ModelShape:
    """Sizes of target and draft models, which share width, heads and vocabulary.

    taps       0-based target layers whose *output* is captured; never the last one, whose output a real
               model only ever shows after its final norm.
    window     context tokens that DSpark keeps a slot; must exceed the draft length.
    markov_rank  rank of DSpark's head that biases a position by the token before it.
    mask_token   the id in the places that a block is to fill.
    """

    vocab: int = 64
    hidden: int = 16
    intermediate: int = 32
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 8
    target_layers: int = 2
    taps: tuple[int, ...] = (0,)
    draft_layers: int = 1
    window: int = 8
    markov_rank: int = 4
    rope_theta: float = 10000.0
    norm_eps: float = 1e-6

    @property
    def mask_token(self) -> int:
        """The last id of the vocabulary; prompts never contain it."""
        return self.vocab - 1
