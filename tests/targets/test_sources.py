"""Where a tree comes from: a folder, a git revision that leaves the repository alone, the installed package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import LaunchError, UsageError
from harness.targets.sources import read_stamp, resolve_source


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "repo"
    package = folder / "tensorrt_llm" / "_torch" / "speculative"
    package.mkdir(parents=True)
    (folder / "large.bin").write_text("not needed", encoding="utf-8")
    for text in ("VERSION = 1\n", "VERSION = 2\n"):
        (package / "dflash.py").write_text(text, encoding="utf-8")
        git(folder, "init", "-q") if not (folder / ".git").exists() else None
        git(folder, "add", "-A")
        git(folder, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "c")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def content(source: str) -> str:
    return (Path(source) / "tensorrt_llm" / "_torch" / "speculative" / "dflash.py").read_text(encoding="utf-8")


def test_a_revision_is_read_out_and_the_repository_is_left_as_it_was(repo: Path) -> None:
    before = sorted((p.relative_to(repo), p.stat().st_mtime_ns) for p in repo.rglob("*"))
    old = resolve_source("tensorrt_llm", "HEAD~1", repo)
    assert content(old) == "VERSION = 1\n"
    assert not (Path(old) / "large.bin").exists(), "only what a launch reads"
    assert read_stamp(Path(old)) == f"commit {git(repo, 'rev-parse', 'HEAD~1')[:12]} (HEAD~1)"
    assert sorted((p.relative_to(repo), p.stat().st_mtime_ns) for p in repo.rglob("*")) == before


def test_one_folder_a_tree_and_the_variant_stays(repo: Path) -> None:
    first = resolve_source("tensorrt_llm", "HEAD?layout=paged", repo)
    again = resolve_source("tensorrt_llm", git(repo, "rev-parse", "HEAD"), repo)
    assert first == f"{again}?layout=paged"
    assert content(again) == "VERSION = 2\n"


def test_a_checkout_says_its_commit_and_whether_it_was_changed(repo: Path) -> None:
    commit = git(repo, "rev-parse", "HEAD")[:12]
    assert read_stamp(repo) == f"commit {commit}"
    (repo / "tensorrt_llm" / "_torch" / "speculative" / "dflash.py").write_text("VERSION = 3\n", encoding="utf-8")
    assert read_stamp(repo) == f"commit {commit}, with local changes"


@pytest.mark.parametrize("revision", ["no-such-branch", "-x", ""])
def test_a_revision_that_is_none_is_said_in_one_line(repo: Path, revision: str) -> None:
    with pytest.raises(UsageError, match="revision"):
        resolve_source("tensorrt_llm", revision, repo)


def test_a_repository_without_the_package_cannot_be_launched(tmp_path: Path, repo: Path) -> None:
    git(repo, "rm", "-q", "-r", "tensorrt_llm")
    git(repo, "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "gone")
    with pytest.raises(LaunchError, match="has no tensorrt_llm/"):
        resolve_source("tensorrt_llm", "HEAD", repo)
    with pytest.raises(UsageError, match="no such folder"):
        resolve_source("tensorrt_llm", "HEAD", tmp_path / "nowhere")


def test_a_folder_is_taken_as_it_is_and_a_missing_one_hints_at_repo(repo: Path) -> None:
    assert resolve_source("tensorrt_llm", str(repo)) == str(repo)
    assert resolve_source("embedded", "") == ""
    with pytest.raises(UsageError, match="needs --repo"):
        resolve_source("tensorrt_llm", "v1.2")


def test_installed_needs_the_package() -> None:
    command = ("-m", "harness", "repro", "6535874", "--target", "tensorrt_llm", "--source", "installed")
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "harness: --source installed: package tensorrt_llm is not installed for this interpreter\n"
    )
