"""A small recurrent state beside the keys and values: one vector a seat, gated element by element.

    s_t = g * s_(t-1) + (1 - g) * e_t        and the target's first layer reads e_t + s_t

for token embeddings e_t and a gate g in 0..1 of each channel. Element by element, multiplied and added apart
(nothing contracts them to one rounding), so that a state has the same bits in every batch, chunk and device.
Shapes: B batch rows, T tokens, H hidden.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

__all__ = ["RecurrentState", "roll_back", "row_offsets"]

Tensor = torch.Tensor
_WEIGHT = 0x9E3779B97F4A7C15 - (1 << 64)  # odd; multiples of it differ in every bit


def roll_back(checkpoints: Tensor, count: Tensor) -> Tensor:
    """Return the states [B,H] after the first `count` [B] of the T tokens that checkpoints [B,T,H] were taken at.

    What a verification consumed beyond them was rejected.
    """
    index = (count - 1)[:, None, None].expand(-1, 1, checkpoints.shape[-1])
    return checkpoints.gather(1, index).squeeze(1)


def row_offsets(seats: Tensor, stride: int) -> Tensor:
    """Return where the rows of seats [B] begin, in elements; in 64 bits, whatever the pool's size."""
    return seats * stride


class RecurrentState:
    """`state` [rows, H], one row a seat, the dummy's and a guard row behind them; addressed by element."""

    guard = 1

    def __init__(self, gate: Tensor, rows: int, offsets: Callable[[Tensor, int], Tensor]) -> None:
        self.state = gate.new_zeros(rows + self.guard, gate.shape[-1])
        self._keep = gate
        self._take = 1 - gate
        self._channels = torch.arange(gate.shape[-1], device=gate.device)
        self._offsets = offsets

    def _elements(self, seats: Tensor) -> Tensor:
        return self._offsets(seats, self.state.shape[1])[:, None] + self._channels

    @property
    def index_bits(self) -> int:
        """Width of the integer in which row * stride is computed."""
        return torch.iinfo(self._offsets(self._channels, 1).dtype).bits

    def look_ahead(self, seats: Tensor, embedded: Tensor) -> Tensor:
        """Return checkpoints [B,T,H]: the states of seats [B] after each of the embedded tokens [B,T,H]."""
        state = self.state.view(-1)[self._elements(seats)]
        taken = embedded * self._take
        states = []
        for index in range(embedded.shape[1]):
            state = state * self._keep + taken[:, index]
            states.append(state)
        return torch.stack(states, 1)

    def keep(self, seats: Tensor, states: Tensor) -> None:
        """Make [B,H] the states of seats [B]."""
        self.state.view(-1).index_put_((self._elements(seats),), states)

    def reset(self, seat: int) -> None:
        """Set the state of a seat to that of an empty context."""
        self.state[seat].zero_()

    def digests(self, seats: Tensor) -> list[int]:
        """Return a position-weighted sum of the bits of each state, as signed 64 bits."""
        bits = self.state[seats].to(torch.float64).view(torch.int64)
        # A double such as 2.0 is one high bit, which even sums would push out. Masked, or x and ~x were one.
        folded = bits ^ (bits >> 32 & 0xFFFFFFFF)
        sums: list[int] = (folded * (self._channels * _WEIGHT | 1)).sum(1).tolist()
        return sums
