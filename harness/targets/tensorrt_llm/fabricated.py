"""Stand-ins for modules that a tree does not have, or cannot run unbuilt. They are strict.

A fabricated name may be imported, subclassed, annotated with, asked about by isinstance and passed around.
Anything that would let it take part in a result (a call, a comparison, a truth value, arithmetic) raises
`FabricatedUseError` with its full name, so that nothing made up can leak into a verdict.
"""

from __future__ import annotations

import abc
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

__all__ = ["FabricatedModule", "FabricatedUseError", "FabricatedValue", "Ledger"]

# (module, name) -> what stands there. Real values for the few names whose value matters.
Given = Mapping[tuple[str, str], Any]


class FabricatedUseError(RuntimeError):
    """A name that the harness made up was used for more than a name."""


class Ledger:
    """What was asked of fabricated modules: names with nothing behind them, and names with a given value."""

    def __init__(self) -> None:
        self.empty: set[tuple[str, str]] = set()
        self.given: set[tuple[str, str]] = set()


def _refuse(label: str, use: str) -> NoReturn:
    raise FabricatedUseError(f"{label} is not in this tree and was used ({use}), which a stand-in must not be")


class FabricatedValue:
    """A fabricated function, constant or member: it has an identity and nothing else."""

    def __init__(self, label: str) -> None:
        self._label = label

    def __repr__(self) -> str:
        return f"<fabricated {self._label}>"

    def __getattr__(self, name: str) -> FabricatedValue:
        if name.startswith("__"):
            raise AttributeError(name)
        return FabricatedValue(f"{self._label}.{name}")


def _refusal(use: str) -> Callable[..., NoReturn]:
    def method(self: FabricatedValue, *_: Any, **__: Any) -> NoReturn:
        _refuse(self._label, use)

    return method


_USES = (
    "call", "bool", "eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv",
    "floordiv", "mod", "pow", "and", "or", "xor", "neg", "abs", "int", "index", "float", "iter", "len", "getitem",
    "setitem", "contains", "enter", "exit",
)  # fmt: skip
for _use in _USES:
    setattr(FabricatedValue, f"__{_use}__", _refusal(_use))
FabricatedValue.__hash__ = object.__hash__  # type: ignore[method-assign]  # a dataclass default must be hashable


class _FabricatedClass(abc.ABCMeta):
    """A fabricated class: a base, an annotation, the second argument of isinstance. Never built as it is."""

    def __getattr__(cls, name: str) -> FabricatedValue:
        if name.startswith("__"):
            raise AttributeError(name)
        value = FabricatedValue(f"{cls.__module__}.{cls.__name__}.{name}")
        type.__setattr__(cls, name, value)
        return value

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_fabricated" in cls.__dict__:
            _refuse(f"{cls.__module__}.{cls.__name__}", "instantiate")
        return super().__call__(*args, **kwargs)


class FabricatedModule(types.ModuleType):
    """A module whose names appear when they are asked for, unless `defined` says which there are."""

    def __init__(self, name: str, given: Given, ledger: Ledger, defined: frozenset[str] | None) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._given, self._ledger, self._defined = given, ledger, defined

    def __getattr__(self, name: str) -> Any:
        key = (self.__name__, name)
        if key in self._given:
            self._ledger.given.add(key)
            value = self._given[key]
        elif name.startswith("__") or (self._defined is not None and name not in self._defined):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        else:
            self._ledger.empty.add(key)
            value = _fabricate(*key)
        setattr(self, name, value)
        return value


def _fabricate(module: str, name: str) -> Any:
    bare = name.lstrip("_")
    if bare[:1].isupper() and not bare.isupper() and not bare.startswith("IS_"):
        return _FabricatedClass(name, (), {"__module__": module, "_fabricated": True})
    return FabricatedValue(f"{module}.{name}")
