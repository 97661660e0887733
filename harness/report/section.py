"""One bug on one target, with all that a page tells of it: plain data that travels as JSON, too."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from harness.orders import CONFIG_REGIME, REGIMES
from harness.report.slotmap import SlotMap
from harness.verdicts import Case, CaseResult

__all__ = ["Section", "Waived", "replay_command", "test_of"]


@dataclass(frozen=True)
class Waived:
    """The waiver that decides about a test of this bug: where it stands, what it says, and its bug's URL."""

    test: str
    place: str
    text: str
    url: str = ""


@dataclass(frozen=True)
class Section:
    """What was run and what it showed.

    target   its name, with the faults that were seeded; facts: version, source, device, own code, stand-ins.
    command  the words of the command that ran it, without the options that choose cases.
    maps     slot maps of some cases, which name theirs; waived: the waivers of its tests.
    one_case  whether the command runs this one case anyway, a file's, and takes no option that chooses.
    """

    bug: str
    title: str
    url: str
    kind: str
    mechanism: str
    target: str
    command: tuple[str, ...]
    facts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    results: list[CaseResult] = field(default_factory=list)
    maps: list[SlotMap] = field(default_factory=list)
    waived: list[Waived] = field(default_factory=list)
    one_case: bool = False


def replay_command(section: Section, case: Case) -> str:
    """Return the command that runs one case again, as a shell takes it."""
    if section.one_case:
        return shlex.join(section.command)
    words = [*section.command, "--worker", case.worker, "--regime", case.regime, "--first", case.first]
    if case.regime in REGIMES or case.regime == CONFIG_REGIME:  # others have orders of their own
        words += ["--orders", ",".join(map(str, case.order))]
    return shlex.join(words)


def test_of(section: Section, case: Case) -> str:
    """Return the id of the test that runs a case: what a waiver names."""
    return f"repro_cases/test_reproducers.py::test_bug[{section.bug}-{case.worker}-{case.regime}]"
