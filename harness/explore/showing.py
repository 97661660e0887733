"""Whether a scenario shows one violation, asked by running it; several times where it shows only now and then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.invariants import PREDICATES, RELATIONS
from harness.launch import Launcher
from harness.oracles import screen
from harness.scenario import Scenario
from harness.trace import Outcome, Violation

__all__ = ["BALLOTS", "Witness", "signature_of"]

BALLOTS = 5  # runs of a scenario that decide whether it shows what does not always show
_ENOUGH = 3  # of them: more often than not
_RAISED = re.compile(r"\w+(Error|Exception)\b")


def signature_of(violation: Violation) -> str:
    """Return what makes two violations the same finding: where something was raised, the exception's name, too."""
    raised = _RAISED.match(violation.seen) if violation.rule == Outcome.ERROR.value else None
    return f"{violation.signature}:{raised[0]}" if raised else violation.signature


@dataclass
class Witness:
    """Says whether scenarios show the violation of one signature: a predicate's as the first one.

    A relation is asked whatever predicates say: else nothing plainer would count that they see, too.

    hits    how many of `BALLOTS` runs of the found scenario showed it: all of them where it is steady.
    tried   how many scenarios were asked about.
    """

    launcher: Launcher
    faults: tuple[str, ...]
    signature: str
    hits: int = BALLOTS
    tried: int = field(default=0, init=False)

    def confirm(self, scenario: Scenario) -> int:
        """Count how often the found scenario shows it in processes that served nothing before."""
        if self.launcher.isolation == "reuse":
            self.launcher.end_hosts()
        self.hits = sum(self._run([scenario] * BALLOTS))
        return self.hits

    def __call__(self, scenarios: Sequence[Scenario]) -> list[bool]:
        """Say of each whether it shows the violation: in one run if that is steady, or else by a vote."""
        self.tried += len(scenarios)
        if self.hits == BALLOTS:
            return self._run(scenarios)
        shown = self._run([scenario for scenario in scenarios for _ in range(BALLOTS)])
        votes = [sum(shown[start : start + BALLOTS]) for start in range(0, len(shown), BALLOTS)]
        return [count >= max(1, min(_ENOUGH, self.hits)) for count in votes]

    def _run(self, scenarios: Sequence[Scenario]) -> list[bool]:
        invariant = self.signature.partition(":")[0]
        relations, predicates = ((invariant,), ()) if invariant in RELATIONS else ((), tuple(PREDICATES))
        judged = dict(screen(self.launcher, scenarios, self.faults, relations, predicates))
        return [
            any(signature_of(violation) == self.signature for violation in judged[index].violations)
            for index in range(len(scenarios))
        ]
