"""What target and drafters are trained to do.

Drafters are judged on the target's own greedy text, all K places of a block at once, the early ones heavier: a
place counts only where all before it are right. DSpark's head is given the tokens of that text (teacher forcing),
and its confidence is to say how likely a draft is accepted, 1 - |p - q|/2 of the two distributions; weights after
DeepSpec's loss. Shapes: B texts, T tokens, A blocks of each, K places, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from benchmarks.training.networks import Blocks, Networks

__all__ = ["drafter_loss", "target_loss"]

Tensor = torch.Tensor
_DECAY = 4.0  # places in which a weight falls to 1/e


def target_loss(networks: Networks, texts: Tensor) -> Tensor:
    """Return the cross entropy of each next token of texts [B,T]."""
    logits, _ = networks.target(texts[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), texts[:, 1:].flatten())


def drafter_loss(networks: Networks, worker: str, texts: Tensor, anchors: Tensor, places: int) -> Tensor:
    """Return the loss of blocks of K `places` behind `anchors` [B,A] in the target's own texts [B,T]."""
    with torch.no_grad():
        judged, states = networks.target(texts)
    at = anchors[..., None] + torch.arange(places)  # [B,A,K]: place j is judged after this token
    label = texts.gather(1, (at + 1).flatten(1)).view(at.shape)
    if worker == "dflash":
        hidden = networks.block(texts, states, Blocks(anchors, places + 1), None)
        return _weighted(_entropy(networks.head(hidden[:, :, 1:]), label))
    hidden = networks.block(texts, states, Blocks(anchors, places), networks.shape.window)
    before = texts.gather(1, at.flatten(1)).view(at.shape)
    logits, confidence = networks.chained(hidden, before)
    index = at.flatten(1)[..., None].expand(-1, -1, judged.shape[-1])
    right = judged.gather(1, index).view(logits.shape).softmax(-1)
    accepted = 1 - 0.5 * (logits.detach().softmax(-1) - right).abs().sum(-1)
    sure = F.binary_cross_entropy_with_logits(confidence, accepted, reduction="none")
    return _weighted(_entropy(logits, label) + sure)


def _entropy(logits: Tensor, label: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, -2), label.flatten(), reduction="none").view(label.shape)


def _weighted(loss: Tensor) -> Tensor:
    """Return the mean of loss [B,A,K], places weighted exp(-j/4)."""
    weight = torch.exp(-torch.arange(loss.shape[-1]) / _DECAY)
    return (loss * weight).sum(-1).mean() / weight.sum()
