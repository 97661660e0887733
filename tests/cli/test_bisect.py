"""`harness bisect`: the first bad commit of linear and merged histories, and the repository as it was."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tree_repo import SYNTAX_ERROR, TreeRepo, fingerprint

from harness.bisect import Shown, open_history, search
from harness.cli.bisect import bisect
from harness.errors import HarnessError, LaunchError, UsageError
from harness.scenario import Config, Scenario
from harness.trace import Outcome
from harness.verdicts import Case, CaseResult

NARROW = ("--worker", "dflash", "--regime", "exact", "--first", "bucket", "--orders", "2,5")
I_CAP = "I-CAP:capacity:slots"
Bisect = Callable[..., Result]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TreeRepo:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return TreeRepo(tmp_path / "repo")


@pytest.fixture
def run(repo: TreeRepo) -> Bisect:
    def invoke(good: str, bad: str, *more: str) -> Result:
        arguments = ["6535874", "--repo", str(repo.folder), "--good", good, "--bad", bad, *NARROW, *more]
        return CliRunner().invoke(
            bisect, [*arguments, *([] if "--isolation" in more else ["--isolation", "none"])]
        )

    return invoke


def refusal(result: Result, kind: type[HarnessError]) -> str:
    assert isinstance(result.exception, kind), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_the_first_bad_commit_is_named_with_the_violation_before_and_after(
    repo: TreeRepo, run: Bisect, tmp_path: Path
) -> None:
    repo.commit("fixed", "start")
    repo.commit("fixed", "a note")
    culprit = repo.commit("broken", "size the pool from the bucket")
    repo.commit("broken", "another note")
    repo.commit("broken", "and another")
    (repo.folder / "uncommitted.txt").write_text("somebody's work", encoding="utf-8")
    before = fingerprint(repo.folder)
    result = run("HEAD~4", "main", "--json", str(tmp_path / "found.json"))
    assert result.exit_code == 0, result.output
    assert f"first bad commit: {culprit}\n  size the pool from the bucket\n  An Author, " in result.output
    assert "before it:\n  every invariant holds\n" in result.output
    assert "with it:\n  I-CAP:capacity:slots\n  dflash, exact, first drafter bucket, captured 2>5" in result.output
    assert "expected 5, seen 2" in result.output
    assert "2 different trees were launched." in result.output, "notes change nothing that a launch reads"
    assert json.loads((tmp_path / "found.json").read_text())["commits"][0]["hash"] == culprit
    assert fingerprint(repo.folder) == before
    assert not list(tmp_path.rglob("*.pyc")), "no bytecode, in the cache neither"


def test_progress_tells_commit_verdict_and_subject(repo: TreeRepo, run: Bisect) -> None:
    good, bad = repo.commit("fixed", "fine"), repo.commit("broken", "worse")
    lines = run(good, bad).output.splitlines()
    assert lines[0].endswith(" bad   worse  [I-CAP:capacity:slots]")
    assert lines[1].startswith(good[:12])
    assert lines[1].endswith(" good  fine")


def test_a_commit_that_cannot_be_launched_is_skipped(repo: TreeRepo, run: Bisect) -> None:
    good = repo.commit("fixed", "start")
    for number in ("one", "two"):
        repo.commit("fixed", number, ("import torch", f"import torch  # {number}"))
    repo.commit("fixed", "a typo", SYNTAX_ERROR)  # three commits before it and three from it on: the middle
    repo.commit("fixed", "the typo repaired")
    culprit = repo.commit("broken", "culprit")
    bad = repo.commit("broken", "end", ("import torch", "import torch  # the end"))
    result = run(good, bad)
    assert result.exit_code == 0, result.output
    assert f"first bad commit: {culprit}" in result.output
    assert " skip  a typo" in result.output


def test_skipped_commits_that_hide_the_first_bad_one_are_all_named(repo: TreeRepo, run: Bisect) -> None:
    good = repo.commit("fixed", "start")
    hiding = repo.commit("fixed", "a typo", SYNTAX_ERROR)
    bad = repo.commit("broken", "end")
    result = run(good, bad)
    assert result.exit_code == 3
    assert "The first bad commit is one of 2" in result.output
    assert hiding in result.output
    assert "before it:\n  target tensorrt_llm" in result.output, "what its parent says is shown as it is"


def test_a_crash_is_bad_and_costs_its_case_only(
    repo: TreeRepo, run: Bisect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.launch.default_jobs", lambda _: 1)
    good = repo.commit("fixed", "start")
    crash = "import os; os.abort()\n        self._advance(slots, accepted)"
    culprit = repo.commit("fixed", "dies in a step", ("self._advance(slots, accepted)", crash))
    result = run(good, culprit, "--isolation", "fork")
    assert f"first bad commit: {culprit}" in result.output
    assert "crash: the host process was ended by SIGABRT" in result.output


def test_a_crash_on_the_way_is_bad_though_the_end_shows_a_finding(
    repo: TreeRepo, run: Bisect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.launch.default_jobs", lambda _: 1)
    good = repo.commit("fixed", "start")
    crash = "import os; os.abort()\n        self._advance(slots, accepted)"
    culprit = repo.commit("fixed", "dies in a step", ("self._advance(slots, accepted)", crash))
    bad = repo.commit("broken", "end")
    result = run(good, bad, "--isolation", "fork")
    assert f"first bad commit: {culprit}" in result.output
    assert "[I-CAP:capacity:slots]" in result.output, "the end's own finding"


RAISES = ("self._advance(slots, accepted)", "raise RuntimeError('lost a page')")


def test_a_commit_that_fails_otherwise_is_not_taken_for_the_bug(repo: TreeRepo, run: Bisect) -> None:
    good = repo.commit("fixed", "start")
    for number in ("one", "two"):
        repo.commit("fixed", number, ("import torch", f"import torch  # {number}"))
    repo.commit("fixed", "loses a page", RAISES)
    repo.commit("fixed", "loses none")
    culprit = repo.commit("broken", "size the pool from the bucket")
    bad = repo.commit("broken", "end", ("import torch", "import torch  # the end"))
    result = run(good, bad)
    assert result.exit_code == 0, result.output
    assert f"first bad commit: {culprit}" in result.output
    (line,) = [line for line in result.output.splitlines() if " skip  loses" in line]
    assert "[fails otherwise: error: RuntimeError: lost a page" in line
    lossy = repo.commit("fixed", "again", RAISES)
    assert f"looked for {I_CAP}" in refusal(run(lossy, bad), UsageError), "a good end that fails is none"


def test_the_commit_of_a_branch_is_found_behind_its_merge(repo: TreeRepo, run: Bisect) -> None:
    good = repo.commit("fixed", "start")
    repo.git("checkout", "--quiet", "-b", "feature")
    culprit = repo.commit("broken", "on a branch")
    repo.git("checkout", "--quiet", "main")
    (repo.folder / "other.txt").write_text("meanwhile", encoding="utf-8")
    repo.git("add", "-A")
    repo.git("commit", "--quiet", "-m", "meanwhile")
    repo.git("merge", "--quiet", "--no-ff", "-m", "merge it", "feature")
    assert f"first bad commit: {culprit}" in run(good, "HEAD").output
    # From the other side of the merge: the place where both part is asked first.
    assert f"first bad commit: {culprit}" in run("HEAD^1", "feature").output
    repo.git("checkout", "--quiet", "-b", "repair", "feature")
    repaired = repo.commit("fixed", "repaired")
    repo.git("checkout", "--quiet", "feature")
    still = repo.commit("broken", "still")
    assert "repaired on the way to --good" in refusal(run(repaired, still), UsageError)


def test_ends_that_are_not_what_they_are_said_to_be_are_said(repo: TreeRepo, run: Bisect) -> None:
    fixed, broken = repo.commit("fixed", "start"), repo.commit("broken", "end")
    typo = repo.commit("fixed", "a typo", SYNTAX_ERROR)
    assert refusal(run(broken, broken), UsageError) == f"--good {broken[:12]} is bad: I-CAP:capacity:slots"
    assert refusal(run(fixed, fixed), UsageError) == f"--bad {fixed[:12]} is good"
    assert "the tree has a syntax error" in refusal(run(fixed, typo), LaunchError)


@pytest.mark.parametrize("revision", ["-x", "--output=/tmp/x", "", "no-such-branch", "HEAD:notes.txt"])
def test_what_is_no_revision_is_refused_and_never_an_option(repo: TreeRepo, run: Bisect, revision: str) -> None:
    repo.commit("fixed", "start")
    said = "expected a git revision" if revision[:1] in ("-", "") else "no such revision"
    assert said in refusal(run("HEAD", revision), UsageError)
    assert said in refusal(run(revision, "HEAD"), UsageError)


def test_a_folder_that_is_no_repository_or_another_target_is_refused(tmp_path: Path) -> None:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(bisect, ["6535874", "--good", "a", "--bad", "b", *arguments])

    assert "no git repository" in refusal(invoke("--repo", str(tmp_path)), UsageError)
    assert "no such folder" in refusal(invoke("--repo", str(tmp_path / "none")), UsageError)
    assert "part of the harness" in refusal(invoke("--repo", str(tmp_path), "--target", "embedded"), UsageError)


@pytest.mark.parametrize("seed", range(6))
def test_in_any_history_the_culprit_is_found_whatever_is_skipped(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    parents = random_history(tmp_path, chance, 25)
    names = sorted(parents, key=lambda name: int(name[1:]))
    folder = tmp_path / "random"
    hashes = {name: git(folder, "rev-parse", name) for name in names}
    above = ancestors(parents, names[-1]) - {"c0"}
    culprit = chance.choice(sorted(above))
    skipped = {hashes[name] for name in chance.sample(sorted(above - {names[-1]}), len(above) // 4)}
    bad = {hashes[name] for name in names if culprit in ancestors(parents, name)}

    failure = CaseResult("bug", Case("dflash", "exact", "bucket", (), scenario()), Outcome.ERROR, "", "", "cpu")

    def test(commit: str) -> Shown:
        if commit in skipped:
            return Shown(reason="no") if chance.random() < 0.5 else Shown({"another": failure})
        return Shown({"this": failure} if commit in bad else {})

    with open_history(folder, ("file",)) as history:
        found = search(history, hashes["c0"], hashes[names[-1]], test, lambda *_: None)
    named = [commit.hash for commit in found.commits]
    assert hashes[culprit] in named
    assert set(named[1:]) <= skipped
    assert found.tested <= len(skipped) + 8


def scenario() -> Scenario:
    return Scenario(Config("dflash", 1, 1, ()), ())


def random_history(folder: Path, chance: random.Random, count: int) -> dict[str, tuple[str, ...]]:
    """Make branches c0, c1, ... of random parents; every commit has a content of its own."""
    parents: dict[str, tuple[str, ...]] = {"c0": ()}
    for index in range(1, count):
        known = list(parents)[-4:]
        parents[f"c{index}"] = tuple(chance.sample(known, min(len(known), chance.choice([1, 1, 2]))))
    lines = []
    for index, (name, above) in enumerate(parents.items()):
        lines += [f"commit refs/heads/{name}", f"committer n <e@x> {1000 + index} +0000", "data 1", name[0]]
        lines += [f"{verb} refs/heads/{parent}" for verb, parent in zip(("from", "merge"), above, strict=False)]
        lines += ["M 100644 inline file", f"data {len(name)}", name]
    (folder / "random").mkdir()
    git(folder / "random", "init", "--quiet")
    command = ["git", "-C", str(folder / "random"), "fast-import", "--quiet"]
    subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True)
    return parents


def ancestors(parents: dict[str, tuple[str, ...]], name: str) -> set[str]:
    return {name}.union(*(ancestors(parents, parent) for parent in parents[name]))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
