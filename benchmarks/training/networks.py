"""Target and draft models as functions of their weights, for gradients: whole sequences at once, no caches.

The formulas are the engine's (`harness.engine.layers`, `draft_models`), whose own matrices are joined once and
then only read. Shapes: B sequences, T tokens, A anchors of each, W block width, H hidden, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.layers import Rope
from harness.engine.shape import ModelShape
from harness.engine.weights import Weights

__all__ = ["Blocks", "Networks"]

Tensor = torch.Tensor


class Blocks:
    """Which blocks are filled: anchors int64 [B,A], positions in their sequences; `width` rows each."""

    def __init__(self, anchors: Tensor, width: int) -> None:
        self.anchors, self.width = anchors, width
        self.positions = (anchors[..., None] + torch.arange(width)).flatten(1)  # [B,A*W]
        block = torch.arange(anchors.shape[1]).repeat_interleave(width)
        self._same_block = block[:, None] == block

    def visible(self, length: int, window: int | None) -> Tensor:
        """Return bool [B,1,A*W,T+A*W]: context before the anchor, no older than `window`, and the block."""
        anchor = self.anchors.repeat_interleave(self.width, 1)[..., None]
        column = torch.arange(length)
        context = column < anchor
        if window is not None:
            context &= column >= anchor - window
        own = self._same_block.expand(anchor.shape[0], -1, -1)
        return torch.cat([context, own], 2)[:, None]


class Networks:
    """The models of one shape over one set of weights, which may require gradients."""

    def __init__(self, shape: ModelShape, weights: Weights, length: int) -> None:
        self.shape, self.weights = shape, weights
        self._rope = Rope(shape, length, torch.float32, "cpu")

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.weights[name], self.shape.norm_eps)

    def _heads(self, x: Tensor, name: str, positions: Tensor | None) -> Tensor:
        """Return [B,heads,T,d]; turned to `positions` [B,T] and, where there is a norm of heads, normed."""
        heads: Tensor = (x @ self.weights[name].t()).view(*x.shape[:-1], -1, self.shape.head_dim)
        if positions is not None:
            if f"{name}_norm" in self.weights:
                heads = self._norm(heads, f"{name}_norm")
            heads = self._rope.rotate(heads, self._rope.at(positions))
        return heads.transpose(1, 2)

    def _finish(self, x: Tensor, name: str, attended: Tensor) -> Tensor:
        w = self.weights
        x = x + attended.transpose(1, 2).flatten(2) @ w[f"{name}.o"].t()
        y = self._norm(x, f"{name}.post_norm")
        return x + (F.silu(y @ w[f"{name}.gate"].t()) * (y @ w[f"{name}.up"].t())) @ w[f"{name}.down"].t()

    def target(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [B,T,V] and captured states [B,T,taps*H] of tokens [B,T]."""
        x = F.embedding(tokens, self.weights["target.embed"])
        positions = torch.arange(tokens.shape[1]).expand(tokens.shape[0], -1)
        states = []
        for index in range(self.shape.target_layers):
            name = f"target.{index}"
            y = self._norm(x, f"{name}.input_norm")
            q, k = self._heads(y, f"{name}.q", positions), self._heads(y, f"{name}.k", positions)
            v = self._heads(y, f"{name}.v", None)
            x = self._finish(x, name, F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))
            if index in self.shape.taps:
                states.append(x)
        return self._norm(x, "target.norm") @ self.weights["target.lm_head"].t(), torch.cat(states, -1)

    def block(self, tokens: Tensor, states: Tensor, blocks: Blocks, window: int | None) -> Tensor:
        """Return hidden states [B,A,W,H] of the blocks [anchor, masks], given captured states [B,T,taps*H]."""
        count, length = tokens.shape
        filled = torch.full((count, blocks.anchors.shape[1], blocks.width), self.shape.mask_token)
        filled[:, :, 0] = tokens.gather(1, blocks.anchors)
        x = F.embedding(filled.flatten(1), self.weights["target.embed"])
        feature = self._norm(states @ self.weights["draft.fc"].t(), "draft.hidden_norm")
        before = torch.arange(length).expand(count, -1)
        visible = blocks.visible(length, window)
        for index in range(self.shape.draft_layers):
            name = f"draft.{index}"
            y = self._norm(x, f"{name}.input_norm")
            q = self._heads(y, f"{name}.q", blocks.positions)
            k, v = (
                torch.cat([self._heads(feature, f"{name}.{part}", old), self._heads(y, f"{name}.{part}", own)], 2)
                for part, old, own in (("k", before, blocks.positions), ("v", None, None))
            )
            x = self._finish(x, name, F.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True))
        return self._norm(x, "draft.norm").view(count, -1, blocks.width, self.shape.hidden)

    def head(self, hidden: Tensor) -> Tensor:
        """Return logits [...,V] of hidden states [...,H]: the target's head, which drafters share."""
        return hidden @ self.weights["target.lm_head"].t()

    def chained(self, hidden: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """Return DSpark's logits [...,V] and its confidence as a logit [...], each row's token before it given."""
        embedded = F.embedding(before, self.weights["draft.markov_w1"])
        confidence = torch.cat([hidden, embedded], -1) @ self.weights["draft.confidence"][0]
        return self.head(hidden) + embedded @ self.weights["draft.markov_w2"].t(), confidence
