"""What a report begins with: the bug, the target and its commit, and which of its code is real."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from harness.protocol import Description
from harness.report.text import safe
from harness.verdicts import CaseResult

__all__ = ["devices", "heading_facts", "render_heading", "render_title"]

_WIDTH = 80


def render_title(bug: str, title: str) -> str:
    """Return the first line of a report, as two where eighty columns are not enough."""
    return textwrap.fill(safe(f"{bug}: {title}"), _WIDTH, subsequent_indent="  ")


def devices(results: Sequence[CaseResult]) -> str:
    """Return the names of the devices that the results were found on."""
    return ", ".join(dict.fromkeys(result.device for result in results))


def heading_facts(description: Description, source: str, results: Sequence[CaseResult]) -> dict[str, str]:
    """Return what was run, by name: version or commit, folder, device, own modules, stand-ins."""
    facts = {
        "version": description.version,
        "source": source,
        "device": devices(results),
        "its own": ", ".join(description.own),
        "stand-ins": ", ".join(description.stand_ins) or "none",
    }
    return {name: text for name, text in facts.items() if text}


def render_heading(facts: Mapping[str, str]) -> str:
    """Return the facts as lines of at most eighty columns."""
    return "\n".join(line for name, text in facts.items() for line in _entry(name, text)) + "\n"


def _entry(name: str, text: str) -> list[str]:
    return textwrap.wrap(
        safe(text), _WIDTH, initial_indent=f"{name:<10} ", subsequent_indent=" " * 11,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
