"""One source, described and run: what `repro` shows once, and twice with `--against`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.bundles import Bundle, Launched, write_bundles
from harness.cli._cases import Plan
from harness.cli._launch import check_faults, launcher_for
from harness.errors import LaunchError
from harness.pictures import draw
from harness.protocol import Description
from harness.report.slotmap import SlotMap
from harness.trace import Outcome
from harness.verdicts import CaseResult

__all__ = ["Ran", "run_side"]


@dataclass(frozen=True)
class Ran:
    """What a source is, in the target's own words where it has some, and what its cases showed.

    found  the source as a host takes it: with a folder for its place.
    maps   slot maps of some of the cases, where they were asked for; bundles likewise.
    """

    launched: Launched
    found: str
    description: Description | None
    results: list[CaseResult]
    maps: list[SlotMap] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)

    @property
    def version(self) -> str:
        """Its commit or version in words."""
        return self.description.version if self.description else "no version known"

    @property
    def outcomes(self) -> set[Outcome]:
        """How its cases ended."""
        return {result.outcome for result in self.results}


def run_side(
    plan: Plan, launched: Launched, found: str, *, drawn: bool = False, healthy: bool = False,
    bundle: Path | None = None,
) -> Ran:  # fmt: skip
    """Describe the target and run the plan on it. Raises `LaunchError` where that cannot be done.

    With `drawn` the examples of its findings are drawn, with `healthy` a case that holds, too; each finding leaves
    a folder in `bundle`.
    """
    with launcher_for(launched.target, found, launched.device, launched.isolation) as launcher:
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
        bundles = write_bundles(bundle, results, launcher, launched, description) if bundle else []
        return Ran(launched, found, description, results, maps, bundles)
