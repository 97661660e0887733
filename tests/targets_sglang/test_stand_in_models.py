"""The stand-in models follow the rule if, and only if, a row holds its request's whole context."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.targets.common.toy import HIDDEN, JUNK_KEY, VOCAB, next_token, one_hot, states_of
from harness.targets.sglang.models import HEADS, WIDTH, DFlashDrafter, DSparkDrafter, TargetModel

COLUMNS, KEY = 16, 3


class Pool:
    def __init__(self) -> None:
        self.keys = [torch.zeros(64, HEADS, WIDTH) for _ in range(2)]
        self.values = [torch.zeros(64, HEADS, WIDTH) for _ in range(2)]

    def get_key_buffer(self, layer: int) -> torch.Tensor:
        return self.keys[layer]

    def get_value_buffer(self, layer: int) -> torch.Tensor:
        return self.values[layer]

    def set_kv_buffer(self, layer: Any, places: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        self.keys[layer.layer_id][places], self.values[layer.layer_id][places] = keys, values


TREE = SimpleNamespace(logits=SimpleNamespace(LogitsProcessorOutput=SimpleNamespace))


def rows() -> torch.Tensor:
    return torch.stack([torch.zeros(COLUMNS), torch.arange(COLUMNS) + 1, torch.arange(COLUMNS) + 20]).int()


def fill(pool: Pool, places: torch.Tensor, key: int = KEY) -> None:
    states = states_of(torch.full((len(places),), key), torch.arange(len(places))).view(-1, HEADS, WIDTH)
    for layer in (0, 1):
        pool.set_kv_buffer(SimpleNamespace(layer_id=layer), places, states, states)


def batch(length: int, width: int) -> Any:
    places = rows()[1, length : length + width].long()
    return SimpleNamespace(
        batch_size=1, req_pool_indices=torch.tensor([1]), seq_lens=torch.tensor([length]), out_cache_loc=places
    )


def drafted(kind: Any, pool: Pool, length: int = 5, anchor: int = 7) -> list[int]:
    width = 4
    drafter = kind(TREE, pool, rows(), "cpu")
    tokens = torch.tensor([anchor] + [0] * (width - 1))
    output = drafter.forward(
        tokens, torch.arange(width) + length, batch(length, width), input_embeds=one_hot(tokens, HIDDEN)
    )
    return [int(value) for value in output.hidden_states[:, :VOCAB].argmax(-1)]


def test_dflash_rows_predict_their_own_position_and_dsparks_the_next() -> None:
    pool = Pool()
    fill(pool, rows()[1, :5].long())
    assert drafted(DFlashDrafter, pool) == [7, 10, 13, 16]
    assert drafted(DSparkDrafter, pool) == [10, 13, 16, 19]


@pytest.mark.parametrize("spoil", ["missing", "foreign", "moved", "one layer"])
def test_a_context_that_is_not_the_requests_own_and_whole_drafts_nothing_right(spoil: str) -> None:
    pool = Pool()
    places = rows()[1, :5].long()
    fill(pool, places)
    if spoil == "missing":
        pool.keys[0][places[3]] = 0.0
    elif spoil == "foreign":
        fill(pool, places[:1], key=KEY + 1)
    elif spoil == "moved":
        pool.values[1][places[2]], pool.values[1][places[3]] = (
            pool.values[1][places[3]],
            pool.values[1][places[2]].clone(),
        )
    else:
        pool.values[1][places] = 0.0
    assert drafted(DFlashDrafter, pool)[1:] == [7, 7, 7]


def test_a_block_writes_junk_where_it_is_told_and_nowhere_else() -> None:
    pool = Pool()
    places = rows()[1, :5].long()
    fill(pool, places)
    before = pool.keys[0].clone()
    drafted(DFlashDrafter, pool)
    changed = (pool.keys[0] != before).flatten(1).any(1).nonzero().flatten().tolist()
    assert changed == rows()[1, 5:9].tolist()


def test_the_target_says_the_rules_tokens_and_marks_what_follows_a_wrong_draft() -> None:
    pool = Pool()
    fill(pool, rows()[1, :5].long())
    target = TargetModel(TREE, pool, rows(), "cpu")
    right = next_token(7, KEY, 5)
    tokens = torch.tensor([7, right, 29, 28])
    output = target.forward(tokens, torch.arange(4) + 5, batch(5, 4))
    said = output.next_token_logits.argmax(-1).tolist()
    assert said[0] == right
    keys = output.hidden_states[:, :VOCAB].argmax(-1).tolist()
    assert keys == [KEY, KEY, JUNK_KEY, JUNK_KEY]
