"""The first commit that shows a bug: a search over a repository's history that leaves the repository alone."""

from harness.bisect.history import Commit, History, open_history
from harness.bisect.search import Found, Shown, Verdict, search

__all__ = ["Commit", "Found", "History", "Shown", "Verdict", "open_history", "search"]
