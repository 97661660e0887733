"""What makes a scenario shorter or plainer: the pure half of minimising. Nothing here runs anything.

To remove an operation is to remove what needs it, too: whatever is not legal any more is left out, and a step goes
on without the requests that are gone. So every scenario here is legal, and removing never adds anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields, replace
from itertools import product
from typing import Any

from harness.legality import Model, config_problem
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    Finish,
    Idle,
    Operation,
    Scenario,
    Step,
    Warmup,
)

__all__ = ["CONFIGURED", "absorbed", "removed", "repaired", "reworded", "weight"]

_NAMES = "abcdefghijklmnopqrstuvwxyz"
_ABSORBED = 4  # steps in a row that a longer prompt may stand for
_LONGER = 8  # tokens that the prompt may be longer
_DRAFTS = 4  # drafts a step that longer ones may become


def repaired(config: Config, operations: Iterable[Operation]) -> Scenario:
    """Return the scenario of those operations that are legal one after the other, steps of fewer if need be."""
    model, kept = Model(config), []
    for operation in operations:
        fitting = _fitting(model, operation)
        if fitting is not None:
            model.apply(fitting)
            kept.append(fitting)
    return Scenario(config, tuple(kept))


def _fitting(model: Model, operation: Operation) -> Operation | None:
    """Return the operation, or what is left of a step where some of its requests are gone; None for nothing."""
    if isinstance(operation, Step) and operation.requests is not None:
        ready = model.batch(Step())
        operation = replace(operation, requests=tuple(name for name in operation.requests if name in ready))
    return operation if model.problem(operation) is None else None


def removed(scenario: Scenario, indices: Collection[int]) -> Scenario:
    """Return `scenario` without some operations, and without what is not legal any more without them."""
    return repaired(scenario.config, (op for i, op in enumerate(scenario.operations) if i not in indices))


def absorbed(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the same without some steps in a row, but with longer drafts, or a longer prompt.

    What steps only fill a row with is there at once.
    """
    config, operations = scenario.config, scenario.operations
    steps = [index for index, operation in enumerate(operations) if isinstance(operation, Step)]
    for size in range(min(len(steps), _ABSORBED), 0, -1):
        for start in range(len(steps) - size + 1):
            left = [op for index, op in enumerate(operations) if index not in steps[start : start + size]]
            for drafts in range(config.draft_len + 1, _DRAFTS + 1):
                yield repaired(replace(config, draft_len=drafts), left)
            for request in _requests(left):
                for more in range(1, min(size * (config.draft_len + 1), _LONGER) + 1):
                    yield repaired(config, (_longer(operation, request, more) for operation in left))


def _longer(operation: Operation, request: str, more: int) -> Operation:
    if isinstance(operation, Admit) and operation.request == request:
        chunks = (*operation.chunks[:-1], operation.chunks[-1] + more) if operation.chunks else ()
        return replace(operation, prompt_len=operation.prompt_len + more, chunks=chunks)
    if isinstance(operation, AdmitDisaggregated) and operation.request == request:
        return replace(operation, context_len=operation.context_len + more)
    return operation


def weight(scenario: Scenario) -> tuple[int, ...]:
    """Return what minimising makes smaller, the weightiest first: operations, requests, options, sizes."""
    config, operations = scenario.config, scenario.operations
    requests = _requests(operations)
    return (
        len(operations), len(requests), len(config.options), config.max_num_requests, config.seats,
        not config.num_seq_slots, sum(config.buckets), config.draft_len, config.seed,
        sum(map(_operand, operations)),
        sum(name != plain for name, plain in zip(requests, _NAMES, strict=False)),
    )  # fmt: skip


def _requests(operations: Iterable[Operation]) -> list[str]:
    """Return the ids of requests in the order in which they come."""
    return list(dict.fromkeys(op.request for op in operations if isinstance(op, (Admit, AdmitDisaggregated))))


def _operand(operation: Operation) -> int:
    """Return how much an operation says beyond its plainest form."""
    if isinstance(operation, Admit):
        return operation.prompt_len + 2 * len(operation.chunks) + bool(operation.cached) + bool(operation.pause)
    if isinstance(operation, AdmitDisaggregated):
        return operation.context_len + 2
    if isinstance(operation, Step):
        return (operation.graph is not None) + (0 if operation.requests is None else 1 + len(operation.requests))
    return isinstance(operation, Abort) + bool(getattr(operation, "dp_dummy", 0)) + bool(_bucket(operation))


def _bucket(operation: Operation) -> int | None:
    return operation.bucket if isinstance(operation, Warmup) else None


