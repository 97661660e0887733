"""The running command in words, to run it again: what was launched, and nothing of which cases or files."""

from __future__ import annotations

from collections.abc import Sequence

import click

__all__ = ["command_words"]

# Options that say what is launched, by their parameters' names; those that choose cases are said for each case.
_KEPT = {
    "target": "--target", "source": "--source", "repo": "--repo", "device": "--device", "faults": "--fault",
    "isolation": "--isolation", "config": "--config",
}  # fmt: skip
_DEFAULTS = {"target": "embedded", "device": "cpu"}


def command_words(start: Sequence[str]) -> tuple[str, ...]:
    """Return `harness`, `start`, and the running command's options that are not as they are by default."""
    words = ["harness", *start]
    for name, option in _KEPT.items():
        given = click.get_current_context().params.get(name)
        if given and given != _DEFAULTS.get(name):
            values = given if isinstance(given, tuple) else (given,)
            words += [word for value in values for word in (option, str(value))]
    return tuple(words)
