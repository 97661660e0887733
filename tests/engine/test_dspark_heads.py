"""Identities of DSpark's Markov and confidence heads."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from harness.engine import ModelShape
from harness.engine.draft_models import DSparkModel, Proposal
from harness.engine.layers import Rope
from harness.engine.target_model import TargetModel
from harness.engine.weights import Weights, make_weights

SHAPE = ModelShape()
ANCHORS = torch.tensor([5, 9, 33])
POSITIONS = torch.tensor([6, 2, 8])


def _weights() -> Weights:
    return make_weights(SHAPE, "dspark", 3, torch.float64, "cpu")


def _model(weights: Weights, draft_len: int) -> DSparkModel:
    rope = Rope(SHAPE, 32, torch.float64, "cpu")
    return DSparkModel(SHAPE, weights, rope, TargetModel(SHAPE, weights, rope, 32), draft_len)


def _context() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(3, SHAPE.draft_layers, SHAPE.window, 2, SHAPE.kv_heads, SHAPE.head_dim, generator=generator)
    return rows.double(), torch.arange(SHAPE.window)[None] >= POSITIONS[:, None]


def _propose(weights: Weights, draft_len: int) -> Proposal:
    return _model(weights, draft_len).propose(ANCHORS, POSITIONS, *_context())


def _base_logits(weights: Weights, draft_len: int) -> torch.Tensor:
    hidden = _model(weights, draft_len).block(ANCHORS, POSITIONS, *_context())
    return hidden @ weights["target.lm_head"].T


def test_without_the_markov_matrix_the_base_logits_decide() -> None:
    weights = _weights() | {"draft.markov_w2": torch.zeros(SHAPE.vocab, SHAPE.markov_rank, dtype=torch.float64)}
    assert torch.equal(_propose(weights, 3).drafts, _base_logits(weights, 3).argmax(-1))


def test_one_draft_is_biased_by_the_anchor_alone() -> None:
    weights = _weights()
    bias = weights["draft.markov_w1"][ANCHORS] @ weights["draft.markov_w2"].T
    expected = (_base_logits(weights, 1)[:, 0] + bias).argmax(-1)
    assert torch.equal(_propose(weights, 1).drafts[:, 0], expected)


def test_each_draft_is_biased_by_the_one_before_it() -> None:
    weights = _weights()
    weights["draft.markov_w2"] = weights["draft.markov_w2"] * 20  # strong enough to decide
    drafts, base = _propose(weights, 3).drafts, _base_logits(weights, 3)
    previous = torch.cat([ANCHORS[:, None], drafts[:, :-1]], 1)
    expected = (base + weights["draft.markov_w1"][previous] @ weights["draft.markov_w2"].T).argmax(-1)
    assert torch.equal(drafts, expected)
    assert not torch.equal(drafts, base.argmax(-1))


def test_confidence_is_a_chance_and_follows_its_head() -> None:
    weights = _weights()
    confidence = _propose(weights, 3).confidence
    assert confidence is not None
    assert confidence.shape == (3, 3)
    assert bool(((confidence > 0) & (confidence < 1)).all())
    flat = _propose(weights | {"draft.confidence": weights["draft.confidence"] * 0}, 3).confidence
    assert flat is not None
    assert flat.unique().tolist() == [0.5]


@pytest.mark.parametrize("row", [0, 1, 2])
def test_every_row_of_a_block_sees_the_last_one(row: int) -> None:
    weights = _weights()
    other = weights | {"target.embed": weights["target.embed"].clone()}
    other["target.embed"][SHAPE.mask_token] += 1.0
    before = _model(weights, 3).block(ANCHORS, POSITIONS, *_context())
    after = _model(other, 3).block(ANCHORS, POSITIONS, *_context())
    assert (before[:, row] - after[:, row]).abs().max() > 1e-3


def test_a_wider_block_gives_other_logits() -> None:
    weights = _weights()
    assert (_base_logits(weights, 3) - _base_logits(weights, 5)[:, :3]).abs().max() > 1e-3


def test_the_rank_of_the_markov_head_is_the_shapes() -> None:
    shape = replace(SHAPE, markov_rank=7)
    assert make_weights(shape, "dspark", 0, torch.float64, "cpu")["draft.markov_w1"].shape == (64, 7)
