"""One source, described and run: what `repro` shows once, and twice with `--against`."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.cli._cases import Plan
from harness.cli._launch import check_faults, launcher_for
from harness.cli._pictures import draw
from harness.errors import LaunchError
from harness.protocol import Description
from harness.report.slotmap import SlotMap
from harness.trace import Outcome
from harness.verdicts import CaseResult

__all__ = ["Launched", "Ran", "run_side"]


@dataclass(frozen=True)
class Launched:
    """Which target to launch and how; `source` as a person wrote it, `found` as a host takes it."""

    target: str
    source: str
    found: str
    device: str
    isolation: str | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What a source is, in the target's own words where it has some, and what its cases showed.

    maps  slot maps of some of the cases, where they were asked for.
    """

    launched: Launched
    description: Description | None
    results: list[CaseResult]
    maps: list[SlotMap] = field(default_factory=list)

    @property
    def version(self) -> str:
        """Its commit or version in words."""
        return self.description.version if self.description else "no version known"

    @property
    def outcomes(self) -> set[Outcome]:
        """How its cases ended."""
        return {result.outcome for result in self.results}


def run_side(plan: Plan, launched: Launched, *, drawn: bool = False, healthy: bool = False) -> Ran:
    """Describe the target and run the plan on it. Raises `LaunchError` where that cannot be done.

    With `drawn` the examples of its findings are drawn, with `healthy` a case that holds, too.
    """
    with launcher_for(launched.target, launched.found, launched.device, launched.isolation) as launcher:
        check_faults(launcher, launched.faults)
        description = None
        # A tree with one broken worker still runs the other; what cannot be run says so itself.
        try:
            description = launcher.describe()
        except LaunchError:
            if len(plan.parameters.workers) > 1:
                raise
        results = plan.run(launcher, launched.faults)
        maps = draw(launcher, results, launched.faults, healthy) if drawn else []
        return Ran(launched, description, results, maps)
