"""Where a target's code is: a folder, the installed package, or a git revision of somebody's repository.

A revision is read out of the repository (`git archive` of the paths needed) into a folder of the harness's
own, one a tree hash: the user's checkout, index and `.git` are not written to, and no large file is fetched.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from harness.errors import LaunchError, UsageError

__all__ = ["cache_folder", "git_environment", "read_stamp", "resolve_source", "source_paths"]

_STAMP = ".harness-source"
# What a launch of these targets reads; any other target is one folder.
_PATHS = {"tensorrt_llm": ("tensorrt_llm/_torch", "tensorrt_llm/llmapi", "tensorrt_llm/_utils.py")}
_OF_A_REPOSITORY = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
}  # fmt: skip


def cache_folder() -> Path:
    """Return where the harness keeps what it extracts; `HARNESS_CACHE` or the user's cache folder."""
    base = os.environ.get("HARNESS_CACHE")
    if base:
        return Path(base)
    from platformdirs import user_cache_path  # not in a host, which may be another interpreter

    return user_cache_path("specdec-harness", appauthor=False)


def git_environment() -> dict[str, str]:
    """Return variables for git: no large file, no lock in anybody's repository, no question, no translation."""
    # In a hook some of the caller's name another repository than the one that is meant.
    inherited = {name: value for name, value in os.environ.items() if name not in _OF_A_REPOSITORY}
    settings = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return inherited | settings


def resolve_source(target: str, source: str, repo: Path | None = None) -> str:
    """Return `source` with its place made a folder: what a host is given. A variant behind "?" stays.

    `source` is a folder, "installed", or with `repo` a git revision. Raises `UsageError` for what cannot be
    meant, `LaunchError` for what is not there.
    """
    place, mark, query = source.partition("?")
    if repo is not None:
        folder = _extract(target, place, repo)
    elif place == "installed":
        folder = _installed(target)
    elif not place:
        return source
    else:
        folder = Path(place).expanduser()
        if not folder.is_dir():
            raise UsageError(f"--source {place}: no such folder; a git revision needs --repo DIR")
    return f"{folder.resolve()}{mark}{query}"


def source_paths(target: str) -> tuple[str, ...]:
    """Return the paths of a repository that a launch of `target` reads."""
    return _PATHS.get(target, (target,))


def read_stamp(folder: Path) -> str:
    """Return the commit of a tree in words: as extracted, as checked out, or that it is not known."""
    stamp = folder / _STAMP
    if stamp.is_file():
        return stamp.read_text(encoding="utf-8").strip()
    if (folder / ".git").exists():
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", *_existing(folder))
        if commit:
            return f"commit {commit[:12]}{', with local changes' if dirty else ''}"
    return "no commit known"


def _existing(folder: Path) -> list[str]:
    return [name for name in _PATHS if (folder / name).is_dir()]


def _installed(target: str) -> Path:
    spec = importlib.util.find_spec(target)
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        raise LaunchError(f"--source installed: package {target} is not installed for this interpreter")
    return Path(places[0]).parent


def _extract(target: str, revision: str, repo: Path) -> Path:
    if not repo.is_dir():
        raise UsageError(f"--repo {repo}: no such folder")
    if not revision or revision.startswith("-"):
        raise UsageError(f"--source {revision!r}: with --repo a git revision is expected")
    commit = _git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise UsageError(f"--source {revision}: no such revision in {repo}")
    tree = _git(repo, "rev-parse", f"{commit}^{{tree}}")
    if not re.fullmatch(r"[0-9a-f]{40,64}", tree):
        raise LaunchError(f"--repo {repo}: git does not say which tree {revision} has")
    folder = cache_folder() / "trees" / tree
    if not (folder / _STAMP).is_file():
        _archive(target, commit, repo, folder)
    (folder / _STAMP).write_text(f"commit {commit[:12]} ({revision})\n", encoding="utf-8")
    return folder


def _archive(target: str, commit: str, repo: Path, folder: Path) -> None:
    """Unpack the paths needed beside `folder`, then move them there whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    paths = [path for path in source_paths(target) if _git(repo, "ls-tree", commit, "--", path)]
    if not paths:
        raise LaunchError(f"--repo {repo}: {commit[:12]} has no {target}/ to launch")
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".unpacking-"))
    try:
        archive = work / "tree.tar"
        with archive.open("wb") as out:
            done = _run(repo, ["archive", "--format=tar", commit, "--", *paths], out)
        if done.returncode:
            reason = (done.stderr.decode(errors="replace").strip().splitlines() or ["git archive failed"])[-1]
            raise LaunchError(f"--repo {repo}: {commit[:12]} cannot be read: {reason}")
        with tarfile.open(archive) as tar:
            tar.extractall(work / "tree", filter="data")
        if folder.exists():
            shutil.rmtree(folder)
        (work / "tree").rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run(repo: Path, arguments: list[str], out: int | IO[bytes]) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(repo), *arguments]
    try:
        return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=git_environment(), check=False)  # noqa: S603  # fixed verbs, no shell
    except FileNotFoundError:
        raise LaunchError("git is not installed, so no revision can be read") from None


def _git(repo: Path, *arguments: str) -> str:
    done = _run(repo, list(arguments), subprocess.PIPE)
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""
