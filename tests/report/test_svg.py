"""The same pictures as SVG: well-formed, the same text each time, nothing in them but text."""

from __future__ import annotations

from xml.etree import ElementTree

from hostile import hostile
from sections import matrix_results, section, small_map

from harness.report.svg import matrix_svg, slot_map_svg


def texts(svg: str) -> list[str]:
    picture = ElementTree.fromstring(svg)  # noqa: S314  # our own text
    return [element.text or "" for element in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_the_matrix_says_each_cell_with_its_sign() -> None:
    svg = matrix_svg(matrix_results(), "a bug")
    assert svg == matrix_svg(matrix_results(), "a bug")
    assert texts(svg).count("◌ silent") == texts(svg).count("✗ FAIL") == 1  # both workers are alike
    assert "dflash and dspark, bucket first" in texts(svg)


def test_the_slot_map_says_words_cells_findings_and_a_key_but_no_line_of_code() -> None:
    said = texts(slot_map_svg(small_map()))
    for text in ("r1 comes, prompt of 4", "r0*", "xDp!", "! error: NoFreeSlotError: none", "!   broken here"):
        assert text in said


def test_both_are_readable_in_the_dark() -> None:
    assert "prefers-color-scheme:dark" in matrix_svg(matrix_results(), "a bug")


def test_text_from_outside_stays_text() -> None:
    spoilt = hostile(section(), frozenset({"state", "word"}))
    for svg in (matrix_svg(spoilt.results, spoilt.title), slot_map_svg(spoilt.maps[0])):
        assert "<script" not in svg
        assert texts(svg)
