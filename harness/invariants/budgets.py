"""I-BUDGET: a forward uses no more than the scheduler set aside for it. Kind K14."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.trace import Violation

__all__ = ["forwards_keep_to_their_budget"]


def forwards_keep_to_their_budget(view: View) -> Iterator[Violation]:
    """Tokens, rows and pages consumed are at most those reserved; rows fit a batch. Dummies obey the same.

    Drafts that all requests of a step verify are at most as many as the configuration grants it.
    """
    for what, used in view.now.consumed.items():
        reserved = view.now.reserved.get(what, 0)
        if used > reserved:
            yield view.broken(
                "I-BUDGET", "overrun", f"the forward used {used} {what}; {reserved} were reserved for it",
                expected=f"at most {reserved}", seen=used, buffer=what,
            )  # fmt: skip
    limit, rows = view.config.max_num_requests, view.now.consumed.get("rows", 0)
    if rows > limit:
        yield view.broken(
            "I-BUDGET", "batch", f"the forward had {rows} rows; a batch has {limit}",
            expected=f"at most {limit}", seen=rows, buffer="rows",
        )  # fmt: skip
    verified = sum(state.verified or 0 for state in view.now.requests.values())
    if view.config.verify and verified > view.config.verify:
        yield view.broken(
            "I-BUDGET", "verified", f"{verified} drafts were verified; a step has {view.config.verify}",
            expected=f"at most {view.config.verify}", seen=verified, buffer="drafts",
        )  # fmt: skip
