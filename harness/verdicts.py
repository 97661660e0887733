"""What running a bug's cases gives: plain records that reports read and that travel as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.errors import ExitCode
from harness.scenario import Scenario
from harness.trace import Outcome, Violation

__all__ = ["FIRST_DRAFTERS", "Acceptance", "Case", "CaseResult", "LeftAlone", "exit_code"]

FIRST_DRAFTERS = {
    "eager": "the engine's warm-up, an ordinary eager forward, drafts first",
    "bucket": "the first captured bucket drafts first",
}


@dataclass(frozen=True)
class Case:
    """A scenario and where it stands in the matrix. All invariants must hold in it.

    regime  one of `orders.REGIMES`, or a short name for a case that stands beside the matrix.
    """

    worker: str
    regime: str
    first: str
    order: tuple[int, ...]
    scenario: Scenario


@dataclass(frozen=True)
class Acceptance:
    """Mean accepted length of a request's verifications, in tokens, bonus included: run alone, and in a case."""

    request: str
    alone: float
    here: float

    @property
    def collapsed(self) -> bool:
        """Whether more than half of what was accepted is lost; one token a verification is the target's own."""
        return self.here - 1 < (self.alone - 1) / 2


@dataclass(frozen=True)
class LeftAlone:
    """What the engine itself shows of a violation: the same case run on, with no probe and no stop.

    raised   what it raised in the end, "" for nothing; where: in which operation.
    live     how many requests were live before that; quiet: whether it said nothing while they fitted the
             largest captured bucket.
    acceptance  of each request, where models were trained: with others nobody's draft is accepted anyway.
    plain    whether its output is what plain greedy decoding gives, None where that was not looked at.
    """

    raised: str
    where: str
    live: int
    quiet: bool
    acceptance: tuple[Acceptance, ...] = ()
    plain: bool | None = None


@dataclass
class CaseResult:
    """How a case ended. `violations` are those of predicates, probes and relations, first ones first.

    at         index of the operation in which it ended, None where it came to its end: `where` as a number.
    drafted    a hash of everything that was drafted and emitted, to compare devices and versions.
    confirmed  whether a fresh process showed the same; None where nothing was to be confirmed.
    """

    bug: str
    case: Case
    outcome: Outcome
    where: str
    detail: str
    device: str
    drafted: str = ""
    violations: list[Violation] = field(default_factory=list)
    left_alone: LeftAlone | None = None
    confirmed: bool | None = None
    log: str = ""
    at: int | None = None

    @property
    def signature(self) -> str:
        """What groups failures: the first violation's signature, or the outcome and what was raised."""
        if self.violations:
            return self.violations[0].signature
        return f"{self.outcome.value}: {self.detail.partition(' [')[0]}"

    @property
    def holds(self) -> bool:
        """Whether everything held."""
        return self.outcome is Outcome.OK

    @property
    def silent(self) -> bool:
        """Whether only the invariants see it in every batch that a captured graph holds."""
        return self.left_alone is not None and self.left_alone.quiet

    @property
    def word(self) -> str:
        """The cell of the matrix."""
        if self.outcome is Outcome.VIOLATION:
            return "silent" if self.silent else "FAIL"
        words = {Outcome.OK: "ok", Outcome.UNSUPPORTED: "n/a"}
        return words.get(self.outcome) or str(self.outcome.value)


def exit_code(outcomes: set[Outcome]) -> ExitCode:
    """Return how a command ends whose cases ended so."""
    if outcomes - {Outcome.OK, Outcome.UNSUPPORTED}:
        return ExitCode.VIOLATION
    return ExitCode.HOLDS if Outcome.OK in outcomes else ExitCode.UNSUPPORTED
