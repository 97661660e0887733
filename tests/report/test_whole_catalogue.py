"""Every bug of the catalogue with its fault: one small page, and a terminal of eighty columns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from reading import Reading

from harness.catalogue import CatalogueEntry, load_catalogue, load_reproducer
from harness.launch import Launcher
from harness.pictures import draw
from harness.report import render_results
from harness.report.heading import render_title
from harness.report.page import render_page
from harness.report.section import Section
from harness.reproduce import Parameters, reproduce

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Shown:
    """A bug as a page and as a terminal has it."""

    section: Section
    text: str


@pytest.fixture(scope="module")
def catalogue() -> list[Shown]:
    with Launcher() as launcher:
        return [ran(entry, launcher) for entry in load_catalogue()]


def ran(entry: CatalogueEntry, launcher: Launcher) -> Shown:
    faults = (entry.fault,) if entry.fault else ()
    results = reproduce(load_reproducer(entry), Parameters(), launcher, faults)
    maps = draw(launcher, results, faults, healthy=True)
    command = ("harness", "repro", entry.bug, *(word for fault in faults for word in ("--fault", fault)))
    section = Section(
        entry.bug, entry.title, entry.url, entry.kind, entry.mechanism, "embedded", command,
        {"device": "cpu"}, results=results, maps=maps,
    )  # fmt: skip
    drawn = next((one for one in maps if one.word != "ok"), None)
    text = render_title(entry.bug, entry.title) + "\n" + render_results(results, entry.mechanism, drawn=drawn)
    return Shown(section, text)


def test_its_page_is_below_two_megabytes_and_whole(catalogue: list[Shown]) -> None:
    page = render_page([shown.section for shown in catalogue])
    read = Reading(page)
    assert len(page.encode()) < 2_000_000
    assert (read.open_tags, read.misnested) == ([], [])
    bugs = [element.attributes["data-bug"] for element in read.all("article")]
    assert bugs == [entry.bug for entry in load_catalogue()]


def test_every_bug_that_is_found_has_a_slot_map_of_its_first_finding(catalogue: list[Shown]) -> None:
    for shown in catalogue:
        broken = any(not result.holds for result in shown.section.results if result.word != "n/a")
        assert ("Rows of pool" in shown.text) or not broken, shown.section.bug


def test_eighty_columns_are_enough_for_each(catalogue: list[Shown]) -> None:
    wide = [line for shown in catalogue for line in shown.text.splitlines() if len(line) > 80]
    assert wide == []
