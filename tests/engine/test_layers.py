"""The engine's layers against the plain formulas, and the target against one forward over everything."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from engine_rig import SHAPE, config_of, greedy_of, naive_of, open_engine
from naive_models import attention, rms_norm, rotate

from harness.engine import ModelShape
from harness.engine.layers import Normalize, Rope, attend, attention_bias, joined

assert_close = partial(torch.testing.assert_close, atol=1e-12, rtol=1e-12)


def _random(*size: int) -> torch.Tensor:
    return torch.randn(*size, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(size)))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_normalize_with_its_gain_joined_is_rms_norm(scale: float) -> None:
    x, gain, matrix = _random(5, 16) * scale, _random(16), _random(7, 16)
    norm = Normalize(16, 1e-6, x)
    expected = rms_norm(x, gain, 1e-6) @ matrix.T
    assert_close(norm(x) @ joined(norm, gain, matrix), expected)


def test_a_zero_vector_is_normed_to_zero() -> None:
    x = torch.zeros(1, 16, dtype=torch.float64)
    assert Normalize(16, 1e-6, x)(x).abs().max() == 0


def test_rope_turns_as_the_rotate_half_formula_does() -> None:
    x, positions = _random(6, 3, 8), torch.tensor([0, 1, 2, 7, 30, 63])
    rope = Rope(SHAPE, 64, torch.float64, "cpu")
    assert_close(rope.rotate(x, rope.at(positions)), rotate(x, positions, 10000.0))


def test_scores_after_rope_depend_on_distance_alone() -> None:
    q, k = _random(1, 1, 8), _random(1, 1, 8)
    rope = Rope(SHAPE, 64, torch.float64, "cpu")

    def score(at_q: int, at_k: int) -> float:
        turned = [rope.rotate(x, rope.at(torch.tensor([at]))) for x, at in ((q, at_q), (k, at_k))]
        return float((turned[0] * turned[1]).sum())

    assert score(9, 4) == pytest.approx(score(59, 54), abs=1e-12)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-6)


@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 1), (4, 2), (2, 2)])
def test_attention_groups_its_query_heads_over_the_key_heads(heads: int, kv_heads: int) -> None:
    q, k, v = _random(3, 5, heads, 8), _random(3, 9, kv_heads, 8), _random(3, 9, kv_heads, 8)
    visible = torch.rand(3, 5, 9, generator=torch.Generator().manual_seed(1)) < 0.6
    visible[:, :, 0] = True  # everybody sees something
    got = attend(q, k, v, attention_bias(~visible, q.new_zeros(()))).view(3, 5, -1)
    for row in range(3):
        assert_close(got[row], attention(q[row], k[row], v[row], visible[row]))


def test_hidden_keys_make_no_difference_whatever_they_hold() -> None:
    q, k, v = _random(1, 2, 2, 8), _random(1, 4, 1, 8), _random(1, 4, 1, 8)
    hidden = torch.tensor([[[False, False, True, True]] * 2])
    before = attend(q, k, v, attention_bias(hidden, q.new_zeros(())))
    k[:, 2:], v[:, 2:] = 1e3, -1e3
    assert torch.equal(before, attend(q, k, v, attention_bias(hidden, q.new_zeros(()))))


def test_the_cached_target_chooses_as_one_forward_over_all_tokens_does() -> None:
    engine = open_engine(config_of("dflash"))
    tokens = list(greedy_of("r0")[:20])
    logits, states = naive_of("dflash").target(tokens)
    got, seen = [], []
    for start in range(0, 20, 4):
        positions = torch.arange(start, start + 4)[None]
        said, tapped = engine.target.forward(
            torch.tensor([tokens[start : start + 4]]), positions, torch.tensor([2]), engine.seating.context
        )
        got += said[0].argmax(-1).tolist()
        seen.append(tapped)
    assert got == logits.argmax(-1).tolist()
    assert_close(torch.cat(seen), states)


def test_the_mask_token_is_the_last_of_the_vocabulary() -> None:
    assert ModelShape(vocab=32).mask_token == 31
