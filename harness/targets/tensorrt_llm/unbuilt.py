"""Modules of a tree that are there and cannot run before the tree is built.

A stand-in takes their place, and is said to: only the workers' own four modules must run. What is wrong with a
module for any other reason is a tree's fault and stays an error.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from harness.targets.common.fabricated import FabricatedUseError

__all__ = ["SiblingLoader", "has_bindings", "lacks_build"]


def has_bindings(package: Path) -> bool:
    """Say whether `package` has compiled bindings that this interpreter can load; stubs for editors are none."""
    endings = (*importlib.machinery.EXTENSION_SUFFIXES, ".py", "/__init__.py")
    return any((package / f"bindings{ending}").is_file() for ending in endings)


def lacks_build(error: BaseException, package: str) -> bool:
    """Say whether `error`, raised by an import, is for want of what a build of `package` would bring.

    That is a module of somebody else's, a shared library, an operator of torch's registry, or anything that a
    stand-in stands for.
    """
    text = str(error)
    if isinstance(error, FabricatedUseError):
        return True
    if isinstance(error, ImportError):
        return ".so" in text or (error.name or package).partition(".")[0] != package
    if isinstance(error, OSError):
        return ".so" in text
    if isinstance(error, AttributeError):
        return "_OpNamespace" in text
    return isinstance(error, RuntimeError) and "::" in text and "does not exist" in text


class SiblingLoader(importlib.machinery.SourceFileLoader):
    """Runs a module that the workers import; where that needs a build, puts a stand-in in its place.

    stand_in  makes the stand-in of a module, given its name and why it cannot run.
    """

    def __init__(self, name: str, file: Path, stand_in: Callable[[str, str], ModuleType]) -> None:
        super().__init__(name, str(file))
        self._stand_in = stand_in

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, or replace it where Python looks for the result of an import."""
        name = module.__name__
        try:
            super().exec_module(module)
        except Exception as error:
            if not lacks_build(error, name.partition(".")[0]):
                raise
            reason = (str(error).splitlines() or [""])[0]
            sys.modules[name] = self._stand_in(name, f"{type(error).__name__}: {reason}")
