"""Where findings are kept: a folder each, named after the signature, in which nothing is ever overwritten."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import UsageError
from harness.explore.finding import Finding
from harness.files import write_atomically
from harness.scenario_file import dump_scenario

__all__ = ["MINIMAL", "folder_name", "keep_finding"]

MINIMAL = "scenario.yml"
_FOUND = "found.yml"
_STORY = "story.txt"
_LONGEST = 80  # characters of a name


def folder_name(signature: str) -> str:
    """Return a signature as a file's name: what is no letter, digit, dot, underline or minus becomes a minus."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", signature).strip(".-")[:_LONGEST] or "finding"


def keep_finding(finding: Finding, out: Path, story: str) -> Path:
    """Write the shortest scenario, the one that was found and the story; return the folder.

    A folder that holds the same shortest scenario is left as it is; the name of one beside another has a number.
    Raises `UsageError` where nothing can be written.
    """
    text = dump_scenario(finding.minimal)
    folder = _free(out, folder_name(finding.signature), text)
    if not (folder / MINIMAL).exists():
        write_atomically(folder / _FOUND, dump_scenario(finding.found))
        write_atomically(folder / _STORY, story)
        write_atomically(folder / MINIMAL, text)
    return folder


def _free(out: Path, name: str, text: str) -> Path:
    """Return a folder that was made just now, or one that holds `text` already."""
    number = 1
    while True:
        folder = out / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if _holds(folder, text):
                return folder
            number += 1
        except OSError as error:
            raise UsageError(f"--out {folder}: cannot be made: {error.strerror}") from None
        else:
            return folder


def _holds(folder: Path, text: str) -> bool:
    try:
        return (folder / MINIMAL).read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        return False
