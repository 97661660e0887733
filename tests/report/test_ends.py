"""A crash and a hang have a slot map: who owned what up to the operation that did not end."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from dying import DIES, HANGS
from reading import Reading
from sections import section

from harness.catalogue import find_bug, load_reproducer
from harness.launch import Launcher
from harness.pictures import draw
from harness.report import render_results
from harness.report.page import render_page
from harness.report.section import Section
from harness.report.slotmap import SlotMap
from harness.report.svg import slot_map_svg
from harness.reproduce import Parameters, reproduce
from harness.scenario import Finish
from harness.verdicts import CaseResult

# Two buckets: regime exact has two seats, production three.
REGIMES = {"crash": "exact", "hang": "production"}
PARAMETERS = Parameters(("dflash",), tuple(REGIMES.values()), ("bucket",), ((2, 1),))
CAUSES = {"crash": "crash: the host process was ended by SIGKILL", "hang": "hang: no answer within 1 s"}


@pytest.fixture(scope="module")
def ended() -> tuple[dict[str, CaseResult], dict[str, SlotMap]]:
    assert (DIES, HANGS) == (2, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        with Launcher("dying:Target", jobs=1, limit=1.0) as launcher:
            results = reproduce(load_reproducer(find_bug("6535874")), PARAMETERS, launcher)
            maps = draw(launcher, results, ())
    return {result.word: result for result in results}, {drawn.word: drawn for drawn in maps}


@pytest.mark.parametrize("word", REGIMES)
def test_its_lines_are_the_operations_up_to_the_one_that_did_not_end(
    ended: tuple[dict[str, CaseResult], dict[str, SlotMap]], word: str
) -> None:
    result, drawn = ended[0][word], ended[1][word]
    operations = result.case.scenario.operations
    at = next(index for index, operation in enumerate(operations) if isinstance(operation, Finish))
    assert [line.operation for line in drawn.lines] == list(range(at + 1))
    assert drawn.lines[-1].words == "r0 finishes"
    assert [line.raised for line in drawn.lines] == [""] * at + [CAUSES[word]]
    assert [cell.owner for cell in drawn.lines[-1].cells[:2]] == ["r0", "r1"]  # as before it
    assert drawn.case == ("dflash", REGIMES[word], "bucket", "2>1")


@pytest.mark.parametrize("word", REGIMES)
def test_terminal_page_and_picture_show_it(
    ended: tuple[dict[str, CaseResult], dict[str, SlotMap]], word: str
) -> None:
    result, drawn = ended[0][word], ended[1][word]
    text = render_results([result], drawn=drawn)
    assert "Rows of pool slots after each operation" in text
    assert f"    ! {CAUSES[word]}" in text
    page = Reading(render_page([_section(result, drawn)])).all("main")[0].text
    assert f"Who owns which row, in one {word} case" in page
    assert f"Ended: {CAUSES[word]}" in page
    picture = ElementTree.fromstring(slot_map_svg(drawn))  # noqa: S314  # our own text
    said = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"r0 finishes", f"! {CAUSES[word]}"} <= set(said)


def _section(result: CaseResult, drawn: SlotMap) -> Section:
    given = section(results=[result])
    given.maps[:] = [drawn]
    return given
