"""The forward of a batch: persistent inputs and outputs, fixed shapes, everything on the device.

Shapes: M rows of the largest batch, K the configured draft length, k the runtime one, T = k+1.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own name for it

from harness.engine.draft_models import Proposal
from harness.engine.parts import Parts
from harness.engine.requests import Request
from harness.engine.sampling import Rows, Stream, sample, verify_sampled
from harness.engine.seating import Seating
from harness.engine.spec_worker import SpecWorker
from harness.engine.target_model import TargetModel
from harness.scenario import Config

__all__ = ["BatchForward"]

Tensor = torch.Tensor


class BatchForward:
    """Target and worker over one batch.

    inputs   tokens [M,K+1], positions [M] and seats [M] of the batch rows, and, where drafts are counted,
             `lengths` [M] of them to verify: persistent, read by graphs.
    outputs  int64 [M, (K+1) + 1 + K]: the target's choices, the committed count, the new drafts.
    counted  whether a row may verify fewer drafts than the step has room for.
    used     tokens that the last `run` consumed, padding included.
    """

    def __init__(
        self, config: Config, parts: Parts, target: TargetModel, worker: SpecWorker, seating: Seating, like: Tensor
    ) -> None:
        k, m = config.draft_len, config.max_num_requests
        self.counted = bool(config.sampling or config.verify)
        self.used = 0
        self._parts, self._target, self._worker, self._seating = parts, target, worker, seating
        self._width = k + 1
        self.inputs = {
            "tokens": like.new_zeros(m, k + 1, dtype=torch.int64),
            "positions": like.new_zeros(m, dtype=torch.int64),
            "seats": like.new_zeros(m, dtype=torch.int64),
        }
        if self.counted:
            self.inputs["lengths"] = like.new_zeros(m, dtype=torch.int64)
        self.outputs = like.new_zeros(m, 2 * k + 2, dtype=torch.int64)
        self.confidence = like.new_zeros(m, k)
        self._offsets = torch.arange(k + 1, device=like.device)

    def write(
        self, requests: Sequence[Request], drafts: Sequence[list[int]], lengths: Sequence[int], padded: int
    ) -> None:
        """Write the inputs of a batch of `requests`, padded to `padded` rows."""
        write, dummy = self._parts.write_rows, self._parts.padding_seat(self._seating.pool)
        tokens = [each.verified(mine, self._width) for each, mine in zip(requests, drafts, strict=True)]
        write(self.inputs["tokens"], tokens, padded, 0)
        write(self.inputs["positions"], [each.position for each in requests], padded, 0)
        write(self.inputs["seats"], [each.seat for each in requests], padded, dummy)
        if self.counted:
            write(self.inputs["lengths"], lengths, padded, 0)

    def run(self, rows: int, k: int) -> None:
        """Verify k drafts a row and, unless k is 0, draft."""
        tokens = self.inputs["tokens"][:rows, : k + 1]
        first, seats = self.inputs["positions"][:rows], self.inputs["seats"][:rows]
        positions = first[:, None] + self._offsets[: k + 1]
        checkpoints = self._look_ahead(tokens, seats)
        logits, states = self._target.forward(tokens, positions, seats, self._seating.context, checkpoints)
        sampled = None if self._seating.sampling is None else self._seating.sampling.rows(seats)
        chosen, count = self._verify(tokens, logits, first, sampled)
        self._roll_back(seats, checkpoints, count)
        if k:
            proposal = self._worker.draft(states, chosen, count, sampled)
        else:  # the worker only follows, so that it knows the whole context when drafting comes back
            if self._parts.follows():
                self._worker.follow(states, count)
            proposal = Proposal(chosen.new_zeros(rows, self._width - 1), None)
        if k + 1 < self._width:
            chosen = F.pad(chosen, (0, self._width - k - 1))
        self.outputs[:rows].copy_(torch.cat([chosen, count[:, None], proposal.drafts], 1))
        if proposal.confidence is not None:
            self.confidence[:rows].copy_(proposal.confidence)
        self.used = tokens.numel()

    def _look_ahead(self, tokens: Tensor, seats: Tensor) -> Tensor | None:
        if self._seating.recurrent is None:
            return None
        return self._seating.recurrent.look_ahead(seats, self._target.embed(tokens))

    def _verify(
        self, tokens: Tensor, logits: Tensor, first: Tensor, sampled: Rows | None
    ) -> tuple[Tensor, Tensor]:
        rows = tokens.shape[0]
        if sampled is not None:
            return verify_sampled(
                tokens, logits, first, self.inputs["lengths"][:rows], self._worker.drafted(rows), sampled,
                self._parts.accept_sampled, self._parts.residual,
            )  # fmt: skip
        chosen = logits.argmax(-1)
        count = self._parts.accept(tokens, chosen)
        if self.counted:
            count = self._parts.committed(count, self.inputs["lengths"][:rows])
        return chosen, count

    def _roll_back(self, seats: Tensor, checkpoints: Tensor | None, count: Tensor) -> None:
        if self._seating.recurrent is not None and checkpoints is not None:
            self._seating.recurrent.keep(seats, self._parts.roll_back(checkpoints, count))

    def prefill(self, request: Request, slot: int | None, start: int, count: int) -> Tensor:
        """Consume tokens start..start+count of a request; return the logits [1,V] after the last one.

        The worker stores their states in `slot`; it sees nothing of them where that is None.
        """
        device = self.outputs.device
        tokens = torch.tensor([request.tokens[start : start + count]], device=device)
        positions = torch.arange(start, start + count, device=device)[None]
        seats = torch.tensor([request.seat], device=device)
        checkpoints = self._look_ahead(tokens, seats)
        logits, states = self._target.forward(tokens, positions, seats, self._seating.context, checkpoints)
        if checkpoints is not None:
            self._roll_back(seats, checkpoints, torch.full_like(seats, count))
        if slot is not None and self._parts.stores_context(count, self._width):
            self._worker.store_context(slot, states)
        self.used = count
        return logits[:, -1]

    def first_token(self, request: Request, logits: Tensor) -> int:
        """Choose the token after a whole prompt, as any other one of the target's own."""
        if self._seating.sampling is None:
            return int(logits.argmax())
        rows = self._seating.sampling.rows(torch.tensor([request.seat], device=logits.device))
        position = torch.full_like(rows.seeds, len(request.tokens))
        return int(sample(rows.distribution(logits), rows.draw(position, Stream.TARGET)))
