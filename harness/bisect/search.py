"""The search itself: which commit to ask next, and what the answers come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from harness.bisect.history import Commit, History
from harness.errors import LaunchError, UsageError
from harness.trace import Outcome
from harness.verdicts import CaseResult

__all__ = ["Found", "Shown", "Verdict", "search"]


@dataclass(frozen=True)
class Shown:
    """What a commit showed: the first failing case of each signature, first ones first.

    reason  why it could not be launched, "" where it was.
    """

    failures: Mapping[str, CaseResult] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a commit is to a search. `text` is the finding's signature, or why it says nothing of it.

    failure  the first case with that finding, of a commit that fails.
    """

    word: Literal["good", "bad", "skip"]
    text: str = ""
    failure: CaseResult | None = None


@dataclass(frozen=True)
class Found:
    """The end of a search: the first bad commit, or several where skipped ones hide it; newest first.

    before  what the first one's parent showed; after: what it showed itself.
    """

    commits: tuple[Commit, ...]
    before: Verdict
    after: Verdict
    tested: int


# Launches a commit and says what it showed.
Test = Callable[[str], Shown]
# Told of every commit that was asked; `again` where another one with the same content had answered.
Progress = Callable[[Commit, Verdict, bool], None]


@dataclass
class _Asked:
    """Answers by content: what a launch reads of a commit decides, whatever else the commit changed.

    wanted  the signature that makes a commit bad: what the bad end shows first.
    """

    history: History
    test: Test
    progress: Progress
    known: dict[str, Shown] = field(default_factory=dict)
    wanted: str = ""

    def verdict(self, commit: str, *, quiet: bool = False) -> Verdict:
        content = self.history.content(commit)
        again = content in self.known
        if not again:
            self.known[content] = self.test(commit)
        verdict = self._judge(self.known[content])
        if not quiet or not again:
            self.progress(self.history.describe(commit), verdict, again)
        return verdict

    def _judge(self, shown: Shown) -> Verdict:
        if shown.reason:
            return Verdict("skip", shown.reason)
        if not shown.failures:
            return Verdict("good")
        self.wanted = self.wanted or next(iter(shown.failures))
        if self.wanted in shown.failures:
            return Verdict("bad", self.wanted, shown.failures[self.wanted])
        for signature, failure in shown.failures.items():
            if failure.outcome in (Outcome.CRASH, Outcome.HANG):
                return Verdict("bad", signature, failure)  # what a broken pool comes to, where nothing stops it
        # Another failure ends a case before the one looked for could show: neither word would be true.
        other, failure = next(iter(shown.failures.items()))
        return Verdict("skip", f"fails otherwise: {other}", failure)


def search(history: History, good: str, bad: str, test: Test, progress: Progress) -> Found:
    """Return the first commit between `good` and `bad` that shows what `bad` shows.

    A commit is bad with that signature, or where the worker's process crashes or hangs; one that fails by another
    finding is skipped, as is one that cannot be launched. Raises `UsageError` where `good` or `bad` is not what it
    is said to be, `LaunchError` where one of them cannot be launched.
    """
    asked = _Asked(history, test, progress)
    _expect(asked, bad, "bad", "--bad")
    _expect(asked, good, "good", "--good")
    known_good = _common_ground(asked, good, bad)
    skipped: set[str] = set()
    in_a_row = 0
    while waiting := [name for name in history.candidates(bad, known_good) if name not in skipped | {bad}]:
        # Beside a commit that says nothing there are often more: each skip goes twice as far away.
        commit = waiting[min(2**in_a_row, len(waiting)) - 1]
        verdict = asked.verdict(commit)
        in_a_row = in_a_row + 1 if verdict.word == "skip" else 0
        if verdict.word == "skip":
            skipped.add(commit)
        elif verdict.word == "good":
            known_good.append(commit)
        else:
            bad = commit
    hidden = [name for name in history.candidates(bad, known_good) if name != bad]
    before = asked.verdict(history.parents(bad)[0], quiet=True)
    commits = tuple(history.describe(name) for name in (bad, *hidden))
    return Found(commits, before, asked.verdict(bad, quiet=True), len(asked.known))


def _expect(asked: _Asked, commit: str, word: str, option: str) -> None:
    verdict = asked.verdict(commit)
    if verdict.failure is not None and verdict.word == "skip":
        raise UsageError(f"{option} {commit[:12]} {verdict.text}; looked for {asked.wanted}")
    if verdict.word == "skip":
        raise LaunchError(f"{option} {commit[:12]} cannot be launched: {verdict.text}")
    if verdict.word != word:
        shown = f": {verdict.text}" if verdict.text else ""
        raise UsageError(f"{option} {commit[:12]} is {verdict.word}{shown}")


def _common_ground(asked: _Asked, good: str, bad: str) -> list[str]:
    """Return commits of bad's own history that are good: `good` itself, or where the two histories part."""
    bases = asked.history.merge_bases(good, bad)
    if good in bases:
        return [good]
    if not bases:
        raise UsageError(f"--good {good[:12]} and --bad {bad[:12]} have no history in common")
    for base in bases:
        verdict = asked.verdict(base)
        if verdict.word == "bad":
            raise UsageError(
                f"--good {good[:12]} is no ancestor of --bad {bad[:12]}, and {base[:12]}, where their histories "
                f"part, is bad: the bug was repaired on the way to --good, not made on the way to --bad"
            )
    found = [base for base in bases if asked.verdict(base, quiet=True).word == "good"]
    if not found:
        raise LaunchError(
            f"{bases[0][:12]}, where the histories of --good and --bad part, says nothing of the bug"
        )
    return found
