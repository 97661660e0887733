"""What a run hands to a page: a `Section`, with the waivers of its tests where a list is at hand."""

from __future__ import annotations

from pathlib import Path

from harness.cli._cases import Plan
from harness.cli._sides import Ran
from harness.report.section import Section, Waived, test_of

__all__ = ["section_of"]

_WAIVES_FILE = Path("test_lists/waives.txt")
# Options that say what is launched; those that choose cases are said anew for each case.
_KEPT = {
    "target": "--target", "source": "--source", "repo": "--repo", "device": "--device", "faults": "--fault",
    "isolation": "--isolation", "config": "--config",
}  # fmt: skip
_DEFAULTS = {"target": "embedded", "device": "cpu"}


def section_of(plan: Plan, ran: Ran, facts: dict[str, str], options: dict[str, object]) -> Section:
    """Return the section of a run; `options` are those of the command line, by the names of its parameters."""
    entry = plan.entry
    target = facts.pop("target")
    section = Section(
        entry.bug, entry.title, entry.url, entry.kind, entry.mechanism, target, _command(entry.bug, options),
        facts, plan.notes, ran.results, list(ran.maps),
    )  # fmt: skip
    section.waived.extend(_waived(section))
    return section


def _command(bug: str, options: dict[str, object]) -> tuple[str, ...]:
    words = ["harness", "repro", bug.removeprefix("nvbugs/")]
    for name, option in _KEPT.items():
        given = options.get(name)
        if given and given != _DEFAULTS.get(name):
            values = given if isinstance(given, tuple) else (given,)
            words += [word for value in values for word in (option, str(value))]
    return tuple(words)


def _waived(section: Section) -> list[Waived]:
    if not _WAIVES_FILE.is_file():
        return []
    from harness.lists import explain_waivers, read_waives  # only a page pays for it

    file = read_waives(_WAIVES_FILE)
    found = []
    for test in dict.fromkeys(test_of(section, result.case) for result in section.results):
        for verdict in explain_waivers(file, test):
            if verdict.decides:
                waiver = verdict.waiver
                place = f"{waiver.place.file}:{waiver.place.line}"
                found.append(Waived(test, place, waiver.text, waiver.reason.bug))
    return found
