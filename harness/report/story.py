"""A scenario in words: what each operation does, for a person who never saw one."""

from __future__ import annotations

from collections.abc import Sequence

from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Idle,
    Operation,
    Preempt,
    Prefill,
    Rebind,
    Resume,
    Step,
    Warmup,
)
from harness.trace import Snapshot

__all__ = ["setting", "told"]

_FEW = 2  # requests that are named one by one


def setting(config: Config) -> str:
    """Return what the engine is opened with, in one sentence."""
    seats = f"{config.num_seq_slots} seats" if config.num_seq_slots else "no seat count (num_seq_slots unset)"
    graphs = f"graphs for {', '.join(map(str, config.buckets))}" if config.buckets else "no graphs"
    options = f", with {', '.join(config.options)}" if config.options else ""
    return (
        f"A {config.worker} worker with {seats}, batches of up to {config.max_num_requests}, {graphs}, "
        f"{config.draft_len} drafts a step{options}."
    )


def told(operation: Operation, shot: Snapshot | None = None) -> str:
    """Return what an operation does; `shot` adds what it came to: which graph ran, and how much was padding."""
    if isinstance(operation, Step):
        return _step(operation, shot)
    if isinstance(operation, Admit):
        return _admit(operation)
    if isinstance(operation, (Warmup, Capture)):
        return _captured(operation)
    return _moved(operation)


def _captured(operation: Warmup | Capture) -> str:
    if isinstance(operation, Capture):
        return f"capture the graph for {operation.bucket}"
    return "eager warm-up" if operation.bucket is None else f"warm-up in the shape of {operation.bucket}"


def _moved(operation: Operation) -> str:
    words = {
        Prefill: "prefills its next chunk", Finish: "finishes", Abort: "is aborted",
        Preempt: "loses its seat for a while", Resume: "resumes",
    }  # fmt: skip
    if isinstance(operation, (Prefill, Finish, Abort, Preempt, Resume)):
        return f"{operation.request} {words[type(operation)]}"
    if isinstance(operation, AdmitDisaggregated):
        return f"{operation.request} is handed over, {operation.context_len} tokens"
    if isinstance(operation, Rebind):
        return "the cache's memory is replaced"
    if isinstance(operation, DraftLen):
        return f"draft length becomes {operation.k}"
    assert isinstance(operation, Idle)
    return "nobody is here: a dummy runs" if operation.dp_dummy else "nobody is here"


def _admit(operation: Admit) -> str:
    extra = f" in chunks {'+'.join(map(str, operation.chunks))}" if operation.chunks else ""
    extra += f", {operation.cached} cached" if operation.cached else ""
    extra += ", then pauses" if operation.pause else ""
    return f"{operation.request} comes, prompt of {operation.prompt_len}{extra}"


def _step(operation: Step, shot: Snapshot | None) -> str:
    if shot is None:
        where = {None: "", True: ", on a graph", False: ", eagerly"}[operation.graph]
        return f"{_named(operation.requests)}{where}"
    padding = shot.padded - len(shot.batch)
    where = f", graph {shot.graph}" if shot.graph is not None else " eagerly"
    return f"{_named(shot.batch)}{where}" + (f", {padding} padding" if padding > 0 else "")


def _named(requests: Sequence[str] | None) -> str:
    if requests is None:
        return "all step"
    if len(requests) > _FEW:
        return f"{len(requests)} requests step"
    verb = "steps" if len(requests) == 1 else "step"
    return f"{', '.join(requests) or 'nobody'} {verb}"
