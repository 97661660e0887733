"""Findings as JSON and as GitHub's workflow commands. What is no text in a name never reaches a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.lists.checks.finding import Finding

__all__ = ["github_lines", "json_text", "printable", "summary"]

_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def printable(text: str) -> str:
    """The text with everything a terminal or a log might obey replaced, one for one."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def summary(findings: Sequence[Finding], files: int) -> str:
    """`Found 3 errors and 1 note in 2 files.`"""
    counts = dict.fromkeys(("error", "warning", "note"), 0)
    for finding in findings:
        counts[finding.severity] += 1
    parts = [_plural(count, word) for word, count in counts.items() if count]
    many = _plural(files, "file")
    return f"Found {_joined(parts)} in {many}." if parts else f"No findings in {many}."


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def json_text(findings: Iterable[Finding], known: int) -> str:
    """One object: `version`, `findings`, and how many the baseline already knows."""
    rows = [
        {
            "code": finding.code,
            "severity": finding.severity,
            "file": finding.place.file,
            "line": finding.place.line,
            "column": finding.place.column,
            "message": finding.message,
            "suggestion": finding.suggestion,
            "subject": finding.subject,
        }
        for finding in findings
    ]
    import json  # paid for only by who asks for it

    return json.dumps({"version": 1, "findings": rows, "known": known}, indent=2)


def github_lines(findings: Iterable[Finding]) -> Iterable[str]:
    """One `::error file=...` command a finding, escaped as GitHub's runner expects."""
    for finding in findings:
        place = finding.place
        where = [f"file={_property(place.file)}"]
        where += [f"{key}={value}" for key, value in (("line", place.line), ("col", place.column)) if value]
        where.append(f"title={_property(finding.code)}")
        text = finding.message + (f"; {finding.suggestion}" if finding.suggestion else "")
        yield f"::{_LEVELS[finding.severity]} {','.join(where)}::{_data(text)}"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
