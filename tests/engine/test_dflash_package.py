"""With the same weights the `dflash` 0.1.0 package's draft model gives the same block logits as the engine's.

For DSpark the same class is its backbone, with the block [anchor, masks] of K rows.
Its model needs torch and transformers only, so it is installed without the requirements that it declares.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.engine import ModelShape
from harness.engine.draft_models import DFlashModel, DraftModel, DSparkModel
from harness.engine.layers import Rope
from harness.engine.target_model import TargetModel
from harness.engine.weights import Weights, make_weights

pytestmark = pytest.mark.equality

_HINT = "needs `pip install 'specdec-harness[equality]'` and `pip install --no-deps dflash==0.1.0`"
_ATTENTION = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj", "q_norm": "q_norm", "k_norm": "k_norm"}
_MLP = {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
_NORMS = {"input_norm": "input_layernorm", "post_norm": "post_attention_layernorm"}

SHAPES = {
    "the engine's default": ModelShape(),
    "two layers, two taps, grouped heads": ModelShape(
        vocab=96, hidden=32, intermediate=48, heads=4, kv_heads=2, target_layers=4, taps=(0, 2), draft_layers=2
    ),
    "another rope base and epsilon": ModelShape(rope_theta=500.0, norm_eps=1e-3, draft_layers=3),
}
CONTEXTS = [(7,), (1, 5, 9), (4, 4, 4, 4)]
DRAFT_LEN = 5


@pytest.fixture(scope="module")
def package() -> Any:
    return pytest.importorskip("dflash.model", reason=_HINT, exc_type=ImportError)


def _package_model(package: Any, shape: ModelShape, weights: Weights, width: int) -> Any:
    config = package.Qwen3Config(
        vocab_size=shape.vocab, hidden_size=shape.hidden, intermediate_size=shape.intermediate,
        num_hidden_layers=shape.draft_layers, num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, head_dim=shape.head_dim, rms_norm_eps=shape.norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": shape.rope_theta},
    )  # fmt: skip
    config.num_target_layers = shape.target_layers
    config.dflash_config = {
        "block_size": width, "mask_token_id": shape.mask_token, "target_layer_ids": list(shape.taps)
    }  # fmt: skip
    model = package.DFlashDraftModel(config).eval()
    model.load_state_dict(_state(shape, weights), strict=True)
    return model


def _state(shape: ModelShape, weights: Weights) -> Weights:
    state = {f"{name}.weight": weights[f"draft.{name}"] for name in ("fc", "norm", "hidden_norm")}
    for layer in range(shape.draft_layers):
        for folder, names in (("self_attn.", _ATTENTION), ("mlp.", _MLP), ("", _NORMS)):
            for ours, theirs in names.items():
                state[f"layers.{layer}.{folder}{theirs}.weight"] = weights[f"draft.{layer}.{ours}"]
    return state


class _Inputs:
    """A ragged batch: captured states [B,C,taps*H], right-padded with junk behind `lengths`."""

    def __init__(self, shape: ModelShape, lengths: tuple[int, ...]) -> None:
        generator = torch.Generator().manual_seed(len(lengths))
        columns = max(lengths)
        self.lengths = torch.tensor(lengths)
        self.anchors = torch.randint(0, shape.mask_token, (len(lengths),), generator=generator)
        self.states = torch.randn(len(lengths), columns, len(shape.taps) * shape.hidden, generator=generator)
        self.hidden = torch.arange(columns)[None] >= self.lengths[:, None]
        self.states[self.hidden] = 1e3
        self.positions = torch.arange(columns).expand(len(lengths), -1)


def _theirs(model: Any, shape: ModelShape, weights: Weights, inputs: _Inputs, width: int) -> torch.Tensor:
    """Return [B,W,V] of the package's model, all rows of the block."""
    masks = torch.full((len(inputs.lengths), width - 1), shape.mask_token)
    block = weights["target.embed"][torch.cat([inputs.anchors[:, None], masks], 1)]
    own = inputs.lengths[:, None] + torch.arange(width)
    visible = torch.nn.functional.pad(~inputs.hidden, (0, width), value=True)
    hidden = model(
        position_ids=torch.cat([inputs.positions, own], 1),
        attention_mask=visible[:, None, None].expand(-1, -1, width, -1),
        noise_embedding=block,
        target_hidden=inputs.states,
        past_key_values=None,
    )
    head = torch.nn.Linear(shape.hidden, shape.vocab, bias=False)
    head.weight.copy_(weights["target.lm_head"])
    logits: torch.Tensor = model.compute_logits(hidden, head)
    return logits


def _ours(kind: type[DraftModel], shape: ModelShape, weights: Weights, inputs: _Inputs) -> torch.Tensor:
    rope = Rope(shape, 32, torch.float32, "cpu")
    model = kind(shape, weights, rope, TargetModel(shape, weights, rope, 32), DRAFT_LEN)  # type: ignore[call-arg]  # both kinds take five
    context = model.context_rows(inputs.states.flatten(0, 1), inputs.positions).transpose(1, 2)
    if isinstance(model, DFlashModel):
        return model.logits(inputs.anchors, inputs.lengths, context, inputs.hidden)
    return model.block(inputs.anchors, inputs.lengths, context, inputs.hidden) @ weights["target.lm_head"].T


@pytest.mark.parametrize("lengths", CONTEXTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@torch.no_grad()
def test_dflash_logits_are_the_packages(package: Any, shape: ModelShape, lengths: tuple[int, ...]) -> None:
    weights = make_weights(shape, "dflash", 0, torch.float32, "cpu")
    inputs, width = _Inputs(shape, lengths), DRAFT_LEN + 1
    theirs = _theirs(_package_model(package, shape, weights, width), shape, weights, inputs, width)
    ours = _ours(DFlashModel, shape, weights, inputs)
    # Row 0, the anchor's, is discarded: row j predicts the token at its own position.
    torch.testing.assert_close(ours, theirs[:, 1:], atol=1e-5, rtol=0)


@pytest.mark.parametrize("lengths", CONTEXTS, ids=str)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@torch.no_grad()
def test_the_package_is_the_backbone_of_dspark(package: Any, shape: ModelShape, lengths: tuple[int, ...]) -> None:
    weights = make_weights(shape, "dspark", 0, torch.float32, "cpu")
    inputs, width = _Inputs(shape, lengths), DRAFT_LEN
    theirs = _theirs(_package_model(package, shape, weights, width), shape, weights, inputs, width)
    ours = _ours(DSparkModel, shape, weights, inputs)
    # Anchor first: all K rows predict, row j the token after its position.
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
