"""`harness repro` on sources: where they are, what a report says of them, before and after, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tree_repo import SYNTAX_ERROR, TreeRepo, fingerprint

from harness.cli import main
from harness.cli.repro import repro
from harness.cli.targets import targets
from harness.errors import UsageError

NARROW = ("--worker", "dflash", "--first", "bucket", "--orders", "sample:2", "--isolation", "none")
Repro = Callable[..., Result]


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> TreeRepo:
    repo = TreeRepo(tmp_path_factory.mktemp("against") / "repo")
    repo.commit("broken", "as it was")
    repo.git("tag", "before")
    repo.commit("fixed", "repaired")
    repo.git("tag", "after")
    repo.commit("fixed", "a typo", SYNTAX_ERROR)
    repo.git("tag", "typo")
    repo.git("checkout", "--quiet", "after")
    return repo


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(repro, ["6535874", "--target", "tensorrt_llm", *NARROW, *arguments])


def test_a_table_says_what_a_change_repairs(repo: TreeRepo, tmp_path: Path) -> None:
    untouched = fingerprint(repo.folder)
    files = ("--markdown", str(tmp_path / "table.md"), "--json", str(tmp_path / "both.json"))
    result = run("--repo", str(repo.folder), "--source", "before", "--against", "after", *files)
    assert result.exit_code == 0, "the code is that of the second source"
    commits = [repo.git("rev-parse", name)[:12] for name in ("before", "after")]
    for text in (
        f"before     before: commit {commits[0]} (before); DFlash E, DSpark d; on cpu",
        f"after      after: commit {commits[1]} (after); DFlash E, DSpark d; on cpu",
        "captured             exact       production         headroom            unset\n",
        "5>4>2>1                 ok     silent -> ok     silent -> ok               ok\n",
        "1>2>4>5         FAIL -> ok       FAIL -> ok       FAIL -> ok       FAIL -> ok\n",
        "narrow, captured 1: silent -> ok",
        "first finding before:\n  I-CAP:capacity:slots\n  dflash, exact, first drafter bucket, captured 1>2>4>5",
        "first finding after:\n  none",
        "9 cases on cpu (first drafter bucket): 7 repaired, 0 newly broken, 0 broken still.",
    ):
        assert text in result.output
    table = (tmp_path / "table.md").read_text()
    assert "| 1>2>4>5 | FAIL -> ok | FAIL -> ok | FAIL -> ok | FAIL -> ok |" in table
    assert all(commit in table for commit in commits)
    both = json.loads((tmp_path / "both.json").read_text())
    assert [len(both[side]["results"]) for side in ("before", "after")] == [9, 9]
    assert ["dflash", "bucket", "exact", [1, 2, 4, 5], "FAIL", "ok"] in both["cells"]
    assert both["before"]["description"]["version"].startswith(f"commit {commits[0]}")
    assert fingerprint(repo.folder) == untouched


def test_a_change_that_breaks_ends_with_1_and_says_so(repo: TreeRepo) -> None:
    exact = ("--regime", "exact", "--repo", str(repo.folder))
    result = run(*exact, "--source", "after", "--against", "before")
    assert result.exit_code == 1
    assert "ok -> FAIL" in result.output
    assert "0 repaired, 1 newly broken, 0 broken still" in result.output
    assert "first finding before:\n  none\n\nfirst finding after:\n  I-CAP:capacity:slots" in result.output


def test_a_path_is_a_folder_even_beside_a_repository(repo: TreeRepo) -> None:
    here = f"{repo.folder}/"
    result = run("--regime", "exact", "--repo", here, "--source", "before", "--against", here)
    assert result.exit_code == 0
    assert f"after      {here}: commit {repo.git('rev-parse', 'after')[:12]}; DFlash E" in result.output


def test_one_tree_under_two_names_keeps_both_names(repo: TreeRepo) -> None:
    result = run("--regime", "exact", "--repo", str(repo.folder), "--source", "after", "--against", "after^0")
    assert "(after); DFlash E" in result.output
    assert "(after^0); DFlash E" in result.output


def test_a_typo_in_the_second_source_costs_no_run(repo: TreeRepo) -> None:
    result = run("--repo", str(repo.folder), "--source", "typo", "--against", "aftr")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == f"--against aftr: no such revision in {repo.folder}"


def test_the_heading_says_commit_own_modules_stand_ins_and_device(repo: TreeRepo, tmp_path: Path) -> None:
    file = tmp_path / "one.md"
    result = run("--regime", "exact", "--source", str(repo.folder), "--markdown", str(file))
    assert result.exit_code == 0
    for text in (
        f"version    commit {repo.git('rev-parse', 'after')[:12]}; DFlash E, DSpark d\n",
        f"source     {repo.folder}\n",
        "device     cpu\n",
        "its own    tensorrt_llm._torch.speculative.context_store,\n",
        "stand-ins  draft model, target logits and captured states",
        "tensorrt_llm.logger\n",
    ):
        assert text in result.output
    assert "- its own: tensorrt\\_llm.\\_torch.speculative.context\\_store" in file.read_text()


def test_targets_describes_what_is_at_a_source(repo: TreeRepo) -> None:
    there = ["--target", "tensorrt_llm", "--repo", str(repo.folder), "--source"]
    shown = CliRunner().invoke(targets, [*there, "after"])
    assert "(after); DFlash E, DSpark d" in shown.output
    assert isinstance(CliRunner().invoke(targets, ["--source", "x"]).exception, UsageError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "x"], "--source x: target embedded is part of the harness"),
        (["--against", "x"], "--against x: target embedded is part of the harness"),
        (["--repo", "."], "--repo .: say with --source which revision of it"),
        (["--target", "tensorrt_llm"], "--target tensorrt_llm: say with --source where its code is"),
        (
            ["--target", "tensorrt_llm", "--source", "v1"],
            "--source v1: no such folder; a git revision needs --repo",
        ),
        (["--target", "tensorrt_llm", "--repo", ".", "--source=-p"], "--source '-p'"),
        (["--target", "tensorrt_llm", "--repo", "/none", "--source", "v1"], "--repo /none: no such folder"),
    ],
)
def test_a_source_that_cannot_be_meant_is_a_usage_error(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(repro, ["6535874", *arguments])
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--source", "after"], 0),
        (["--source", "before"], 1),
        (["--source", "typo"], 125),
        (["--source", "no-such"], 128),
        (["--source", "after", "--no-such-option"], 128),
    ],
)
def test_exit_codes_for_git_bisect_run(
    repo: TreeRepo, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [
        "repro",
        "6535874",
        "--target",
        "tensorrt_llm",
        "--repo",
        str(repo.folder),
        "--regime",
        "exact",
        *NARROW,
    ]
    with pytest.raises(SystemExit) as ended:
        main([*where, "--bisect", *arguments])
    assert ended.value.code == code
    assert len(capsys.readouterr().err.splitlines()) == (code > 1)
    plain = {125: 3, 128: 2}.get(code, code)
    if plain != code:
        with pytest.raises(SystemExit) as ended:
            main([*where, *arguments])
        assert ended.value.code == plain


def test_a_failure_of_the_harness_skips_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cli.repro.plan_cases", lambda *_: 1 / 0)
    for more, code in (([], 4), (["--bisect"], 125)):
        with pytest.raises(SystemExit) as ended:
            main(["repro", "6535874", *more])
        assert ended.value.code == code


def test_verbose_shows_the_traceback_behind_the_line(repo: TreeRepo, capsys: pytest.CaptureFixture[str]) -> None:
    where = [
        "repro",
        "6535874",
        "--target",
        "tensorrt_llm",
        "--repo",
        str(repo.folder),
        "--source",
        "typo",
        *NARROW,
    ]
    with pytest.raises(SystemExit):
        main(where)
    (line,) = capsys.readouterr().err.splitlines()
    with pytest.raises(SystemExit):
        main([*where, "--verbose"])
    *more, last = capsys.readouterr().err.splitlines()
    assert last == line
    assert any(text.startswith("SyntaxError") for text in more)
