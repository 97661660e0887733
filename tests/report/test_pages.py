"""Pages: self-contained, escaped, told in words as well as in colours, small."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hostile import LINK, PAYLOAD, hostile
from reading import Reading, reads_of
from sections import matrix_results, result, section

from harness.report.page import render_page
from harness.report.waivers import render_waivers

WAIVERS = {
    "file": "waives.txt", "today": "2026-07-01", "soon": 30, "count": 1, "unreadable": 0, "median_age": 9,
    "oldest_age": 9, "states": {"expired": 1, "expiring": 0, "dated": 0, "undated": 0},
    "groups": {"bug": [{"name": "https://nvbugs/1", "waivers": 1, "oldest": 9, "expired": 1}]},
    "waivers": [{
        "place": "waives.txt:1", "test": "t.py::t", "gpu": "H100", "bug": "https://nvbugs/1", "owner": "a",
        "markers": ["SKIP"], "until": "2026-06-01", "since": "2026-06-22", "author": "Ada", "commit": "1",
        "age": 9, "state": "expired",
    }],
    "trend": [
        {"day": "2026-01-01", "commit": "1", "waivers": 1},
        {"day": "2026-06-01", "commit": "2", "waivers": 2},
    ],
}  # fmt: skip


def test_the_first_part_tells_which_orders_fail_and_why_the_silent_one_included() -> None:
    page = render_page([section()])
    text = re.sub(r"<[^>]+>", " ", page[page.index("<main") : page.index("<details")])
    text = re.sub(r"\s+", " ", text)
    for told in (
        "4 of 8 cases are broken: in 2 the engine itself raises before long, in 2 it is silent.",
        "dflash and dspark",
        "The worker sizes its pool once.",
        "expected 5 , seen 2",
        "served 4 requests, all that the largest captured bucket holds, without a word; then operation 3",
        "row of pool slots",
        "r1 comes, prompt of 4",
        "NoFreeSlotError: none",
        "harness repro 1 --fault small-pool --worker dflash --regime production --first bucket --orders 4,2",
    ):
        assert told in text


def test_a_page_loads_nothing_and_its_policy_allows_its_own_script_alone() -> None:
    for page in (render_page([section()]), render_waivers(WAIVERS)):
        read = Reading(page)
        assert reads_of(read).loads == ["data:,"]
        (script,) = read.all("script")
        digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
        (policy,) = [e.attributes["content"] or "" for e in read.all("meta") if "http-equiv" in e.attributes]
        assert "default-src 'none'" in policy
        assert f"script-src 'sha256-{digest}'" in policy
        assert "unsafe" not in policy
        assert not [
            e for e in read.elements if any(name.startswith("on") or name == "style" for name in e.attributes)
        ]


def test_links_lead_to_the_bug_and_the_waivers_bug() -> None:
    read = Reading(render_page([section()]))
    assert {"https://example.invalid/1", "https://nvbugs/1"} <= set(reads_of(read).leads)
    assert "waives.txt:3" in read.all("article")[0].text


# A case outside the matrix is told elsewhere on the page than one inside, so both are tried.
@pytest.mark.parametrize("keep", [frozenset[str](), frozenset({"regime", "first", "worker", "word"})])
def test_every_text_from_outside_is_escaped(keep: frozenset[str]) -> None:
    states = frozenset({"state"})
    given = hostile(replace(section(), notes=("a note",)), keep | states)
    given.results.append(hostile(result("dflash", "production", "eager", (4, 2), "error"), keep))
    check_harmless(render_page([given, given]))


def test_every_text_of_a_waiver_page_is_escaped() -> None:
    kept = {"state", "day", "until"}

    def spoil(value: object, name: str = "") -> object:
        if isinstance(value, dict):
            return {key: spoil(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [spoil(item, name) for item in value]
        return (LINK if name == "bug" else PAYLOAD) if isinstance(value, str) and name not in kept else value

    spoilt = spoil(WAIVERS)
    assert isinstance(spoilt, dict)
    check_harmless(render_waivers(spoilt))


def check_harmless(page: str) -> None:
    read = Reading(page)
    assert len(read.all("script")) == len(read.all("style")) == 1
    assert read.all("img") == read.all("b ") == []
    assert not [e for e in read.elements if any(name.startswith("on") for name in e.attributes)]
    assert all(link.startswith(("#", "https://", "http://")) for link in reads_of(read).leads)
    assert not [c for c in page if not c.isprintable() and c != "\n"]
    assert "49" not in re.findall(r"&amp;lt;(\d+)", page)
    assert (read.open_tags, read.misnested) == ([], [])
    assert "alert(1)" in read.all("main")[0].text  # it is shown, as text


def test_every_table_names_its_columns_and_rows_and_every_cell_is_told_in_words() -> None:
    read = Reading(render_page([section()]))
    headers = read.all("th")
    assert headers
    assert {header.attributes.get("scope") for header in headers} <= {"col", "row", "colgroup"}
    colours = [cell for cell in read.all("td") if "w-" in (cell.attributes.get("class") or "")]
    assert all(cell.text.strip() for cell in colours)
    slots = [cell for cell in read.all("td") if (cell.attributes.get("class") or "").startswith("c-")]
    assert "a seat that the pool does not have, the dummy's, padding points here, broken" in slots[1].text


def test_what_a_pointer_can_reach_a_keyboard_can() -> None:
    read = Reading(render_page([section()]))
    reachable = {"a", "button", "select", "summary"}
    clickable = [
        e for e in read.elements if e.attributes.get("class") == "copy" or e.attributes.get("role") == "region"
    ]
    assert clickable
    assert all(e.tag in reachable or e.attributes.get("tabindex") == "0" for e in clickable)
    assert all(e.attributes.get("aria-label") for e in read.elements if e.attributes.get("role") == "region")
    assert reads_of(read).leads[0] == "#main"  # the first stop skips what stands before the results


def test_cases_beside_the_matrix_that_end_alike_are_one_line_with_what_they_open() -> None:
    narrow = [
        result(worker, "narrow", first, (1,)) for worker in ("dflash", "dspark") for first in ("eager", "bucket")
    ]
    read = Reading(render_page([section(results=[*matrix_results(), *narrow])]))
    lines = [e.text for e in read.all("li") if "narrow" in e.text]
    assert lines == [
        "✓ ok dflash and dspark, narrow (5 seats, batches of 4), captured 1, eager or bucket drafts first"
    ]


def test_filters_are_there_where_there_is_a_choice() -> None:
    one = Reading(render_page([section()]))
    assert [e.attributes.get("id") for e in one.all("select")] == ["f-word"]
    two = Reading(render_page([section(), section("nvbugs/2", "sglang")]))
    assert [e.attributes.get("id") for e in two.all("select")] == ["f-bug", "f-target", "f-word"]


def test_a_page_of_what_holds_says_so() -> None:
    healthy = section(results=[result("dflash", "exact", "eager", (4, 2))])
    page = render_page([replace(healthy, maps=[])])
    assert "Every invariant holds in the case." in page
    assert "Which orders fail" not in page


def test_a_whole_catalogue_stays_below_two_megabytes() -> None:
    many = [
        section(f"nvbugs/{bug}", target, matrix_results() * 60) for bug in range(12) for target in ("a", "b", "c")
    ]
    assert len(render_page(many).encode()) < 2_000_000


def test_nobody_pays_for_the_template_engine_who_writes_no_page() -> None:
    program = (
        "import sys, harness.cli.repro, harness.cli.report, harness.cli.replay; assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
