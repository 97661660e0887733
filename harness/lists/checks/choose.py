"""Which findings a person wants to see: `--select` and `--ignore`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from harness.errors import UsageError
from harness.lists.checks.finding import Finding
from harness.lists.checks.rules import RULES

__all__ = ["chosen", "codes"]


def codes(text: str) -> frozenset[str]:
    """The codes of `unknown-file,upstream-*`. Raises UsageError for what matches none."""
    found: set[str] = set()
    for pattern in filter(None, (part.strip() for part in text.split(","))):
        matching = [code for code in RULES if fnmatchcase(code, pattern)]
        if not matching:
            raise UsageError(f"no finding has the code '{pattern}'; {_hint(pattern)}")
        found.update(matching)
    return frozenset(found)


def _hint(pattern: str) -> str:
    from harness.lists.known.suggest import Choices

    close = Choices(RULES).nearest(pattern)
    return f"did you mean {' or '.join(close)}?" if close else "docs/waivers.md has all of them"


def chosen(findings: Iterable[Finding], select: Sequence[str], ignore: Sequence[str]) -> list[Finding]:
    """The findings of the selected codes, all without any, that are not ignored."""
    selected = frozenset().union(*map(codes, select)) if select else frozenset(RULES)
    wanted = selected.difference(*map(codes, ignore))
    return [finding for finding in findings if finding.code in wanted]
