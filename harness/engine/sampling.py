"""Rejection-sampled acceptance, lossless in distribution, from a counter-based generator.

A draft d with probability q(d) is accepted with probability min(1, p(d)/q(d)); at the first rejection the token
comes from max(0, p - q) normalised, after the last acceptance from p (Leviathan et al. 2023, Chen et al. 2023).
Noise is a hash of (seed, position, stream): it does not depend on batch, row, slot, graph or history, and is the
same on every device. The hash is SplitMix64's output function (Steele, Lea, Flood 2014), twice.
Shapes: B batch rows, K drafts, T = K+1, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import torch

from harness.engine.weights import shift_xor, signed

__all__ = [
    "DraftPick", "Rows", "Stream", "accept_sampled", "pick_greedily", "residual", "sample", "uniform",
    "verify_sampled",
]  # fmt: skip

Tensor = torch.Tensor
_GOLDEN = signed(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = signed(0xBF58476D1CE4E5B9), signed(0x94D049BB133111EB)

# (seeds, positions, stream) -> uniform noise; (u, p of the draft, q of the draft) -> accepted
Uniform = Callable[[Tensor, Tensor, int], Tensor]
Accept = Callable[[Tensor, Tensor, Tensor], Tensor]
Residual = Callable[[Tensor, Tensor], Tensor]


class Stream(IntEnum):
    """What noise is for: three draws at one position are independent of each other."""

    TARGET = 0
    ACCEPT = 1
    DRAFT = 2


def _mixed(x: Tensor) -> Tensor:
    x = shift_xor(x, 30) * _MIX_1
    x = shift_xor(x, 27) * _MIX_2
    return shift_xor(x, 31)


def uniform(seeds: Tensor, positions: Tensor, stream: int) -> Tensor:
    """Return float64 in [0,1) for int64 seeds and positions that broadcast: positions are those of the tokens."""
    counter = _mixed(seeds + _GOLDEN) + positions * 4 + stream
    return ((_mixed(counter * _GOLDEN) >> 11) & ((1 << 53) - 1)).to(torch.float64) * 2.0**-53


def accept_sampled(u: Tensor, target: Tensor, draft: Tensor) -> Tensor:
    """Return whether each draft is accepted: u < p/q, written without a division."""
    return u * draft < target


def residual(target: Tensor, draft: Tensor) -> Tensor:
    """Return max(0, p - q), not normalised, and p itself where nothing of it is left. Distributions [B,V]."""
    rest = (target - draft).clamp_min(0)
    return torch.where(rest.sum(-1, keepdim=True) > 0, rest, target)


def sample(weights: Tensor, u: Tensor) -> Tensor:
    """Return int64 [...]: the inverse of the distribution of weights [...,V], not normalised, at u [...]."""
    total = weights.cumsum(-1)
    below = total <= (u * total[..., -1])[..., None]
    return below.sum(-1).clamp_max(weights.shape[-1] - 1)


@dataclass(frozen=True)
class Rows:
    """How the rows of a batch are sampled: seeds int64 [B], temperatures [B]; `noise` is drawn by `uniform`."""

    seeds: Tensor
    temperatures: Tensor
    noise: Uniform = uniform

    def draw(self, positions: Tensor, stream: Stream) -> Tensor:
        """Return noise for positions [B] or [B,n]."""
        seeds = self.seeds if positions.dim() == 1 else self.seeds[:, None]
        return self.noise(seeds, positions, stream)

    def distribution(self, logits: Tensor) -> Tensor:
        """Return probabilities of logits [B,V] or [B,n,V]."""
        heat = self.temperatures.view(-1, *[1] * (logits.dim() - 1))
        return (logits / heat).softmax(-1)


def pick_greedily(logits: Tensor, first: int) -> Tensor:  # noqa: ARG001  # the place does not matter
    """Return the likeliest token of logits [...,V]; `first` is the first of their places in the draft."""
    return logits.argmax(-1)


class DraftPick:
    """Draws drafts from logits, and keeps the distributions q that they were drawn from.

    `anchor` [B] is the anchor's position: place j of a draft stands at anchor + 1 + j.
    """

    def __init__(self, rows: Rows, anchor: Tensor) -> None:
        self._rows = rows
        self._anchor = anchor
        self._drawn: list[Tensor] = []

    def __call__(self, logits: Tensor, first: int) -> Tensor:
        """Return tokens [B] of logits [B,V] for place `first`, or [B,n] of [B,n,V] from there on."""
        q = self._rows.distribution(logits)
        if logits.dim() == 2:
            self._drawn.append(q[:, None])
            return sample(q, self._rows.draw(self._anchor + (1 + first), Stream.DRAFT))
        self._drawn.append(q)
        places = torch.arange(first + 1, first + 1 + logits.shape[1], device=logits.device)
        return sample(q, self._rows.draw(self._anchor[:, None] + places, Stream.DRAFT))

    @property
    def distributions(self) -> Tensor:
        """All distributions drawn from, [B,K,V]."""
        return torch.cat(self._drawn, 1)


def verify_sampled(
    tokens: Tensor,
    logits: Tensor,
    position: Tensor,
    lengths: Tensor,
    drafted: Tensor,
    rows: Rows,
    accept: Accept = accept_sampled,
    rest: Residual = residual,
) -> tuple[Tensor, Tensor]:
    """Return what is committed, chosen int64 [B,T], and how many of it, count int64 [B].

    tokens [B,T] are anchor and drafts, logits [B,T,V] the target's after each, position [B] the anchor's;
    lengths [B] of the drafts are verified, drafted [B,K,V] are the distributions they were drawn from.
    """
    k = tokens.shape[1] - 1
    target = rows.distribution(logits)
    places = torch.arange(k, device=tokens.device)
    drafts = tokens[:, 1:]
    p, q = (each[:, :k].gather(2, drafts[..., None]).squeeze(2) for each in (target, drafted))
    u = rows.draw(position[:, None] + 1 + places, Stream.ACCEPT)
    good = accept(u, p, q) & (places < lengths[:, None])
    accepted = good.cumprod(1).sum(1)
    judged = _at(target, accepted)
    # The distribution of the draft that was rejected; nothing where all that was verified is accepted.
    refused = _at(drafted, accepted.clamp_max(drafted.shape[1] - 1)) * (accepted < lengths)[:, None]
    token = sample(rest(judged, refused), rows.draw(position + 1 + accepted, Stream.TARGET))
    chosen = torch.cat([drafts, drafts.new_zeros(drafts.shape[0], 1)], 1)
    return chosen.scatter(1, accepted[:, None], token[:, None]), accepted + 1


def _at(distributions: Tensor, index: Tensor) -> Tensor:
    return distributions.gather(1, index[:, None, None].expand(-1, 1, distributions.shape[-1])).squeeze(1)
