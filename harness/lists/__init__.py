"""Test-list and waiver languages: read, select, match, explain. Standard library and PyYAML only.

A name is imported at its first use: a check of waivers in a commit hook does not pay for conditions and YAML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.lists.condition import Condition, Facts, Mismatch, Range, Term, Wildcard
    from harness.lists.explain import WaiverVerdict, explain_waivers
    from harness.lists.facts import detect_facts, parse_facts
    from harness.lists.lines import format_line, parse_entry, parse_waiver
    from harness.lists.matching import Applied, Selected, WaiverIndex, coverage, match_entries, stage_head
    from harness.lists.model import MARKERS, Entry, Line, Marker, MarkerName, Problem, Reason, Token, Waiver
    from harness.lists.nodeid import Level, NodeId
    from harness.lists.reason import bug_number
    from harness.lists.selecting import BlockVerdict, Found, Selection, explain_selection, select
    from harness.lists.source import RawLine, Source, read_source
    from harness.lists.testdb import Block, TestDb, TestDbFile, parse_test_db, read_test_db
    from harness.lists.text import TestList, WaiverFile, parse_test_list, read_test_list
    from harness.lists.waives import parse_waives, read_waives
else:
    from harness.lists._lazy import lazy_names

    __getattr__ = lazy_names(
        __name__,
        {
            "condition": "Condition Facts Mismatch Range Term Wildcard",
            "explain": "WaiverVerdict explain_waivers",
            "facts": "detect_facts parse_facts",
            "lines": "format_line parse_entry parse_waiver",
            "matching": "Applied Selected WaiverIndex coverage match_entries stage_head",
            "model": "MARKERS Entry Line Marker MarkerName Problem Reason Token Waiver",
            "nodeid": "Level NodeId",
            "reason": "bug_number",
            "selecting": "BlockVerdict Found Selection explain_selection select",
            "source": "RawLine Source read_source",
            "testdb": "Block TestDb TestDbFile parse_test_db read_test_db",
            "text": "TestList WaiverFile parse_test_list read_test_list",
            "waives": "parse_waives read_waives",
        },
    )

__all__ = [
    "MARKERS",
    "Applied",
    "Block",
    "BlockVerdict",
    "Condition",
    "Entry",
    "Facts",
    "Found",
    "Level",
    "Line",
    "Marker",
    "MarkerName",
    "Mismatch",
    "NodeId",
    "Problem",
    "Range",
    "RawLine",
    "Reason",
    "Selected",
    "Selection",
    "Source",
    "Term",
    "TestDb",
    "TestDbFile",
    "TestList",
    "Token",
    "Waiver",
    "WaiverFile",
    "WaiverIndex",
    "WaiverVerdict",
    "Wildcard",
    "bug_number",
    "coverage",
    "detect_facts",
    "explain_selection",
    "explain_waivers",
    "format_line",
    "match_entries",
    "parse_entry",
    "parse_facts",
    "parse_test_db",
    "parse_test_list",
    "parse_waiver",
    "parse_waives",
    "read_source",
    "read_test_db",
    "read_test_list",
    "read_waives",
    "select",
    "stage_head",
]
