"""The draft models: a shared block-diffusion backbone, and the heads that make DSpark of it.

Architecture after the `dflash` 0.1.0 package (`DFlashDraftModel`) and, for DSpark's heads, DeepSpec's Markov
and confidence heads; formulas restated, see docs/architecture.md.
Shapes: B batch rows, T context tokens, W block width, K drafted tokens, L draft layers, n key/value heads,
d head width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.layers import Layer, Normalize, Rope, attend, attention_bias, joined
from harness.engine.sampling import pick_greedily
from harness.engine.shape import ModelShape
from harness.engine.target_model import TargetModel
from harness.engine.weights import Weights

__all__ = ["DFlashModel", "DSparkModel", "DraftModel", "Proposal"]

Tensor = torch.Tensor
# (logits [B,V] of a place, or [B,n,V] of several; the first place) -> tokens [B] or [B,n]
Pick = Callable[[Tensor, int], Tensor]


class Proposal(NamedTuple):
    """Drafted tokens [B,K]; confidence [B,K] in 0..1, None where the model has no such head."""

    drafts: Tensor
    confidence: Tensor | None


class DraftModel:
    """Backbone: captured states become each layer's context K/V; one non-causal forward fills a block.

    width  tokens of a block: the anchor and the masks behind it.
    """

    def __init__(
        self, shape: ModelShape, weights: Weights, rope: Rope, target: TargetModel, draft_len: int, width: int
    ) -> None:
        self.shape = shape
        self.draft_len = draft_len
        self.width = width
        self._rope = rope
        self._target = target
        self._fc = weights["draft.fc"].t().contiguous()
        self._norm = Normalize(shape.hidden, shape.norm_eps, self._fc)
        self._gain = weights["draft.norm"] * self._norm.scale
        layers = range(shape.draft_layers)
        self._layers = [Layer(shape, weights, f"draft.{index}") for index in layers]
        # One product gives every layer's context keys, then every layer's values.
        matrices = [weights[f"draft.{index}.{part}"] for part in "kv" for index in layers]
        self._context = joined(self._norm, weights["draft.hidden_norm"], *matrices)
        self._head_norm = Normalize(shape.head_dim, shape.norm_eps, self._fc)
        gains = torch.stack([weights[f"draft.{index}.k_norm"] for index in layers])
        self._context_gain = (gains * self._head_norm.scale)[:, None]  # [L,1,d]
        self._offsets = torch.arange(width, device=self._fc.device)
        self._zero = self._fc.new_zeros(())
        self._masks = torch.full((width - 1,), shape.mask_token, device=self._fc.device)
        self._head = target.draft_head.t().contiguous()

    def context_rows(self, states: Tensor, positions: Tensor) -> Tensor:
        """Return [B,T,L,2,n,d]: keys (normed, turned) and values of captured states [B*T,taps*H]."""
        s = self.shape
        feature = self._norm(torch.mm(states, self._fc))
        rows = torch.mm(feature, self._context).view(*positions.shape, 2, s.draft_layers, s.kv_heads, s.head_dim)
        keys, values = rows.unbind(2)
        cos, sin = self._rope.at(positions)
        at = cos.unsqueeze(2), sin.unsqueeze(2)  # the same turn for every layer
        return torch.stack([self._rope.rotate(self._head_norm(keys) * self._context_gain, at), values], 3)

    def block(self, anchor: Tensor, position: Tensor, context: Tensor, hidden_context: Tensor) -> Tensor:
        """Return hidden states [B,W,H] of the block [anchor, masks] that starts at `position` [B].

        context is [B,L,C,2,n,d]; hidden_context [B,C] is True on columns that are not valid. Every block
        row sees all valid context and the whole block.
        """
        b = anchor.shape[0]
        tokens = torch.cat([anchor[:, None], self._masks.expand(b, -1)], 1)
        rope = self._rope.at(position[:, None] + self._offsets)
        # Padded with False: a block's own columns are never hidden.
        bias = attention_bias(F.pad(hidden_context, (0, self.width))[:, None], self._zero)
        x = self._target.embed(tokens.view(-1))
        for index, layer in enumerate(self._layers):
            q, k, v = layer.project(x, self._rope, rope)
            old_keys, old_values = context[:, index].unbind(2)
            attended = attend(q, torch.cat([old_keys, k], 1), torch.cat([old_values, v], 1), bias)
            x = layer.finish(x, attended)
        return (self._norm(x) * self._gain).view(b, self.width, -1)

    def _logits(self, hidden: Tensor) -> Tensor:
        """Return [B,K,V] of hidden states [B,K,H], by the target's head."""
        return torch.mm(hidden.reshape(-1, hidden.shape[-1]), self._head).view(*hidden.shape[:2], -1)

    def propose(
        self, anchor: Tensor, position: Tensor, context: Tensor, hidden_context: Tensor, pick: Pick = pick_greedily
    ) -> Proposal:
        """Draft `draft_len` tokens after `anchor` [B], which stands at `position` [B]."""
        raise NotImplementedError


class DFlashModel(DraftModel):
    """Block of K+1: row j predicts the token at its own position, so row 0, the anchor's, is discarded."""

    def __init__(
        self, shape: ModelShape, weights: Weights, rope: Rope, target: TargetModel, draft_len: int
    ) -> None:
        super().__init__(shape, weights, rope, target, draft_len, width=draft_len + 1)

    def logits(self, anchor: Tensor, position: Tensor, context: Tensor, hidden_context: Tensor) -> Tensor:
        """Return [B,K,V], all positions at once, each from its own row."""
        return self._logits(self.block(anchor, position, context, hidden_context)[:, 1:])

    def propose(
        self, anchor: Tensor, position: Tensor, context: Tensor, hidden_context: Tensor, pick: Pick = pick_greedily
    ) -> Proposal:
        """Draft the likeliest token of each position, or what `pick` takes."""
        return Proposal(pick(self.logits(anchor, position, context, hidden_context), 0), None)


class DSparkModel(DraftModel):
    """Block of K, anchor first: row j predicts the token after its position.

    A low-rank Markov head adds W2 W1[previous token] to each row's logits, along the drafted chain; a
    confidence head reads the row's hidden state beside W1[previous token]: the chance that this draft is
    accepted if all earlier ones are.
    """

    def __init__(
        self, shape: ModelShape, weights: Weights, rope: Rope, target: TargetModel, draft_len: int
    ) -> None:
        super().__init__(shape, weights, rope, target, draft_len, width=draft_len)
        self._w1 = weights["draft.markov_w1"]
        self._w2 = weights["draft.markov_w2"].t().contiguous()
        self._confidence = weights["draft.confidence"].t().contiguous()

    def propose(
        self, anchor: Tensor, position: Tensor, context: Tensor, hidden_context: Tensor, pick: Pick = pick_greedily
    ) -> Proposal:
        """Draft token by token along the chain; the block itself is computed once."""
        hidden = self.block(anchor, position, context, hidden_context)
        base = self._logits(hidden)
        previous, drafts, features = anchor, [], []
        for index in range(self.draft_len):
            embedded = F.embedding(previous, self._w1)
            previous = pick(torch.addmm(base[:, index], embedded, self._w2), index)
            drafts.append(previous)
            features.append(embedded)
        seen = torch.cat([hidden, torch.stack(features, 1)], -1).view(-1, self._confidence.shape[0])
        confidence = torch.mm(seen, self._confidence).sigmoid().view(-1, self.draft_len)
        return Proposal(torch.stack(drafts, 1), confidence)
