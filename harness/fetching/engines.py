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
    kept     patterns of files in its wheel that are unpacked, () for all of them.
    """

    name: str
    beside: tuple[str, ...]
    triton: str
    needs: Mapping[str, str]
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """A version of an engine."""

    engine: Engine
    version: str

    def __str__(self) -> str:
        return f"{self.engine.name}=={self.version}"


_TRITON = "triton==3.7.0"
_BESIDE = ("numpy==2.3.5", "msgspec==0.23.0", "packaging==26.4", "psutil==7.2.2", "typing_extensions==4.16.0")

ENGINES: Mapping[str, Engine] = MappingProxyType({
    "sglang": Engine(
        "sglang",
        beside=_BESIDE,
        triton=_TRITON,
        needs={
            "DFlash": "sglang/srt/speculative/dflash_worker_v2.py",
            "DSpark": "sglang/srt/speculative/dspark_components/dspark_worker_v2.py",
        },
    ),
    "vllm": Engine(
        "vllm",
        beside=(
            *_BESIDE, "pydantic==2.14.4", "pydantic_core==2.50.5", "annotated_types==0.8.0",
            "typing_inspection==0.4.5", "regex==2026.11.19",
        ),
        triton=_TRITON,
        needs={
            "DFlash": "vllm/v1/worker/gpu/spec_decode/dflash/speculator.py",
            "DSpark": "vllm/v1/worker/gpu/spec_decode/dspark/speculator.py",
        },
        kept=("*.py", "*.dist-info/*"),  # not its compiled code, hundreds of megabytes that no worker here loads
    ),
})  # fmt: skip


def parse_release(text: str) -> Release:
    """Return the release that `NAME==VERSION` means. Raises `UsageError`."""
    name, equals, version = text.partition("==")
    engine = ENGINES.get(name.strip().lower())
    if engine is None or not equals or not re.fullmatch(r"[0-9][0-9A-Za-z.]*", version.strip()):
        raise UsageError(f"{text!r}: expected NAME==VERSION, where NAME is one of {', '.join(ENGINES)}")
    return Release(engine, version.strip())
