"""Reading a waiver file of either form."""

from __future__ import annotations

import os

from harness.lists.source import Source, read_source
from harness.lists.text import WaiverFile, parse_waives_text

__all__ = ["parse_waives", "read_waives"]


def read_waives(path: str | os.PathLike[str]) -> WaiverFile:
    """Read `waives.txt` or, by its suffix, `waives.yml`. Raises UsageError when it cannot be read at all."""
    return parse_waives(read_source(path))


def parse_waives(source: Source) -> WaiverFile:
    """Read a waiver file from a source; a `.yml` or `.yaml` name means the YAML form."""
    if source.file.endswith((".yml", ".yaml")):
        from harness.lists.waives_yaml import parse_waives_yaml

        return parse_waives_yaml(source)
    return parse_waives_text(source)
