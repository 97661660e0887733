"""What a run says of itself at the head of its log, and what two sessions of one run must share."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.errors import Place, UsageError
from harness.results.records import Header
from harness.revision import revision_of

__all__ = ["make_header", "refuse_another_run", "relevant_options"]

# Options that change what a test does: part of a result's configuration and of its replay command.
_CONFIGURATION = ("--target", "--source", "--device", "--isolation")
_SHARED = {
    "list": ("list", "list_sha256"),
    "context": ("context", "context"),
    "facts": ("match", "match"),
    "shard": ("shard", "shard"),
    "durations file": ("durations", "durations_sha256"),
    "commit": ("commit", "commit"),
}


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(name, default=None) or ""


def make_header(config: pytest.Config) -> Header:
    """Return the header of a new run. Raises `UsageError` for a list or file that cannot be read."""
    files = {name: _option(config, f"--{name}") for name in ("test-list", "durations-file", "waives-file")}
    return Header(
        run=os.urandom(16).hex(),
        session=1,
        at=time.time(),
        command=tuple(map(str, config.invocation_params.args)),
        list=files["test-list"],
        list_sha256=_digest(files["test-list"]),
        context=_option(config, "--context"),
        match=_option(config, "--match"),
        shard=_option(config, "--shard"),
        durations=files["durations-file"],
        durations_sha256=_digest(files["durations-file"]),
        waives=files["waives-file"],
        waives_sha256=_digest(files["waives-file"]),
        stage=_option(config, "--test-prefix"),
        commit=revision_of(config.rootpath),
        config=" ".join(relevant_options(config)),
        machine=platform.node(),
        versions={
            "python": platform.python_version(),
            "pytest": pytest.__version__,
            "harness": harness.__version__,
            **({"torch": sys.modules["torch"].__version__} if "torch" in sys.modules else {}),
        },
    )


def relevant_options(config: pytest.Config) -> list[str]:
    """The options that change what a test does, as they are typed."""
    given = ((name, _option(config, name)) for name in _CONFIGURATION)
    return [word for name, value in given if value for word in (name, str(value))]


def _digest(file: str) -> str:
    if not file:
        return ""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", Place(file)) from None


def refuse_another_run(log: str, first: Header, now: Header) -> None:
    """Raise `UsageError` unless a session that starts now is of the same run as the log's first one."""
    for name, (shown, compared) in _SHARED.items():
        if getattr(first, compared) != getattr(now, compared):
            was, is_now = getattr(first, shown) or "none", getattr(now, shown) or "none"
            change = "its content changed" if was == is_now else f"now {is_now}"
            remedy = "give what the run began with, or begin another log"
            raise UsageError(f"cannot go on: the run's {name} was {was}, {change}; {remedy}", Place(log))
