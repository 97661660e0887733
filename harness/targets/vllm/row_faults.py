"""Planted defects of how rows are given and named: who gets one, who is refused, and whose results are applied."""

from __future__ import annotations

from typing import Any

import torch

from harness.targets.vllm.assembly import Parts

__all__ = ["new_rows_first", "refusal_ignored", "results_come_late", "reuse_continues", "row_zero_is_none"]


def new_rows_first(parts: Parts) -> None:
    """Two calls of a step change places: those that end are let go once those that come have their rows."""
    runner = parts.runner
    finish, update = runner.finish_requests, runner.update_requests
    ended: list[Any] = []

    def updated(plan: Any) -> None:
        while ended:
            finish(ended.pop())
        update(plan)

    runner.finish_requests, runner.update_requests = ended.append, updated


def refusal_ignored(parts: Parts) -> None:
    """A list of free rows that is empty is no error but row 0. It is empty as above, with all rows taken."""
    new_rows_first(parts)
    states = parts.runner.req_states
    add = states.add_request

    def added(*args: Any, **options: Any) -> None:
        if not states.free_indices:
            states.free_indices.append(0)
        add(*args, **options)

    states.add_request = added


def row_zero_is_none(parts: Parts) -> None:
    """The next free row is looked at before it is taken, and is "none" where it is 0."""
    states = parts.runner.req_states
    add = states.add_request

    def added(*args: Any, **options: Any) -> None:
        row = states.free_indices[-1] if states.free_indices else None
        assert row, "No free indices"
        add(*args, **options)

    states.add_request = added


def reuse_continues(parts: Parts) -> None:
    """An id that ended since the last step is still known: it seems to go on, so it is not ended and not added."""
    runner = parts.runner
    finish, add = runner.finish_requests, runner.add_requests

    def finished(plan: Any) -> None:
        plan.finished_req_ids -= {new.req_id for new in plan.scheduled_new_reqs}
        finish(plan)

    def added(plan: Any) -> None:
        known = runner.req_states.req_id_to_index
        plan.scheduled_new_reqs = [new for new in plan.scheduled_new_reqs if new.req_id not in known]
        add(plan)

    runner.finish_requests, runner.add_requests = finished, added


def results_come_late(parts: Parts) -> None:
    """As between the ranks of a pipeline, but without looking whether a row was given to somebody since."""
    runner = parts.runner
    apply, update = runner.postprocess_sampled, runner.update_requests
    late: list[tuple[torch.Tensor, ...]] = []

    def applied(rows: torch.Tensor, sampled: torch.Tensor, count: torch.Tensor, rejected: torch.Tensor,
                query_start_loc: torch.Tensor | None = None) -> None:  # fmt: skip
        if query_start_loc is None:
            apply(rows, sampled, count, rejected)
            return
        apply(rows, sampled, count, torch.zeros_like(rejected), query_start_loc)
        late.append((rows, sampled, torch.zeros_like(count), rejected))

    def updated(plan: Any) -> None:
        update(plan)
        while late:
            runner.postprocess_sampled(*late.pop())

    runner.postprocess_sampled, runner.update_requests = applied, updated
