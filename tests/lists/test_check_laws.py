"""Laws of the checks, over random lists."""

from __future__ import annotations

import tempfile
from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.lists import Source, parse_waives
from harness.lists.checks import Against, Finding, check_waivers, chosen
from harness.lists.checks.baseline import compare, read_baseline, render_baseline
from harness.lists.checks.expressions import fulfils
from harness.lists.checks.output import github_lines, printable
from harness.lists.known import IdTests, Status, Suggester, resolve

NAMES = st.sampled_from(
    ["a.py", "a.py::t", "a.py::t[x]", "a.py::T::t", "b/c.py::u", "b", "full:H100/a.py::t", "T::t"]
)
REASONS = st.sampled_from(
    ["SKIP", "SKIP (https://nvbugs/1)", "XFAIL (why)", "SKP (x)", "SKIP (nvbug 1; until=2020-01-01)"]
)
LINES = st.lists(st.tuples(NAMES, REASONS).map(" ".join), max_size=12)
TESTS = IdTests(["a.py::t[x]", "a.py::T::t", "b/c.py::v"])
# What these say depends on the order of the lines, and changes when lines move.
ORDERED = ["unsorted", "duplicate", "conflict", "shadowed", "redundant"]


def check(lines: list[str], file: str = "waives.txt") -> list[Finding]:
    text = "".join(f"{line}\n" for line in lines)
    return check_waivers(parse_waives(Source.of(text.encode(), file)), Against(tests=TESTS))


@given(LINES.flatmap(lambda lines: st.tuples(st.just(lines), st.permutations(lines))))
def test_a_baseline_of_a_file_knows_all_of_it_however_its_lines_move(both: tuple[list[str], list[str]]) -> None:
    lines, moved = both
    before = chosen(check(lines), [], ORDERED)
    with tempfile.TemporaryDirectory() as folder:
        base = f"{folder}/base.json"
        Path(base).write_bytes(render_baseline(before, base))
        compared = compare(chosen(check(["# comment", *moved]), [], ORDERED), read_baseline(base), base)
    assert [finding for finding in compared.new if finding.severity != "note"] == []
    assert compared.gone == 0


@given(LINES, st.sampled_from(["no-*", "unknown-*,unsorted", "conflict", "*"]))
def test_what_is_selected_and_what_is_left_when_it_is_ignored_are_all(lines: list[str], codes: str) -> None:
    findings = check(lines)
    one, other = chosen(findings, [codes], []), chosen(findings, [], [codes])
    assert sorted([*one, *other], key=findings.index) == sorted(findings, key=findings.index)
    assert not set(one) & set(other)


@given(st.lists(st.sampled_from("abcdef"), max_size=7))
def test_the_unsorted_lines_are_the_fewest_whose_removal_leaves_a_sorted_file(names: list[str]) -> None:
    lines = [f"{name}.py::t SKIP (https://nvbugs/1)" for name in names]
    unsorted = {finding.place.line - 1 for finding in check(lines) if finding.code == "unsorted"}
    rest = [line for index, line in enumerate(lines) if index not in unsorted]
    assert rest == sorted(rest)
    for fewer in combinations(range(len(lines)), max(len(unsorted) - 1, 0)):
        kept = [line for index, line in enumerate(lines) if index not in fewer]
        assert not unsorted or kept != sorted(kept)


WORDS = st.sampled_from(["a", "b", "c", "ab"])
EXPRESSIONS = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        inner.map("not {}".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map("({})".format),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.text("abc", max_size=4))
def test_an_expression_means_what_python_makes_of_it(expression: str, name: str) -> None:
    values = {word: word in name for word in ("a", "b", "c", "ab")}
    assert fulfils(expression, name) == eval(expression, {}, values)  # noqa: S307  the words are ours


@given(st.text(max_size=40))
def test_an_expression_of_any_text_has_an_answer_or_none(text: str) -> None:
    assert fulfils(text, "a") in (True, False, None)


@given(st.sampled_from(["a.py", "b/c.py", "c.py"]), st.text("tuvTx:[]", max_size=8))
def test_whatever_is_suggested_exists(path: str, rest: str) -> None:
    for name in Suggester(TESTS).suggest(f"{path}::{rest}"):
        assert resolve(TESTS, name).status is Status.FOUND


@given(st.lists(st.text(max_size=30), max_size=4))
def test_no_text_of_a_file_reaches_a_terminal_as_a_command(lines: list[str]) -> None:
    findings = check(lines, file="we%ird,\n:\x1bname")
    for text in (*github_lines(findings), *map(printable, map(str, findings))):
        assert text.isprintable()
