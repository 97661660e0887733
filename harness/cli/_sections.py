"""What a run hands to a page: a `Section`, with the waivers of its tests where a list is at hand."""

from __future__ import annotations

from pathlib import Path

from harness.cli._cases import Plan
from harness.cli._commands import command_words
from harness.cli._sides import Ran
from harness.report.section import Section, Waived, test_of

__all__ = ["section_of"]

_WAIVES_FILE = Path("test_lists/waives.txt")


def section_of(plan: Plan, ran: Ran, facts: dict[str, str]) -> Section:
    """Return the section of what the running command ran; `facts` begin with the target."""
    entry = plan.entry
    command = command_words(["repro", entry.bug.removeprefix("nvbugs/")])
    told = {name: text for name, text in facts.items() if name != "target"}
    section = Section(
        entry.bug, entry.title, entry.url, entry.kind, entry.mechanism, facts["target"], command,
        told, plan.notes, ran.results, list(ran.maps),
    )  # fmt: skip
    section.waived.extend(_waived(section))
    return section


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
