"""A scenario as a short story: what the engine is opened with, what happens, where it breaks."""

from __future__ import annotations

from harness.explore.finding import Finding
from harness.explore.showing import BALLOTS
from harness.launch import Launcher, Run
from harness.report.story import setting, told
from harness.report.summary import fact
from harness.report.text import safe
from harness.scenario import Scenario
from harness.trace import Violation

__all__ = ["lengths", "tell"]


def tell(launcher: Launcher, scenario: Scenario, violation: Violation, faults: tuple[str, ...]) -> str:
    """Run the scenario once more, as the engine is without probes, and return its story, a line an operation."""
    trace = launcher.run(Run(scenario, faults=faults, probes=False))
    lines = [setting(scenario.config)]
    for index, operation in enumerate(scenario.operations):
        shot = trace.snapshots[index] if index < len(trace.snapshots) else None
        lines.append(f"{index:>3}  {told(operation, shot)}")
        if index == violation.operation:
            lines.append(f"  !  {fact(violation)}")
    if violation.operation >= len(scenario.operations):
        lines.append(f"  !  {fact(violation)}")
    return "\n".join(safe(line) for line in lines)


def lengths(finding: Finding) -> str:
    """Return how long the shortest scenario is, beside the one that was found, and what is to be known of it."""
    found, minimal = len(finding.found.operations), len(finding.minimal.operations)
    text = f"{minimal} operation{'s' if minimal > 1 else ''} of {found}"
    if finding.flaky:
        text += f", shown by {finding.hits} of {BALLOTS} further runs"
    return text if finding.whole else f"{text}, interrupted"
