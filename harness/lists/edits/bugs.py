"""The forms in which people name a bug: `6535874`, `nvbugs/6535874`, `#16767`, a URL."""

from __future__ import annotations

import re

from harness.errors import UsageError
from harness.lists.model import Waiver
from harness.lists.reason import bug_number

__all__ = ["bug_url", "has_bug"]

_URL = re.compile(r"https?://[^\s;()#]+")
_ISSUE = re.compile(r"#(\d+)")
_ISSUE_URL = re.compile(r"/(?:issues|pull)/(\d+)/?$")


def bug_url(bug: str) -> str:
    """The URL that a waiver gives for a bug. Raises UsageError for what names none."""
    text = bug.strip()
    if text.isascii() and text.isdecimal():
        return f"https://nvbugs/{text}"
    if _URL.fullmatch(text):
        return text
    if number := bug_number(text):
        return f"https://nvbugs/{number}"
    if _ISSUE.fullmatch(text):
        raise UsageError(f"--bug {text}: a number of which tracker? Give the URL, upstream reads '#' as a comment")
    raise UsageError(f"--bug {bug!r} is no bug; expected 6535874, nvbugs/6535874 or a URL without blanks")


def has_bug(waiver: Waiver, bug: str) -> bool:
    """Whether a waiver is for this bug, whatever the spelling of both. `#16767` means any tracker's issue."""
    text, url = bug.strip(), waiver.reason.bug
    if issue := _ISSUE.fullmatch(text):
        found = _ISSUE_URL.search(url)
        return found is not None and found[1] == issue[1]
    wanted = bug_url(text)
    number = bug_number(wanted)
    return bug_number(url) == number if number else url.rstrip("/") == wanted.rstrip("/")
