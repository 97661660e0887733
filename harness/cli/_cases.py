"""Options that say which of a bug's cases to run, the same for `repro` and `bisect`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click

from harness.catalogue import CatalogueEntry, load_reproducer
from harness.errors import LaunchError, UsageError
from harness.launch import Launcher
from harness.llm_config import CONFIG_REGIME, Derived, derive, read_llm_config, with_config
from harness.orders import DEFAULT_BUCKETS, parse_orders
from harness.reproduce import Parameters, Reproducer, reproduce
from harness.scenario import WORKERS
from harness.trace import Outcome
from harness.verdicts import FIRST_DRAFTERS, CaseResult

__all__ = ["CaseOptions", "Plan", "case_options", "plan_cases"]

F = TypeVar("F", bound=Callable[..., object])

# More buckets than this have more orders than anybody waits for.
_FEW_BUCKETS = 4
_SAMPLE = "sample:8"


@dataclass(frozen=True)
class CaseOptions:
    """The options as given; `orders` None leaves the number of orders to the number of buckets."""

    worker: str | None
    orders: str | None
    regime: str | None
    first: str | None
    config: Path | None


@dataclass(frozen=True)
class Plan:
    """A bug's cases as they will be run. `notes` say how a configuration's numbers came about."""

    entry: CatalogueEntry
    reproducer: Reproducer
    parameters: Parameters
    notes: tuple[str, ...] = ()

    def run(self, launcher: Launcher, faults: tuple[str, ...] = ()) -> list[CaseResult]:
        """Run them. Raises `LaunchError` where the target can do none of them."""
        results = reproduce(self.reproducer, self.parameters, launcher, faults)
        if all(result.outcome is Outcome.UNSUPPORTED for result in results):
            raise LaunchError(f"target {launcher.target} cannot run {self.entry.bug}: {results[0].detail}")
        return results


def case_options(command: F) -> F:
    """Add --worker, --orders, --regime, --first and --config."""
    options = (
        click.option("--worker", type=click.Choice(WORKERS), help="Only this worker."),
        click.option("--orders", help="all (the default for few buckets), sample:N, or one order such as 4,2,1."),
        click.option("--regime", help="Only this regime, such as exact or production."),
        click.option("--first", type=click.Choice(list(FIRST_DRAFTERS)), help="Only with this first drafter."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            help="An LLM-API configuration to take buckets, capacities and draft length from.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def plan_cases(entry: CatalogueEntry, given: CaseOptions) -> Plan:
    """Return the cases that the options mean. Raises `UsageError` for what cannot be meant."""
    reproducer = load_reproducer(entry)
    derived = derive(read_llm_config(given.config)) if given.config else None
    if derived is not None:
        reproducer = with_config(reproducer, derived)
    regime = given.regime or (CONFIG_REGIME if derived else None)
    if regime and regime not in reproducer.regimes:
        raise UsageError(f"--regime {regime}: {entry.bug} has {', '.join(reproducer.regimes)}")
    parameters = Parameters(
        _workers(given, derived, reproducer),
        (regime,) if regime else None,
        (given.first,) if given.first else tuple(FIRST_DRAFTERS),
        _orders(given, derived),
    )
    if derived is None:
        return Plan(entry, reproducer, parameters)
    notes = tuple(f"{given.config}: {note}" for note in derived.notes)
    return Plan(entry, reproducer, replace(parameters, config=derived.config), notes)


def _workers(given: CaseOptions, derived: Derived | None, reproducer: Reproducer) -> tuple[str, ...]:
    drafting = derived.workers if derived else WORKERS
    if given.worker and given.worker not in drafting:
        raise UsageError(f"--worker {given.worker}: {given.config} drafts with {', '.join(drafting)}")
    wanted = (given.worker,) if given.worker else drafting
    workers = tuple(worker for worker in wanted if worker in reproducer.workers)
    if not workers:
        asked = f"--worker {given.worker}" if given.worker else f"{given.config} drafts with {', '.join(drafting)}"
        raise UsageError(f"{asked}: {reproducer.bug} is a bug of {', '.join(reproducer.workers)} alone")
    return workers


def _orders(given: CaseOptions, derived: Derived | None) -> tuple[tuple[int, ...], ...]:
    buckets = derived.config.buckets if derived else DEFAULT_BUCKETS
    few = len(buckets) <= _FEW_BUCKETS
    orders = parse_orders(given.orders or ("all" if few else _SAMPLE), buckets)
    strange = {bucket for order in orders for bucket in order} - set(buckets)
    if derived and strange:
        raise UsageError(f"--orders {given.orders}: the configuration's buckets are {','.join(map(str, buckets))}")
    return orders
