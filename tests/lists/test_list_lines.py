"""One line of a list: what is read from it, and what is said when it is broken."""

from __future__ import annotations

from datetime import date

import pytest

from harness.errors import Place
from harness.lists import Problem, Waiver, bug_number, format_line, parse_entry, parse_waiver

PLACE = Place("list.txt", 7, 1)


def waiver_of(text: str) -> Waiver:
    waiver, problems = parse_waiver(text, PLACE)
    assert waiver is not None
    assert problems == []
    return waiver


def problem_of(text: str) -> Problem:
    waiver, problems = parse_waiver(text, PLACE)
    assert waiver is None
    (problem,) = problems
    return problem


def test_every_token_of_a_waiver_knows_its_place() -> None:
    waiver = waiver_of('full:H100/slots/test_a.py -k "a or b" XFAIL (why) TIMEOUT(90) # later')
    placed = [waiver.prefix, waiver.test, waiver.keyword, *(m.token for m in waiver.markers), waiver.comment]
    assert [(t.text, t.place.column) for t in placed if t] == [
        ("H100", 6),
        ('slots/test_a.py -k "a or b"', 11),
        ("a or b", 31),
        ("XFAIL", 39),
        ("TIMEOUT", 51),
        ("# later", 63),
    ]
    assert all(token.place[:2] == ("list.txt", 7) for token in placed if token)


@pytest.mark.parametrize("written", ["ISOLATION,TIMEOUT (2)", "TIMEOUT(2) ISOLATION", "ISOLATION, TIMEOUT (2)"])
def test_several_markers_on_one_line_are_all_read(written: str) -> None:
    entry, problems = parse_entry(f"slots/test_a.py::test_b {written}", PLACE)
    assert entry is not None
    assert (entry.timeout, entry.isolated, problems) == (120, True, [])


def test_nested_parentheses_stay_in_the_reason() -> None:
    assert waiver_of("a.py::t SKIP (see (that (one)) first) # c").reason.text == "see (that (one)) first"


def test_structured_fields_are_read_from_the_reason() -> None:
    reason = waiver_of("a.py::t SKIP (https://nvbugs/123; flaky; owner=spec-dec; until=2026-12-31)").reason
    expected = ("https://nvbugs/123", "spec-dec", date(2026, 12, 31), "flaky")
    assert (reason.bug, reason.owner, reason.until, reason.note) == expected


def test_a_field_that_cannot_be_read_is_reported_and_the_waiver_still_holds() -> None:
    waiver, problems = parse_waiver("a.py::t SKIP (https://nvbugs/1; untill=2026-01-01; until=2026-13-01)", PLACE)
    assert waiver is not None
    assert [(p.code, p.place.column) for p in problems] == [("unknown-field", 33), ("bad-date", 52)]
    assert "until" in problems[0].suggestion


def test_blanks_and_hashes_inside_parameters_belong_to_the_id() -> None:
    waiver = waiver_of("a.py::t[x y-#1-[z]] SKIP (issue #12)")
    assert waiver.test.text == "a.py::t[x y-#1-[z]]"
    assert waiver.reason.text == "issue #12"


def test_several_paths_and_both_expressions_are_read() -> None:
    entry, _ = parse_entry("""unit/a.py unit/b -k 'x and "y"' -m "not gpu" --runxfail""", PLACE)
    assert entry is not None
    assert [t.text for t in entry.targets] == ["unit/a.py", "unit/b"]
    assert entry.keyword
    assert entry.markexpr
    assert (entry.keyword.text, entry.markexpr.text) == ('x and "y"', "not gpu")
    assert [t.text for t in entry.options] == ["--runxfail"]


@pytest.mark.parametrize("text", ["", "   ", "# only a comment", "\t# indented"])
def test_an_empty_line_says_nothing(text: str) -> None:
    assert parse_waiver(text, PLACE) == (None, [])


@pytest.mark.parametrize(
    ("text", "code", "column", "suggestion"),
    [
        ("a.py::t SKP (x)", "unknown-marker", 9, "did you mean SKIP?"),
        ("a.py::t skip (x)", "unknown-marker", 9, "did you mean SKIP?"),
        ("a.py::t SKIP (x) XFIAL (y)", "unknown-marker", 18, "did you mean XFAIL?"),
        ("a.py::t (x)", "unknown-marker", 9, "did you mean SKIP (x)?"),
        ("a.py::t SKIP because", "reason-without-parentheses", 14, "did you mean SKIP (because)?"),
        ("a.py::t SKIP (x", "open-parenthesis", 14, "did you mean (x)?"),
        ("a.py::t[x SKIP (y)", "open-bracket", 8, "close the parameters with ']'"),
        ('a.py -k "x SKIP', "open-quote", 9, "close it before the next blank"),
        ("a.py -k SKIP", "missing-value", 8, 'write -k "..."'),
        ("a.py -k x and y SKIP", "bare-word", 11, 'quote the whole expression: -k "a and b"'),
        ('a.py -k "x" -k "y" SKIP', "option-twice", 13, "join both expressions with 'and'"),
        ("a.py::t TIMEOUT", "bad-timeout", 9, "expected minutes: TIMEOUT (90)"),
        ("a.py::t TIMEOUT (0)", "bad-timeout", 18, "expected minutes from 1 to 999999: TIMEOUT (90)"),
        (
            "a.py::t TIMEOUT (" + "9" * 5000 + ")",
            "bad-timeout",
            18,
            "expected minutes from 1 to 999999: TIMEOUT (90)",
        ),
        ("a.py::t SKIP (x) SKIP (y)", "marker-twice", 18, "keep one"),
        ("a.py::t SKIP (x) (y)", "text-after-marker", 19, "keep one"),
        ("a.py::t SKIP (x) later", "text-after-marker", 18, "expected a marker or '# comment'"),
        ("SKIP a.py::t", "no-test", 1, "did you mean 'a.py::t SKIP'?"),
        ("SKIP (x)", "no-test", 1, "start the line with a test"),
        ("a.py::t", "no-marker", 1, "add e.g. 'SKIP (https://nvbugs/...)'"),
        ("full:a.py SKIP", "bad-prefix", 1, "expected full:<head>/<test>"),
    ],
)
def test_a_broken_line_is_one_problem_with_place_and_suggestion(
    text: str, code: str, column: int, suggestion: str
) -> None:
    problem = problem_of(text)
    assert (problem.code, problem.place, problem.suggestion) == (
        code,
        Place("list.txt", 7, column),
        suggestion,
    )
    assert len(str(problem)) < 300


def test_a_list_entry_has_no_prefix() -> None:
    entry, (problem,) = parse_entry("full:H100/a.py::t", PLACE)
    assert entry is None
    assert (problem.code, problem.place.column) == ("prefix-in-list", 6)


def test_printing_gives_the_normal_form() -> None:
    waiver = waiver_of("  full:H100/a.py::t   SKIP(x)   ISOLATION,TIMEOUT(5)   # c  ")
    assert format_line(waiver) == "full:H100/a.py::t SKIP (x) ISOLATION TIMEOUT (5) # c"
    assert waiver.text == "full:H100/a.py::t   SKIP(x)   ISOLATION,TIMEOUT(5)"


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("https://nvbugs/42", "42"),
        ("https://nvbugs/42/", "42"),
        ("nvbugs/42", "42"),
        ("https://nvbugspro.nvidia.com/bug/42", "42"),
        ("https://github.com/o/r/issues/42", None),
        ("https://nvbugs/4x2", None),
    ],
)
def test_a_bug_number_is_read_from_every_spelling_of_the_tracker(url: str, number: str | None) -> None:
    assert bug_number(url) == number
