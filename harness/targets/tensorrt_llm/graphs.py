"""A captured bucket: the metadata's narrowed copy, static inputs, and what replays it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from harness.targets.common.toy import HIDDEN, VOCAB
from harness.targets.tensorrt_llm.batch import Rows

__all__ = ["Graph"]


@dataclass
class Graph:
    """One bucket. `inputs` are the static tensors that a replay reads; `outputs` those that it writes."""

    bucket: int
    metadata: Any
    attention: Any
    inputs: dict[str, torch.Tensor]
    replay: Callable[[], None] | None = None
    outputs: Any = None

    @classmethod
    def allocate(cls, bucket: int, width: int, metadata: Any, attention: Any, device: str) -> Graph:
        """Allocate the inputs of a bucket whose rows have `width` tokens."""
        tokens = bucket * width
        metadata.draft_tokens = torch.zeros(bucket * (width - 1), dtype=torch.int32, device=device)
        inputs = {
            "input_ids": torch.zeros(tokens, dtype=torch.long, device=device),
            "position_ids": torch.zeros(1, tokens, dtype=torch.long, device=device),
            "hidden_states": torch.zeros(1, HIDDEN, device=device),
            "logits": torch.zeros(tokens, VOCAB, device=device),
        }
        return cls(bucket, metadata, attention, inputs)

    def write(self, rows: Rows) -> None:
        """Write a forward's rows to where the graph reads them."""
        self.inputs["input_ids"].copy_(torch.tensor(rows.tokens, dtype=torch.long))
        self.inputs["position_ids"].copy_(torch.tensor([rows.positions], dtype=torch.long))
        self.inputs["logits"].copy_(rows.logits())
        self.metadata.draft_tokens.copy_(torch.tensor(rows.drafts, dtype=torch.int32))
        # The metadata in use: some families have one such buffer a bucket, some share the eager one.
        states = self.metadata.captured_hidden_states
        states[: len(rows.tokens)] = rows.states().to(states.device)
