"""Findings as SARIF 2.1.0, the form that code-scanning services read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import quote

from harness.lists.checks.finding import Finding
from harness.lists.checks.rules import RULES

__all__ = ["sarif_text"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_TOOL = "specdec-harness"
_PAGE = "docs/waivers.md"


def sarif_text(findings: Sequence[Finding]) -> str:
    """The log of one run, with a rule for every code that was found."""
    codes = sorted({finding.code for finding in findings})
    driver = {"name": _TOOL, "rules": [_rule(code) for code in codes]}
    with suppress(PackageNotFoundError):  # a source tree that is not installed has no version
        driver["version"] = version(_TOOL)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> dict[str, object]:
    rule = RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.help},
        "help": {"text": rule.help, "markdown": f"{rule.help}\n\nSee `{_PAGE}`, section `{code}`."},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(finding: Finding, index: int) -> dict[str, object]:
    text = finding.message + (f"; {finding.suggestion}" if finding.suggestion else "")
    physical: dict[str, object] = {"artifactLocation": {"uri": _uri(finding.place.file)}}
    if finding.place.line:
        physical["region"] = {
            "startLine": finding.place.line,
            "startColumn": max(finding.place.column, 1),
        }
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {"subject/v1": f"{finding.code}: {finding.subject}"},
    }


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")
