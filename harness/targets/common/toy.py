"""The stand-in target model: a rule for tokens, and captured states that say whose they are and where.

A request has a key. Its next token follows from the token, the key and the position; every captured state
carries the key and the position. A drafter that finds the key in its slot can draft what the target will say,
except where the rule deviates, so that accepted lengths vary; from a slot that holds anything but the whole
history of one request it cannot. All values are small integers: comparisons are exact in every float type.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import torch

__all__ = [
    "HIDDEN", "JUNK_KEY", "MASK_TOKEN", "VOCAB", "chain", "find_key", "hidden_states", "key_of", "next_token",
    "next_tokens", "one_hot", "prompt_of", "states_of",
]  # fmt: skip

Tensor = torch.Tensor

VOCAB = 32
MASK_TOKEN = VOCAB - 1
JUNK_KEY = 29
_TOKENS = 30  # tokens are 1..30: 0 is a placeholder, 31 the mask
_KEYS = 27
_VALID, _HIGH, _LOW = VOCAB, VOCAB + 1, VOCAB + 2
HIDDEN = 36  # at least VOCAB + 3, and two heads of equal width


def key_of(request: str, seed: int) -> int:
    """Return the key of a request: neighbours in name differ."""
    number = re.search(r"\d+$", request)
    return 1 + ((int(number[0]) if number else zlib.crc32(request.encode())) + seed) % _KEYS


def next_token(token: int, key: int, position: int) -> int:
    """Return what the target says after `token` at `position`."""
    deviation = (position * 3 + key) % 5 == 0
    return 1 + (token - 1 + key + deviation) % _TOKENS


def next_tokens(tokens: Tensor, keys: Tensor, positions: Tensor) -> Tensor:
    """Return what the target says after each token, 0 where no key is known; shapes alike or broadcast."""
    deviation = ((positions * 3 + keys) % 5 == 0).long()
    return torch.where(keys > 0, 1 + (tokens - 1 + keys + deviation) % _TOKENS, 0)


def prompt_of(key: int, length: int) -> list[int]:
    """Return the prompt of the request with this key: the rule itself, from a token of its own."""
    tokens = [key]
    while len(tokens) < length:
        tokens.append(next_token(tokens[-1], key, len(tokens) - 1))
    return tokens


def chain(anchor: Tensor, key: Tensor, steps: Tensor) -> Tensor:
    """Return the tokens [rows, steps] that a drafter proposes: the rule without its deviations."""
    return 1 + (anchor.unsqueeze(1) - 1 + key.unsqueeze(1) * steps) % _TOKENS


def one_hot(values: Tensor, width: int = VOCAB) -> Tensor:
    """Return float32 rows that are 1 at `values`, any shape."""
    return (values.unsqueeze(-1) == torch.arange(width, device=values.device)).to(torch.float32)


def states_of(keys: Tensor, positions: Tensor) -> Tensor:
    """Return captured states [tokens, HIDDEN] of tokens with these keys at these positions."""
    states = one_hot(keys, HIDDEN)
    states[:, _VALID] = 1.0
    states[:, _HIGH] = (positions // 64).to(states.dtype)
    states[:, _LOW] = (positions % 64).to(states.dtype)
    return states


def hidden_states(keys: Sequence[int], positions: Sequence[int]) -> Tensor:
    """Return captured states [tokens, HIDDEN], on the CPU."""
    rows = torch.zeros(len(keys), HIDDEN)
    every = torch.arange(len(keys))
    at = torch.tensor(positions, dtype=torch.long)
    rows[every, torch.tensor(keys, dtype=torch.long)] = 1.0
    rows[:, _VALID] = 1.0
    rows[:, _HIGH], rows[:, _LOW] = (at // 64).float(), (at % 64).float()
    return rows


def find_key(states: Tensor, positions: Tensor, due: Tensor) -> Tensor:
    """Return the key [rows] that all states due [rows, columns] agree on, 0 where one of them is not right.

    `positions` [rows, columns] says where each state has to come from. Nothing due means nothing known.
    """
    states = states.to(torch.float32)
    at = (states[..., _HIGH] * 64 + states[..., _LOW]).long()
    right = (~due | ((states[..., _VALID] == 1) & (at == positions))).all(1)
    votes = (states[..., :VOCAB] * due.unsqueeze(-1)).sum(1)
    count = due.sum(1)
    agreed = right & (count > 0) & (votes.max(-1).values == count) & (votes.sum(-1) == count)
    return torch.where(agreed, votes.argmax(-1), 0)
