"""The editing commands of `harness waives`, and `stats`, each imported at its first use."""

from __future__ import annotations

import importlib

import click

_HOMES = {
    "add": "_waives_change",
    "diff": "_waives_compare",
    "fmt": "_waives_change",
    "merge": "_waives_compare",
    "prune": "_waives_prune",
    "remove": "_waives_change",
    "rename": "_waives_change",
    "stats": "_waives_stats",
}


def __getattr__(name: str) -> click.Command:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    command = getattr(importlib.import_module(f"harness.cli.{_HOMES[name]}"), name)
    assert isinstance(command, click.Command)
    return command
