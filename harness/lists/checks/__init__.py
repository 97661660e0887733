"""Checking lists and waivers: every finding has a code, a place and a documented meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.lists.checks.against import Against
    from harness.lists.checks.choose import chosen
    from harness.lists.checks.finding import Finding
    from harness.lists.checks.listed import check_unlisted_tests
    from harness.lists.checks.rules import RULES, Rule, Severity
    from harness.lists.checks.testlists import check_test_db, check_test_list
    from harness.lists.checks.waivers import check_waivers, in_order
else:
    from harness.lists._lazy import lazy_names

    __getattr__ = lazy_names(
        __name__,
        {
            "against": "Against",
            "choose": "chosen",
            "finding": "Finding",
            "listed": "check_unlisted_tests",
            "rules": "RULES Rule Severity",
            "testlists": "check_test_db check_test_list",
            "waivers": "check_waivers in_order",
        },
    )

__all__ = [
    "RULES",
    "Against",
    "Finding",
    "Rule",
    "Severity",
    "check_test_db",
    "check_test_list",
    "check_unlisted_tests",
    "check_waivers",
    "chosen",
    "in_order",
]
