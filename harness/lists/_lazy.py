"""Packages whose names are imported at their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A module's `__getattr__` for names that its submodules define; `homes`: submodule -> names, by blanks.

    Each name becomes an attribute of the package, so that it is looked up once.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def look_up(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return look_up
