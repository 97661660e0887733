"""Engines under test, one module each. A target is imported when it is first asked for."""

from __future__ import annotations

import importlib

from harness.targets.base import Session, Target, UnsupportedError

__all__ = ["TARGETS", "Session", "Target", "UnsupportedError", "load_target"]

# name -> module:attribute
TARGETS: dict[str, str] = {"embedded": "harness.targets.embedded:EmbeddedTarget"}


def load_target(name: str) -> Target:
    """Import the target `name`, which must be one of `TARGETS`."""
    module, _, attribute = TARGETS[name].partition(":")
    target: Target = getattr(importlib.import_module(module), attribute)()
    return target
