"""The catalogue of reproducers: which public bugs there are, and the module that reproduces each."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import yaml

from harness.codec import CodecError, decode
from harness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from harness.reproduce import Reproducer

__all__ = ["CatalogueEntry", "find_bug", "load_catalogue", "load_reproducer"]

# The same language read by libyaml, where PyYAML came with it: a fiftieth of the time.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class CatalogueEntry:
    """A bug: its name and other names, where it is discussed, its fault kind, and what goes wrong.

    fault  the seeded defect that gives the embedded engine this bug; module: in `repro_cases`.
    """

    bug: str
    title: str
    url: str
    kind: str
    state: str
    mechanism: str
    module: str
    fault: str
    also: tuple[str, ...] = ()


@cache  # whoever runs bugs one by one looks each up
def load_catalogue() -> tuple[CatalogueEntry, ...]:
    """Read `repro_cases/catalogue.yml`, which ships with the harness."""
    text = resources.files("repro_cases").joinpath("catalogue.yml").read_text(encoding="utf-8")
    try:
        return decode(tuple[CatalogueEntry, ...], yaml.load(text, _LOADER))  # noqa: S506  # both are safe ones
    except CodecError as error:
        raise HarnessError(f"repro_cases/catalogue.yml: {error}") from None


def find_bug(text: str) -> CatalogueEntry:
    """Return the entry meant by `6535874`, `nvbugs/6535874`, `#17154` or a URL. Raises `UsageError`."""
    entries = load_catalogue()
    wanted = _number(text)
    for entry in entries:
        if wanted in {_number(name) for name in (entry.bug, entry.url, *entry.also)}:
            return entry
    raise UsageError(f"unknown bug {text!r}; {_nearest(text, entries)}")


def load_reproducer(entry: CatalogueEntry) -> Reproducer:
    """Import the entry's module and return its reproducer."""
    module = importlib.import_module(f"repro_cases.{entry.module}")
    reproducer: Reproducer = module.REPRODUCER
    return reproducer


def _number(text: str) -> str:
    # The last number of a name or URL is the bug's; a name without one stands for itself.
    numbers = re.findall(r"\d+", text)
    return numbers[-1] if numbers else text.strip().lower()


def _nearest(text: str, entries: tuple[CatalogueEntry, ...]) -> str:
    from rapidfuzz import process  # only a mistake pays for it

    names = [name for entry in entries for name in (entry.bug, *entry.also)]
    close = [name for name, _, _ in process.extract(text, names, limit=3)]
    return f"nearest: {', '.join(close)} (`harness bugs` lists all)"
