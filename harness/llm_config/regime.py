"""The regime "config": a bug's own cases with the buckets, capacities and habits of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.legality import Model
from harness.llm_config.deriving import Derived
from harness.orders import CONFIG_REGIME
from harness.reproduce import Parameters, Reproducer
from harness.scenario import Admit, AdmitDisaggregated, Operation, Scenario, Step
from harness.verdicts import Case

__all__ = ["CONFIG_REGIME", "with_config"]


def with_config(reproducer: Reproducer, derived: Derived) -> Reproducer:
    """Return `reproducer` with the regime "config" added; its parameters must hold `derived.config`."""

    def cases(parameters: Parameters) -> Iterator[Case]:
        for case in reproducer.cases(parameters):
            yield replace(case, scenario=_as_configured(case.scenario, derived))

    def reference(worker: str, parameters: Parameters) -> Scenario:
        return _as_configured(reproducer.reference(worker, parameters), derived)

    return replace(reproducer, cases=cases, reference=reference, regimes=(*reproducer.regimes, CONFIG_REGIME))


def _as_configured(scenario: Scenario, derived: Derived) -> Scenario:
    model = Model(scenario.config)
    operations: list[Operation] = []
    for operation in scenario.operations:
        operations.append(_operation(operation, model, derived))
        if model.problem(operation):
            return scenario  # refused before it runs, with this very operation and why
        model.apply(operation)
    return replace(scenario, operations=tuple(operations))


def _operation(operation: Operation, model: Model, derived: Derived) -> Operation:
    if derived.handed_over and isinstance(operation, Admit):
        return AdmitDisaggregated(operation.request, operation.prompt_len)
    if not derived.padding and isinstance(operation, Step) and operation.graph is None:
        # Without padding only a batch of exactly a bucket's size is replayed.
        fits = len(model.batch(operation)) in model.config.buckets
        return operation if fits else replace(operation, graph=False)
    return operation
