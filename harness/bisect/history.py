"""A repository's history, read through a clone of the harness's own.

Objects are shared with the user's repository (`git clone --shared --no-checkout`); refs and everything that git
may want to write are the clone's. Only revisions are looked up in the repository itself, which writes nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import LaunchError, UsageError
from harness.targets.sources import git_environment

__all__ = ["Commit", "History", "open_history"]

_HASH = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Commit:
    """A commit in words. `date` is the author's, ISO 8601."""

    hash: str
    date: str
    author: str
    subject: str

    @property
    def short(self) -> str:
        """Its hash, short enough for a line."""
        return self.hash[:12]


@dataclass(frozen=True)
class History:
    """Commits of `repo`, asked of `clone`. `paths` are those that a launch reads."""

    repo: Path
    clone: Path
    paths: tuple[str, ...]

    def resolve(self, revision: str, option: str) -> str:
        """Return the commit that a person means. Raises `UsageError`; a revision is never taken for an option."""
        if not revision or revision.startswith("-"):
            raise UsageError(f"{option} {revision!r}: expected a git revision")
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = _git(self.repo, *arguments, check=False).strip()
        if not _HASH.fullmatch(found):
            raise UsageError(f"{option} {revision}: no such revision in {self.repo}")
        return found

    def describe(self, commit: str) -> Commit:
        """Return a commit with its date, author and subject."""
        text = _git(
            self.clone, "show", "--no-patch", "--no-show-signature", "--format=%H%n%aI%n%an%n%s", commit, "--"
        )
        name, date, author, subject = (text.splitlines() + [""] * 4)[:4]
        return Commit(name, date, author, subject)

    def parents(self, commit: str) -> list[str]:
        """Return a commit's parents, the first one first."""
        return _git(self.clone, "rev-list", "--parents", "--max-count=1", commit, "--").split()[1:]

    def merge_bases(self, one: str, other: str) -> list[str]:
        """Return the commits where two histories part, none where they have nothing in common."""
        return _git(self.clone, "merge-base", "--all", one, other, check=False).split()

    def candidates(self, bad: str, good: Iterable[str]) -> list[str]:
        """Return what may be the first bad commit: `bad` and what it has that no good one has, middle first."""
        lines = _git(self.clone, "rev-list", "--bisect-all", bad, *(f"^{name}" for name in good), "--")
        return [line.split()[0] for line in lines.splitlines()]

    def content(self, commit: str) -> str:
        """Return a hash of what a launch would read of a commit: the same for commits that differ elsewhere."""
        listed = _git(self.clone, "ls-tree", "--full-tree", commit, "--", *self.paths)
        return hashlib.sha256(listed.encode()).hexdigest()


@contextlib.contextmanager
def open_history(repo: Path, paths: Sequence[str]) -> Iterator[History]:
    """Clone `repo` for as long as the block runs. Raises `UsageError` where it is no repository."""
    if not repo.is_dir():
        raise UsageError(f"--repo {repo}: no such folder")
    if not _git(repo, "rev-parse", "--git-dir", check=False):
        raise UsageError(f"--repo {repo}: no git repository")
    with tempfile.TemporaryDirectory(prefix="harness-bisect-") as folder:
        clone = Path(folder) / "clone"
        # No template: a person's hooks are for a person's clones.
        flags = ("--shared", "--no-checkout", "--quiet", "--template=")
        _git(Path(folder), "clone", *flags, "--", str(repo.resolve()), str(clone))
        yield History(repo, clone, tuple(paths))


def _git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git in `folder` and return what it printed, "" where it failed and that is an answer."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # fixed verbs, no shell
            command, env=git_environment(), capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except FileNotFoundError:
        raise LaunchError("git is not installed, so no history can be read") from None
    if done.returncode == 0:
        return done.stdout.decode(errors="replace")
    if not check:
        return ""
    reason = (done.stderr.decode(errors="replace").strip().splitlines() or [f"git {arguments[0]} failed"])[-1]
    raise LaunchError(f"{folder}: {reason}")
