"""JUnit from results: allowed by the schema whatever a test says, and read again as it is meant."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junit10 import violations

from harness.lists.edits.junit import Result as Evidence
from harness.lists.edits.junit import read_junit
from harness.results.junit import render_junit, write_junit
from harness.results.records import Header, Result, Word
from harness.results.summary import count_words

HEADER = Header("r1", 1, 0.0, stage="H100-PyTorch-1", machine="node7", list="l.yml", commit="abc", shard="1/2")
ANY = st.text(st.characters(), max_size=12)
RESULTS = st.builds(
    Result,
    id=ANY,
    outcome=st.sampled_from(Word),
    at=st.just(1.0),
    duration=st.floats(0, 1e6),
    message=ANY,
    text=ANY,
    bugs=st.lists(ANY, max_size=2).map(tuple),
    waiver=ANY,
    waiver_place=ANY,
    replay=ANY,
    signature=ANY,
    devices=st.lists(ANY, max_size=2).map(tuple),
    attempt=st.integers(1, 3),
)


def rendered(*results: Result) -> str:
    return render_junit(HEADER, results, count_words(results, 3))


def case_of(result: Result) -> Element:
    case = fromstring(rendered(result)).find(".//testcase")  # noqa: S314  our own file
    assert case is not None
    return case


@given(st.lists(RESULTS, max_size=4))
def test_whatever_tests_are_called_and_say_the_schema_allows_it(results: list[Result]) -> None:
    assert violations(rendered(*results)) == []


SUITE = '<testsuite name="a" tests="1" failures="0" errors="0"'


@pytest.mark.parametrize(
    "broken",
    [
        f'{SUITE}><testcase name="t"><properties/></testcase></testsuite>',
        f'{SUITE}><testcase name="t" file="f"/></testsuite>',
        '<testsuite tests="1" failures="0" errors="0"/>',
        f'{SUITE} time="1e5"/>',
        f"{SUITE}>text</testsuite>",
        '<testsuites skipped="1"/>',
        "<report/>",
    ],
)
def test_the_tables_of_the_schema_refuse_what_it_refuses(broken: str) -> None:
    assert violations(broken)


def test_characters_that_xml_cannot_have_are_written_as_python_writes_them() -> None:
    case = case_of(Result("a.py::t[\x00]", Word.FAILED, 1.0, message="\x1b[31mred\ud800", text="\ufffe<&]]>"))
    assert case.get("name") == r"t[\x00]"
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == r"\x1b[31mred\ud800"
    assert failure.text == r"\ufffe<&]]>"


def test_what_is_known_of_a_test_stands_in_lines_and_what_is_known_of_the_run_in_properties() -> None:
    result = Result(
        "tests/test_a.py::TestB::test_c[x::y]",
        Word.FAILED,
        1.0,
        bugs=("https://nvbugs/1",),
        waiver="a.py::t SKIP (https://nvbugs/1)",
        waiver_place="waives.txt:3",
        replay="pytest tests/test_a.py",
        devices=("GPU-1", "GPU-2"),
        attempt=2,
    )
    case = case_of(result)
    assert (case.get("classname"), case.get("name")) == ("tests.test_a.TestB", "test_c[x::y]")
    assert case.findtext("system-out", "").splitlines() == [
        "outcome: failed",
        "bug: https://nvbugs/1",
        "waiver: waives.txt:3: a.py::t SKIP (https://nvbugs/1)",
        "devices: GPU-1 GPU-2",
        "attempt: 2",
        "replay: pytest tests/test_a.py",
    ]
    suite = fromstring(rendered(result))[0]  # noqa: S314  our own file
    known = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert known == {
        "run": "r1",
        "stage": "H100-PyTorch-1",
        "shard": "1/2",
        "list": "l.yml",
        "commit": "abc",
        "tests failed": "1",
        "tests deselected": "3",
    }
    assert {
        name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "timestamp", "hostname")
    } == {
        "tests": "1",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
        "timestamp": "1970-01-01T00:00:00+00:00",
        "hostname": "node7",
    }


def test_a_test_case_is_a_failure_or_error_exactly_when_its_word_fails_the_run() -> None:
    for word in Word:
        case = case_of(Result("a.py::t", word, 1.0))
        assert (case.find("failure") is not None or case.find("error") is not None) == Result("", word, 0).fails


def test_words_that_are_five_different_things_are_told_apart() -> None:
    words = (Word.WAIVED, Word.SKIPPED, Word.UNSUPPORTED, Word.REUSED)
    kinds = [case_of(Result("a.py::t", word, 1.0)).find("skipped") for word in words]
    assert [kind.get("type") for kind in kinds if kind is not None] == [word.value for word in words]


def test_readers_of_evidence_see_who_passed_who_failed_and_who_did_not_run(tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    def take(evidence: Evidence) -> None:
        seen[evidence.ids[0].partition("::")[2]] = evidence.outcome
        assert evidence.head == "H100"

    results = [Result(f"a.py::{word.name}", word, 1.0) for word in Word]
    write_junit(tmp_path / "r.xml", HEADER, results, {})
    read_junit(str(tmp_path / "r.xml"), take)
    passed = {"PASSED", "FIXED", "UNSTABLE_PASSED", "WAIVED_PASSED", "DESELECTED"}
    unseen = {"WAIVED", "SKIPPED", "UNSUPPORTED", "REUSED"}
    assert {name for name, outcome in seen.items() if outcome == "passed"} == passed
    assert {name for name, outcome in seen.items() if outcome == "skipped"} == unseen
    assert len(seen) == len(Word)
