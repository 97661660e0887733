"""The stand-in models follow the rule if, and only if, a block table leads to the request's whole context."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.targets.common.toy import HIDDEN, JUNK_KEY, VOCAB, next_token, states_of
from harness.targets.vllm.models import HEADS, LAYERS, WIDTH, DFlashDrafter, DSparkDrafter, TargetModel

BLOCK, KEY, PAD = 4, 3, -1
TABLE = torch.tensor([[2, 5, 1, 0]])  # blocks of the one request; block 0 is nobody's


def made(kind: Any, length: int, width: int, slots: list[int]) -> Any:
    """Return a model whose layers are told of one request with a context of `length` tokens."""
    layers = [SimpleNamespace(kv_cache=torch.zeros(8, HEADS, BLOCK, 2 * WIDTH)) for _ in range(LAYERS)]
    metadata = SimpleNamespace(num_reqs=1, block_table_tensor=TABLE, seq_lens=torch.tensor([length + width]))
    names = [str(layer) for layer in range(LAYERS)]
    at = torch.tensor(slots)
    context = SimpleNamespace(attn_metadata=dict.fromkeys(names, metadata), slot_mapping=dict.fromkeys(names, at))
    return kind(SimpleNamespace(context=SimpleNamespace(get_forward_context=lambda: context)), names, layers)


def slots_of(positions: range) -> list[int]:
    return [int(TABLE[0, position // BLOCK]) * BLOCK + position % BLOCK for position in positions]


def fill(model: Any, length: int, key: int = KEY) -> None:
    states = states_of(torch.full((length,), key), torch.arange(length))
    model.memory.write(torch.tensor(slots_of(range(length))), states)


def drafted(model: Any, length: int, width: int, anchor: int = 7) -> list[int]:
    tokens = torch.tensor([anchor] + [0] * (width - 1), dtype=torch.int32)
    hidden = model(input_ids=tokens, positions=torch.arange(length, length + width))
    return [int(token) for token in model.compute_logits(hidden).argmax(-1)]


def test_dflash_rows_predict_their_own_position_and_dsparks_the_next() -> None:
    for kind, expected in ((DFlashDrafter, [7, 10, 13, 16]), (DSparkDrafter, [10, 13, 16, 19])):
        model = made(kind, 6, 4, slots_of(range(6, 10)))
        fill(model, 6)
        assert drafted(model, 6, 4) == expected


@pytest.mark.parametrize("spoil", ["missing", "foreign", "moved", "one layer"])
def test_a_context_that_is_not_the_requests_own_and_whole_drafts_nothing_right(spoil: str) -> None:
    model = made(DFlashDrafter, 6, 4, slots_of(range(6, 10)))
    fill(model, 6)
    first, second = (layer.kv_cache for layer in model.memory._layers)
    if spoil == "missing":
        first[2, :, 3] = 0.0
    elif spoil == "foreign":
        fill(model, 1, key=KEY + 1)
    elif spoil == "moved":
        second[2, :, [1, 2]] = second[2, :, [2, 1]].clone()
    else:
        second[5] = 0.0
    assert drafted(model, 6, 4)[1:] == [7, 7, 7]


def test_a_block_writes_junk_at_its_slots_and_nothing_at_a_padding_slot() -> None:
    model = made(DFlashDrafter, 6, 4, [*slots_of(range(6, 8)), PAD, PAD])
    fill(model, 6)
    before = model.memory._layers[1].kv_cache.clone()
    drafted(model, 6, 4)
    changed = (model.memory._layers[1].kv_cache != before).any(-1).any(1).nonzero().tolist()
    assert changed == [[5, 2], [5, 3]]


def test_the_target_says_the_rules_tokens_and_marks_what_follows_a_wrong_draft() -> None:
    model = made(TargetModel, 6, 4, slots_of(range(6, 10)))
    fill(model, 6)
    right = next_token(7, KEY, 6)
    tokens = torch.tensor([7, right, 29, 28], dtype=torch.int32)
    hidden, states = model(input_ids=tokens, positions=torch.arange(6, 10), inputs_embeds=None)
    assert int(model.compute_logits(hidden).argmax(-1)[0]) == right
    assert states[0][:, :VOCAB].argmax(-1).tolist() == [KEY, KEY, JUNK_KEY, JUNK_KEY]


def test_a_prompt_is_said_on_by_its_known_key_and_stored_whole() -> None:
    model = made(TargetModel, 0, 3, slots_of(range(3)))
    model.key = KEY
    hidden, _ = model(input_ids=torch.tensor([4, 5, 6]), positions=torch.arange(3))
    assert int(hidden[-1, :VOCAB].argmax()) == next_token(6, KEY, 2)
    assert model.memory.key(TABLE, torch.tensor([3])).tolist() == [KEY]


def test_states_of_layers_that_differ_are_no_state() -> None:
    model = made(DFlashDrafter, 0, 4, [PAD] * 4)
    states = states_of(torch.tensor([1, 2]), torch.tensor([0, 1]))
    both = torch.cat([states, states.clone()], -1)
    both[1, HIDDEN + 5] = 1.0
    combined = model.combine_hidden_states(both)
    assert torch.equal(combined[0], states[0])
    assert not combined[1].any()
