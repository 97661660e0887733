"""Relations: what a scenario shows must not depend on company, padding, order, chunks, interruptions or graphs.

Each derives from a scenario another one in which every request has the same text, and compares the two runs at
every position that both saw. No state of the engine is read: what it drafts and emits is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from harness.invariants.comparison import Difference, drafts_differ, first_differences, tokens_differ
from harness.legality import IllegalScenarioError, Model, check
from harness.scenario import (
    Abort,
    Admit,
    AdmitDisaggregated,
    Capture,
    Config,
    DraftLen,
    Finish,
    Operation,
    Preempt,
    Rebind,
    Resume,
    Scenario,
    Step,
)
from harness.trace import Trace, Violation

__all__ = ["RELATIONS", "Relation"]

_Operations = Iterator[Operation]


def _same_lengths(config: Config) -> bool:
    """Whether a request verifies as many drafts in any company: under sampling its tokens depend on that."""
    return not (config.sampling and config.verify)


@dataclass(frozen=True)
class Relation:
    """A scenario beside a scenario, and what the two must have in common.

    than    what the other run is, in words that follow "differs from".
    derive  yields the other run's operations.
    differ  what is compared at a position; probes: whether the other run is probed as the first one is.
    exact   whether the two must be equal under a configuration, and not only in distribution.
    """

    name: str
    than: str
    derive: Callable[[Scenario], _Operations]
    differ: Difference = drafts_differ
    probes: bool = True
    exact: Callable[[Config], bool] = lambda _: True

    def related(self, scenario: Scenario) -> Scenario | None:
        """Return the other scenario; None where there is nothing to vary, or no legal and exact way to."""
        if not self.exact(scenario.config):
            return None
        other = replace(scenario, operations=tuple(self.derive(scenario)), name=self.name)
        if self.probes and other.operations in (scenario.operations, tuple(_named(scenario))):
            return None
        try:
            check(other)
        except IllegalScenarioError:
            return None
        return other

    def broken(self, reference: Trace, trace: Trace) -> list[Violation]:
        """Return the first difference of each request; operations are those of `trace`."""
        return first_differences(reference, trace, self.differ, self.name, self.than)


def _named(scenario: Scenario) -> _Operations:
    return (operation for operation, _ in _explicit(scenario))


def _explicit(scenario: Scenario) -> Iterator[tuple[Operation, Model]]:
    """Yield each operation, steps with their requests named, and the model before it."""
    model = Model(scenario.config)
    for operation in scenario.operations:
        named = replace(operation, requests=model.batch(operation)) if isinstance(operation, Step) else operation
        yield named, model
        model.apply(operation)


def _alone(scenario: Scenario) -> _Operations:
    """Each request by itself, from its coming to its end, eagerly."""
    current = scenario.config.draft_len
    for life in _lives(scenario):
        for operation in life:
            if not isinstance(operation, DraftLen):
                yield operation
            elif operation.k != current:
                current = operation.k
                yield operation


def _lives(scenario: Scenario) -> Iterator[list[Operation]]:
    """Return what happens to each request that comes, with the draft lengths of its time."""
    lives: list[list[Operation]] = []
    living: dict[str, list[Operation]] = {}
    for operation, model in _explicit(scenario):
        request = getattr(operation, "request", None)
        if isinstance(operation, (Admit, AdmitDisaggregated)):
            living[operation.request] = [DraftLen(model.draft_len)]
            lives.append(living[operation.request])
        for name in _batch(operation):
            living[name].append(Step((name,), graph=False))
        if request is not None:
            living[request].append(operation)
        elif isinstance(operation, DraftLen):
            for life in living.values():
                life.append(operation)
        if isinstance(operation, (Finish, Abort)):
            del living[operation.request]
    for name, life in living.items():
        life.append(Finish(name))
    return iter(lives)


def _eager(scenario: Scenario) -> _Operations:
    """The same without graphs."""
    for operation in scenario.operations:
        if not isinstance(operation, Capture):
            yield replace(operation, graph=False) if isinstance(operation, Step) else operation


def _padded(scenario: Scenario) -> _Operations:
    """The same with the largest bucket alone, wherever the first one was captured at its draft length."""
    done: set[int] = set()
    for operation, model in _explicit(scenario):
        if isinstance(operation, Capture):
            if model.draft_len not in done:
                yield Capture(max(scenario.config.buckets))
            done.add(model.draft_len)
            continue
        if isinstance(operation, Rebind):  # which voids all graphs
            done.clear()
        yield operation


def _captured_backwards(scenario: Scenario) -> _Operations:
    """The same with each run of captures in the opposite order."""
    run: list[Operation] = []
    for operation in scenario.operations:
        if isinstance(operation, Capture):
            run.append(operation)
            continue
        yield from reversed(run)
        run.clear()
        yield operation
    yield from reversed(run)


def _batched_backwards(scenario: Scenario) -> _Operations:
    """The same with the rows of every batch in the opposite order."""
    for operation, _ in _explicit(scenario):
        yield replace(operation, requests=_batch(operation)[::-1]) if isinstance(operation, Step) else operation


def _used_otherwise(scenario: Scenario) -> _Operations:
    """The same with every batch run as two, the latter half first: other buckets, in another order."""
    for operation, _ in _explicit(scenario):
        batch = _batch(operation)
        if isinstance(operation, Step) and len(batch) > 1:
            half = len(batch) // 2
            yield replace(operation, requests=batch[half:])
            yield replace(operation, requests=batch[:half])
        else:
            yield operation


def _chunked_otherwise(scenario: Scenario) -> _Operations:
    """The same with whole prompts in chunks, or where any is in chunks, all of them whole."""
    whole = any(isinstance(operation, Admit) and operation.chunks for operation in scenario.operations)
    for operation in scenario.operations:
        if isinstance(operation, Admit):
            count = operation.prompt_len - (operation.cached or 0)
            yield replace(operation, chunks=() if whole or count < 2 else (1, count - 1))
        else:
            yield operation


def _uninterrupted(scenario: Scenario) -> _Operations:
    """The same without preemption and resumption."""
    for operation, _ in _explicit(scenario):
        if not isinstance(operation, (Preempt, Resume)):
            yield operation


def _undrafted(scenario: Scenario) -> _Operations:
    """The same without a single draft: as many plain steps as tokens could be accepted."""
    captured: set[Operation] = set()
    yield DraftLen(0)
    for operation, model in _explicit(scenario):
        if isinstance(operation, Step):
            yield from [operation] * (model.draft_len + 1)
        elif isinstance(operation, Rebind):
            captured.clear()
            yield operation
        elif not isinstance(operation, DraftLen) and operation not in captured:
            captured.update([operation] if isinstance(operation, Capture) else ())  # once, at this one length
            yield operation


def _same(scenario: Scenario) -> _Operations:
    yield from scenario.operations


def _batch(operation: Operation) -> tuple[str, ...]:
    return operation.requests or () if isinstance(operation, Step) else ()


RELATIONS: dict[str, Relation] = {
    relation.name: relation
    for relation in (
        Relation("R-ALONE", "a run of it alone", _alone, exact=_same_lengths),
        Relation("R-ORDER", "a run with batches in the opposite order", _batched_backwards, exact=_same_lengths),
        Relation("R-USE", "a run with every batch in two halves", _used_otherwise, exact=_same_lengths),
        Relation("R-PADDED", "a run padded to the largest bucket", _padded),
        Relation("R-CAPTURES", "a run with buckets captured in the opposite order", _captured_backwards),
        Relation("R-EAGER", "a run without graphs", _eager),
        Relation("R-CHUNKS", "a run with prompts in other chunks", _chunked_otherwise),
        Relation("R-RESUME", "a run without preemption", _uninterrupted),
        Relation("R-PLAIN", "a run without drafts", _undrafted, tokens_differ, exact=lambda c: not c.sampling),
        Relation("R-PROBED", "a run without canaries and poison", _same, probes=False),
    )
}
