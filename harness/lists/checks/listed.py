"""Waivers against the test lists: nothing can fail that no list runs; and tests that no list runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from harness.errors import Place
from harness.lists.checks.finding import Finding, find, named
from harness.lists.checks.scopes import bounded_scopes
from harness.lists.known import IdTests
from harness.lists.known.suggest import Choices
from harness.lists.model import Entry, Waiver
from harness.lists.nodeid import normalized

__all__ = ["check_listed", "check_unlisted_tests"]

_LIKE = 90  # of 100: only what looks mistyped; a test like it that is listed is another test


class _Listed:
    """What the entries of all lists name."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._targets: set[str] = set()
        self._texts: set[str] = set()
        for entry in entries:
            self._texts.add(" ".join(entry.test.text.split()))
            self._targets.update(normalized(target.text) for target in entry.targets)
        self._holders = {scope for target in self._targets for scope, _ in bounded_scopes(target)}
        self._choices = Choices(self._targets)

    def runs(self, target: str) -> bool:
        """Whether an entry runs all or a part of a target."""
        name = normalized(target)
        return name in self._holders or self.names(name)

    def names(self, name: str) -> bool:
        """Whether an entry names a test or what holds it."""
        return any(scope in self._targets for scope, _ in bounded_scopes(name))

    def has_entry(self, waiver: Waiver) -> bool:
        """Whether an entry has the text of a waiver with arguments."""
        return " ".join(waiver.test.text.split()) in self._texts

    def truncated(self, target: str) -> list[str]:
        """Listed ids of which a target is only the start, up to a `-`."""
        return self._choices.starting_with(f"{target.removesuffix(']')}-") if "[" in target else []

    def nearest(self, target: str) -> list[str]:
        """Listed names that a target may be a misspelling of."""
        return self._choices.nearest(target, _LIKE)


def check_listed(waivers: Iterable[Waiver], entries: Sequence[Entry] | None) -> Iterator[Finding]:
    """Check that some entry runs what each waiver names. Without lists nothing can be said."""
    if entries is None:
        return
    listed = _Listed(entries)
    for waiver in waivers:
        if waiver.has_arguments and listed.has_entry(waiver):
            continue
        for target in waiver.targets:
            if listed.runs(target.text):
                continue
            subject = named(waiver, target)
            if whole := listed.truncated(normalized(target.text)):
                message = "the id is only the start of one that is listed"
                expected = f"did you mean {' or '.join(whole)}?"
                yield find("truncated-parameter", target.place, message, expected, subject=subject)
                continue
            close = listed.nearest(target.text)
            expected = f"remove it, or did you mean {' or '.join(close)}?" if close else "remove it"
            yield find("unlisted-waiver", target.place, "no list runs it", expected, subject=subject)


def check_unlisted_tests(entries: Iterable[Entry], tests: IdTests, file: str) -> Iterator[Finding]:
    """Check that some entry names each collected test; one finding a function. `file` is where the ids are."""
    listed = _Listed(entries)
    missing: defaultdict[str, list[str]] = defaultdict(list)
    for nodeid in tests.ids():
        if not listed.names(nodeid):
            missing[nodeid.partition("[")[0]].append(nodeid)
    for function, ids in missing.items():
        count = f", {len(ids)} ids of it" if len(ids) > 1 else ""
        message = f"no list runs {ids[0] if len(ids) == 1 else function}{count}"
        yield find("unlisted-test", Place(file), message, "add it to a list", subject=function)
