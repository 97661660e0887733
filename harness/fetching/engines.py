"""Which engines can be fetched, and what each needs beside torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from harness.errors import UsageError

__all__ = ["ENGINES", "Engine", "Release", "parse_release"]


@dataclass(frozen=True)
class Engine:
    """A distribution to fetch.

    beside   small packages that the engine's own modules import, pinned to what was tested.
    triton   what to fetch where this environment has no triton of its own.
    needs    paths in the package without which no worker can be launched, by what they are.
    """

    name: str
    beside: tuple[str, ...]
    triton: str
    needs: Mapping[str, str]


@dataclass(frozen=True)
class Release:
    """A version of an engine."""

    engine: Engine
    version: str

    def __str__(self) -> str:
        return f"{self.engine.name}=={self.version}"


ENGINES: Mapping[str, Engine] = MappingProxyType({
    "sglang": Engine(
        "sglang",
        beside=(
            "numpy==2.3.5", "msgspec==0.23.0", "packaging==26.4", "psutil==7.2.2", "typing_extensions==4.16.0",
        ),
        triton="triton==3.7.0",
        needs={
            "DFlash": "sglang/srt/speculative/dflash_worker_v2.py",
            "DSpark": "sglang/srt/speculative/dspark_components/dspark_worker_v2.py",
        },
    ),
})  # fmt: skip


def parse_release(text: str) -> Release:
    """Return the release that `NAME==VERSION` means. Raises `UsageError`."""
    name, equals, version = text.partition("==")
    engine = ENGINES.get(name.strip().lower())
    if engine is None or not equals or not re.fullmatch(r"[0-9][0-9A-Za-z.]*", version.strip()):
        raise UsageError(f"{text!r}: expected NAME==VERSION, where NAME is one of {', '.join(ENGINES)}")
    return Release(engine, version.strip())
