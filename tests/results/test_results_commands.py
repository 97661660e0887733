"""`harness results`, as a person types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from logs import make_log, result

from harness.cli import main
from harness.results.records import Word

LIST = "a.py::one\na.py::two[1]\na.py::two[2]\n"
NAMES = ["a.py::one", "a.py::two[1]", "a.py::two[2]"]


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.txt").write_text(LIST)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    """Exit code, lines of output, and what stands on the error channel."""
    with pytest.raises(SystemExit) as left:
        main(["results", *words])
    output, errors = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, output.splitlines(), errors


def shards() -> tuple[str, str]:
    first = make_log(Path("1.jsonl"), [result(NAMES[0])], selected=NAMES, shard="1/2")
    rest = [result(NAMES[1], Word.FAILED), result(NAMES[2])]
    return first, make_log(Path("2.jsonl"), rest, selected=NAMES, shard="2/2")


def test_merged_shards_are_a_log_and_a_junit_file(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, _ = run(capsys, "merge", *shards(), "--list", "list.txt", "--out", "all.jsonl")
    assert (code, lines) == (0, ["2 logs, 3 tests: 2 passed, 1 failed; 0 findings"])
    assert 'tests="3"' in Path("all.xml").read_text()
    assert run(capsys, "show", "--log", "all.jsonl")[1][1:4] == [
        "2 passed, 1 failed",
        "assert 0: 1 test",
        "  failed  a.py::two[1]",
    ]


def test_a_merge_that_is_not_the_list_fails_and_names_tests(capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.txt").write_text("a.py::one\na.py::three\n")
    code, lines, _ = run(capsys, "merge", *shards(), "--list", "list.txt", "--out", "all.jsonl")
    assert code == 1
    assert lines[:3] == [
        "list.txt:2:1: a.py::three has no result",
        "a.py::two[1] has a result, and list.txt does not name it",
        "a.py::two[2] has a result, and list.txt does not name it",
    ]


def test_a_merge_reads_the_context_and_the_facts_that_the_shards_had(capsys: pytest.CaptureFixture[str]) -> None:
    Path("l0_x.yml").write_text(
        "version: 0.0.1\nl0_x:\n- condition:\n    terms: {stage: pre_merge}\n  tests: [a.py]\n"
        "- condition:\n    terms: {stage: post_merge}\n  tests: [b.py]\n"
    )
    log = make_log(Path("1.jsonl"), [result(name) for name in NAMES], context="l0_x", match="stage=pre_merge")
    assert run(capsys, "merge", log, "--list", "l0_x.yml", "--out", "all.jsonl")[0] == 0
    code, lines, _ = run(
        capsys, "merge", log, "--list", "l0_x.yml", "--match", "stage=post_merge", "--out", "all.jsonl"
    )
    assert code == 1
    assert lines[0] == "l0_x.yml:8:11: b.py has no result"


def test_shards_with_other_durations_are_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs = [make_log(Path(f"{i}.jsonl"), [result(NAMES[i])], durations_sha256=f"{i}") for i in (1, 2)]
    code, lines, errors = run(capsys, "merge", *logs, "--list", "list.txt", "--out", "all.jsonl")
    assert (code, lines) == (2, [])
    assert errors == (
        "harness: 2.jsonl: its run and that of 1.jsonl had different durations files; merge shards of one run\n"
    )
    assert not Path("all.jsonl").exists()


def test_a_killed_run_becomes_junit_too(capsys: pytest.CaptureFixture[str]) -> None:
    log = make_log(Path("r.jsonl"), [result(NAMES[0])], end=False)
    code, _, errors = run(capsys, "junit", log, "r.xml")
    assert code == 0
    assert errors == "r.jsonl: the run did not come to its end: 1 results, nothing was running\n"
    assert 'name="one"' in Path("r.xml").read_text()


def test_a_history_shows_the_newest_run_and_a_tests_runs(capsys: pytest.CaptureFixture[str]) -> None:
    make_log(Path("old.jsonl"), [result(NAMES[0])], at=1.0)
    make_log(Path("new.jsonl"), [result(NAMES[0], Word.FAILED, 20.0), result(NAMES[1])], at=2.0, stage="H100")
    assert run(capsys, "add", "old.jsonl", "new.jsonl")[1] == ["old.jsonl: 1 tests", "new.jsonl: 2 tests"]
    assert run(capsys, "add", "old.jsonl")[1] == ["old.jsonl: nothing new"]
    assert run(capsys, "show")[1][:2] == ["1970-01-01 00:00:02 H100 abc new", "1 passed, 1 failed"]
    assert run(capsys, "show", NAMES[0])[1] == [
        "failed      1.000 s  1970-01-01 00:00:02 H100 abc new",
        "passed      1.000 s  1970-01-01 00:00:01 abc old",
    ]
    code, _, errors = run(capsys, "show", "a.py::on")
    assert (code, errors) == (2, "harness: no run has a.py::on; did you mean a.py::one?\n")
    code, _, errors = run(capsys, "show", "a.py::on", "--log", "old.jsonl")
    assert (code, errors) == (2, "harness: old.jsonl: no result of a.py::on; did you mean a.py::one?\n")


def test_flaky_says_how_many_clean_runs_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(10):
        outcome = Word.FAILED if number == 4 else Word.PASSED
        make_log(Path(f"{number}.jsonl"), [result(NAMES[0], outcome), result(NAMES[1])])
    run(capsys, "add", *(f"{number}.jsonl" for number in range(10)))
    assert run(capsys, "flaky")[1] == ["a.py::one: 1 of 10 failed (10%); 44 clean runs clear it"]
    assert run(capsys, "flaky", "--at-least", "11")[1] == []


def test_durations_are_written_for_shards_to_be_planned_with(capsys: pytest.CaptureFixture[str]) -> None:
    make_log(Path("r.jsonl"), [result(NAMES[0], duration=2.5), result(NAMES[1])])
    run(capsys, "add", "r.jsonl")
    assert run(capsys, "durations", "--out", "d.json")[1] == ["d.json: 2 tests, 3.5 s"]
    assert json.loads(Path("d.json").read_text()) == {"format": 1, "durations": {NAMES[0]: 2.5, NAMES[1]: 1.0}}


@pytest.mark.parametrize(
    "words",
    [
        ("add", "none.jsonl"),
        ("add", "list.txt"),
        ("show",),
        ("show", "--log", "none.jsonl"),
        ("flaky", "--history", "list.txt"),
        ("durations", "--history", "none", "--out", "d.json"),
        ("durations", "--out", "d.json"),
        ("junit", "none.jsonl", "r.xml"),
        ("merge", "none.jsonl", "--list", "list.txt", "--out", "all.jsonl"),
        ("merge", "list.txt"),
        ("nothing",),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, lines, errors = run(capsys, *words)
    assert (code, lines) == (2, [])
    assert errors.count("\n") == 1
    assert errors.startswith("harness: ")
