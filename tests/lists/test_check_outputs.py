"""How findings are printed, chosen and remembered."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from check_support import check_lists, check_waives, run

import harness.lists
import harness.lists.checks

TEXT = "b.py::t SKIP (why)\na.py::t SKP (x)\na.py::t SKIP\n"
FIRST = "b.py::t SKIP (why)"


def test_text_is_one_line_a_finding_with_a_summary(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, TEXT, ids=None)
    file = tmp_path / "waives.txt"
    assert ran == (
        1,
        f"{file}:1:15: no-bug (warning) the reason 'why' names no bug; add https://nvbugs/<number>\n"
        f"{file}:2:9: unknown-marker unknown marker 'SKP'; did you mean SKIP?\n"
        f"{file}:3:1: unsorted (warning) not in its sorted place; move it before line 1, or run "
        "'harness waives fmt'\n"
        f"{file}:3:9: no-reason SKIP does not say why; write SKIP (https://nvbugs/<number>)\n"
        "Found 2 errors and 2 warnings in 1 file.\n",
        "",
    )


def test_select_and_ignore_choose_by_code_or_pattern(tmp_path: Path) -> None:
    def chosen(*options: str) -> list[str]:
        return check_waives(tmp_path, TEXT, *options, ids=None).codes

    assert chosen("--select", "no-*") == ["no-bug", "no-reason"]
    assert chosen("--select", "no-bug", "--select", "unsorted") == ["no-bug", "unsorted"]
    assert chosen("--ignore", "no-*,unsorted") == ["unknown-marker"]
    assert chosen("--select", "no-*", "--ignore", "no-bug") == ["no-reason"]
    assert check_waives(tmp_path, TEXT, "--ignore", "*", ids=None).code == 0


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_code_that_does_not_exist_gets_a_suggestion(tmp_path: Path, option: str) -> None:
    ran = check_waives(tmp_path, TEXT, option, "unknown-tset", ids=None)
    assert (ran.code, ran.out) == (2, "")
    assert "no finding has the code 'unknown-tset'; did you mean unknown-test" in ran.err


def test_json_has_every_part_of_a_finding(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, TEXT, "--format", "json", ids=None)
    given = json.loads(ran.out)
    assert (ran.code, given["version"], given["known"]) == (1, 1, 0)
    assert given["findings"][0] == {
        "code": "no-bug",
        "severity": "warning",
        "file": str(tmp_path / "waives.txt"),
        "line": 1,
        "column": 15,
        "message": "the reason 'why' names no bug",
        "suggestion": "add https://nvbugs/<number>",
        "subject": "b.py::t",
    }
    assert len(given["findings"]) == 4


def test_github_annotations_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "50%,a:b").mkdir()
    ran = check_waives(tmp_path / "50%,a:b", "a.py::t SKIP (100%\n", "--format", "github", ids=None)
    assert ran.code == 1
    assert f"::error file={tmp_path}/50%25%2Ca%3Ab/waives.txt,line=1,col=14,title=open-parenthesis::" in ran.out
    assert "(100%25)" in ran.out


def test_sarif_names_rule_place_and_help(tmp_path: Path) -> None:
    ran = check_waives(tmp_path, TEXT + "unittest/x SKIP (https://nvbugs/1)\n", "--format", "sarif", ids=None)
    log = json.loads(ran.out)
    assert log["version"] == "2.1.0"
    (one,) = log["runs"]
    rules, results = one["tool"]["driver"]["rules"], one["results"]
    for result in results:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["text"]
        assert rule["shortDescription"]["text"]
        assert result["level"] == rule["defaultConfiguration"]["level"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].startswith("file:///")
        assert place["region"]["startLine"] >= 1
    assert {result["level"] for result in results} == {"error", "warning", "note"}


@pytest.mark.parametrize("form", ["text", "github", "json", "sarif"])
def test_no_form_lets_a_control_character_through(tmp_path: Path, form: str) -> None:
    text = b"a.py::t[\x1b[31m\x07\xe2\x80\xae] SKIP (x\x9b1m)\nb.py::t \x1b]0;x\x07SKP (y)\n".decode("latin-1")
    ran = check_waives(tmp_path, text, "--format", form)
    assert ran.code == 1
    assert all(c.isprintable() or c == "\n" for c in ran.out + ran.err)


def test_a_baseline_hides_what_it_knows_and_nothing_else(tmp_path: Path) -> None:
    base = str(tmp_path / "base.json")
    written = check_waives(tmp_path, TEXT, "--write-baseline", base, ids=None)
    assert (written.code, written.out) == (0, f"{base}: holds 4 findings now\n")
    ran = check_waives(tmp_path, TEXT, "--baseline", base, ids=None)
    assert (ran.code, ran.codes) == (0, [])
    assert ran.out == "No findings in 1 file.\nThe baseline knows 4 more.\n"
    ran = check_waives(tmp_path, TEXT + "c.py::t SKIP\n", "--baseline", base, ids=None)
    assert (ran.code, ran.findings) == (1, [(4, "no-reason")])


def test_a_baseline_knows_findings_again_wherever_their_lines_move(tmp_path: Path) -> None:
    lines = [f"{name}.py::t SKIP\n" for name in "abcdef"]
    base = str(tmp_path / "base.json")
    check_waives(tmp_path, "".join(lines), "--write-baseline", base, "--ignore", "unsorted", ids=None)
    order = random.Random(6)
    for _ in range(5):
        order.shuffle(lines)
        moved = "# a comment\n\n" + "".join(lines)
        assert check_waives(tmp_path, moved, "--baseline", base, "--ignore", "unsorted", ids=None).code == 0


def test_a_baseline_counts_what_stands_twice(tmp_path: Path) -> None:
    base = str(tmp_path / "base.json")
    check_waives(tmp_path, FIRST + "\n", "--write-baseline", base, ids=None)
    ran = check_waives(tmp_path, f"{FIRST}\n{FIRST}\n", "--baseline", base, ids=None)
    assert ran.findings == [(2, "duplicate"), (2, "no-bug")]


def test_a_baseline_tells_what_is_gone(tmp_path: Path) -> None:
    base = str(tmp_path / "base.json")
    check_waives(tmp_path, TEXT, "--write-baseline", base, ids=None)
    ran = check_waives(tmp_path, FIRST + "\n", "--baseline", base, ids=None)
    assert "The baseline knows 1 more; 3 of it are gone: write it again." in ran.out


def test_a_baseline_holds_from_whatever_folder_the_check_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base.json"
    check_waives(tmp_path, TEXT, "--write-baseline", str(base), ids=None)
    monkeypatch.chdir(tmp_path)
    assert run("waives", "check", "waives.txt", "--baseline", "base.json").code == 0


def test_lists_have_a_baseline_too(tmp_path: Path) -> None:
    base = str(tmp_path / "base.json")
    text = "other:\n- condition:\n  tests: [a.py, a.py]\n"
    assert check_lists(tmp_path, text, "--write-baseline", base).code == 0
    assert check_lists(tmp_path, text, "--baseline", base).code == 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}']
)
def test_a_file_that_is_no_baseline_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "base.json").write_text(text)
    ran = check_waives(tmp_path, TEXT, "--baseline", str(tmp_path / "base.json"), ids=None)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--write-baseline" in ran.err


@pytest.mark.parametrize(
    "options",
    [
        ["--tests", "gone"],
        ["--source", "gone"],
        ["--stages", "gone"],
        ["--bug-states", "gone"],
        ["--lists", "gone"],
        ["--baseline", "gone"],
        ["--write-baseline", "gone/base.json"],
        ["--today", "tomorrow"],
        ["--format", "xml"],
    ],
)
def test_an_option_that_cannot_be_used_is_one_line_and_exit_code_2(tmp_path: Path, options: list[str]) -> None:
    ran = check_waives(tmp_path, TEXT, *options, ids=None)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_a_small_check_imports_nothing_that_is_slow(tmp_path: Path) -> None:
    (tmp_path / "waives.txt").write_text("a.py::t SKIP (https://nvbugs/1)\n")
    script = (
        "import sys\nfrom harness.cli import main\n"
        f"try: main(['waives', 'check', {str(tmp_path / 'waives.txt')!r}])\n"
        "except SystemExit as left: assert not left.code\n"
        "slow = {'torch', 'rich', 'rapidfuzz', 'pytest', 'difflib', 'json', 'yaml', 'tempfile'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "No findings in 1 file.\n[]\n"


def test_many_ids_and_wrong_names_are_checked_in_time(tmp_path: Path) -> None:
    ids = [
        f"suite_{f % 20}/test_m{f}.py::TestModel{c}::test_case_{t}[tp{p}-dp{p % 3}-graph]"
        for f in range(200)
        for c in range(5)
        for t in range(5)
        for p in range(10)
    ]
    chosen = random.Random(4).sample(ids, 2000)
    wrong = [("graph]", "grph]"), ("test_case", "test_cse"), ("TestModel", "TestModle"), ("suite", "suit")]
    for index in range(200):
        chosen[index] = chosen[index].replace(*wrong[index % 4])
    text = "".join(sorted(f"{name} SKIP (https://nvbugs/1)\n" for name in chosen))
    started = time.perf_counter()
    ran = check_waives(tmp_path, text, ids="\n".join(ids))
    seconds = time.perf_counter() - started
    assert len(ran.codes) == 200
    assert ran.out.count("did you mean") == 200
    assert seconds < 5  # 0.4 s alone on the machine; the bound is for a loaded one


def test_every_name_that_the_packages_offer_can_be_had() -> None:
    for package in (harness.lists, harness.lists.checks):
        for name in package.__all__:
            assert getattr(package, name) is not None, name
        with pytest.raises(AttributeError, match="has no attribute 'gone'"):
            _ = package.gone
