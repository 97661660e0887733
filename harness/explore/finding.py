"""A finding: what a scenario breaks, and the shortest scenario that breaks it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from harness.explore.minimising import Minimiser
from harness.explore.showing import BALLOTS, Witness, signature_of
from harness.invariants import PREDICATES, RELATIONS
from harness.launch import Launcher
from harness.oracles import Judgement, examine
from harness.scenario import Scenario
from harness.trace import Violation

__all__ = ["Finding", "shortest"]


@dataclass(frozen=True)
class Finding:
    """A violation, the scenario that showed it first, and the shortest one that does.

    signature  what makes two violations the same finding; violation: the one that the minimal scenario shows.
    also       signatures of everything else that the minimal scenario breaks on its way to its end.
    hits       how many of `BALLOTS` further runs of the found scenario showed it: not all where it is flaky.
    tried      scenarios that minimising ran; seconds: what it took; whole: whether it was left to its end.
    """

    signature: str
    violation: Violation
    found: Scenario
    minimal: Scenario
    also: tuple[str, ...] = ()
    hits: int = BALLOTS
    tried: int = 0
    seconds: float = 0.0
    whole: bool = True

    @property
    def flaky(self) -> bool:
        """Whether the same scenario did not show it every time."""
        return self.hits < BALLOTS


def shortest(launcher: Launcher, judgement: Judgement, faults: tuple[str, ...], width: int) -> Finding:
    """Return the finding of a scenario that was judged, with the shortest scenario that shows its first violation.

    Where that is a relation's and the shortest scenario breaks a predicate, too, the predicate tells more: the
    finding is that one, and its scenario is made short once more.
    What no further run shows is not made shorter. An interrupt ends the minimising where it stands.
    """
    found = judgement.trace.scenario
    finding, first = _shortened(launcher, found, judgement.violations[0], faults, width)
    if not finding.whole or finding.violation.invariant not in RELATIONS or first.invariant not in PREDICATES:
        return finding
    told, _ = _shortened(launcher, finding.minimal, first, faults, width)
    seconds, tried = finding.seconds + told.seconds, finding.tried + told.tried
    return replace(told, found=found, seconds=round(seconds, 1), tried=tried)


def _shortened(
    launcher: Launcher, found: Scenario, violation: Violation, faults: tuple[str, ...], width: int
) -> tuple[Finding, Violation]:
    """Return the finding of one violation, and what its shortest scenario breaks first."""
    start = time.monotonic()
    witness = Witness(launcher, faults, signature_of(violation))
    whole, minimal = True, found
    if witness.confirm(found):
        minimiser = Minimiser(found, witness, width)
        try:
            minimal = minimiser.run()
        except KeyboardInterrupt:
            whole, minimal = False, minimiser.best
    said = {signature_of(each): each for each in examine(launcher, minimal, faults).violations}
    finding = Finding(
        witness.signature, said.get(witness.signature, violation), found, minimal,
        tuple(signature for signature in said if signature != witness.signature),
        witness.hits, witness.tried, round(time.monotonic() - start, 1), whole,
    )  # fmt: skip
    return finding, next(iter(said.values()), violation)