def reworded(scenario: Scenario, index: int) -> Iterator[Scenario]:
    """Yield the same with the operation at `index` in plainer forms, the boldest first."""
    operations = scenario.operations
    for other in _forms(operations[index]):
        yield repaired(scenario.config, (*operations[:index], other, *operations[index + 1 :]))


def _with(scenario: Scenario, **changes: Any) -> Iterator[Scenario]:
    config = replace(scenario.config, **changes)
    if config_problem(config) is None:
        yield repaired(config, scenario.operations)


def _without_option(scenario: Scenario) -> Iterator[Scenario]:
    for each in fields(Config):
        if each.name in scenario.config.options:
            yield from _with(scenario, **{each.name: each.default})


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    config = scenario.config
    for rows in range(1, config.max_num_requests + 1):
        buckets = tuple(bucket for bucket in config.buckets if bucket <= rows)
        for seats in range(rows, config.seats + 1):
            yield from _with(scenario, max_num_requests=rows, num_seq_slots=seats, buckets=buckets)


def _without_bucket(scenario: Scenario) -> Iterator[Scenario]:
    buckets = scenario.config.buckets
    for bucket in buckets:
        yield from _with(scenario, buckets=tuple(other for other in buckets if other != bucket))


def _smaller_bucket(scenario: Scenario) -> Iterator[Scenario]:
    """The same with one bucket of another size, in the configuration and wherever it is captured or warmed up."""
    buckets = scenario.config.buckets
    for bucket in buckets:
        for size in range(1, bucket):
            config = replace(scenario.config, buckets=tuple(size if each == bucket else each for each in buckets))
            if config_problem(config) is None:
                yield repaired(config, (_of_size(op, bucket, size) for op in scenario.operations))


def _of_size(operation: Operation, bucket: int, size: int) -> Operation:
    if isinstance(operation, (Capture, Warmup)) and operation.bucket == bucket:
        return replace(operation, bucket=size)
    return operation


def _fewer_drafts(scenario: Scenario) -> Iterator[Scenario]:
    for count in range(1, scenario.config.draft_len):
        yield from _with(scenario, draft_len=count)


def _without_seed(scenario: Scenario) -> Iterator[Scenario]:
    yield from _with(scenario, seed=0)


def _renamed(scenario: Scenario) -> Iterator[Scenario]:
    """The same with requests called a, b, c in the order in which they come."""
    names = dict(zip(_requests(scenario.operations), _NAMES, strict=False))
    yield repaired(scenario.config, (_with_names(operation, names) for operation in scenario.operations))


def _with_names(operation: Operation, names: dict[str, str]) -> Operation:
    if isinstance(operation, Step) and operation.requests is not None:
        return replace(operation, requests=tuple(names.get(name, name) for name in operation.requests))
    request = getattr(operation, "request", None)
    return operation if request is None else replace(operation, request=names.get(request, request))


# What may be plainer about a whole scenario, one respect each.
CONFIGURED: tuple[Callable[[Scenario], Iterator[Scenario]], ...] = (
    _without_option, _without_bucket, _smaller_bucket, _smaller, _fewer_drafts, _without_seed, _renamed,
)  # fmt: skip


def _forms(operation: Operation) -> Iterator[Operation]:
    if isinstance(operation, Admit):
        yield from _prompts(operation)
    elif isinstance(operation, AdmitDisaggregated):
        yield Admit(operation.request, operation.context_len)
        yield from (replace(operation, context_len=length) for length in _shorter(operation.context_len))
    elif isinstance(operation, Step):
        yield Step()
        yield replace(operation, graph=None)
        yield replace(operation, requests=None)
        named = operation.requests or ()
        yield from (replace(operation, requests=tuple(r for r in named if r != name)) for name in named)
    elif isinstance(operation, Abort):
        yield Finish(operation.request)
    elif isinstance(operation, Idle):
        yield Idle()
    elif isinstance(operation, Warmup):
        yield Warmup()


def _prompts(admit: Admit) -> Iterator[Operation]:
    """Yield it shorter, with less of a prefix hit, in fewer chunks, without a pause, and all of these together."""
    lengths = (*_shorter(admit.prompt_len), admit.prompt_len)
    hits = (None, 1, admit.cached) if admit.cached else (None,)
    for length, cached, paused in product(lengths, hits, (None, True) if admit.pause else (None,)):
        rest = length - (cached or 0)
        for chunks in ((), (1, rest - 1), admit.chunks) if admit.chunks else ((),):
            fits = not chunks or (sum(chunks) == rest and min(chunks) > 0)
            if rest > 0 and fits and not (paused and len(chunks) == 1):
                yield Admit(admit.request, length, chunks, cached, paused if chunks else None)


def _shorter(length: int) -> Iterator[int]:
    yield from dict.fromkeys((1, length // 2, length - 1))
