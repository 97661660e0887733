"""Stand-ins for modules that a tree does not have, or cannot run unbuilt. They are strict.

A fabricated name may be imported, subclassed, annotated with, asked about by isinstance and passed around.
Anything that would let it take part in a result (a call, a comparison, a truth value, arithmetic) raises
`FabricatedUseError` with its full name, so that nothing made up can leak into a verdict.
"""

from __future__ import annotations

import abc
import importlib
import types
from collections.abc import Callable, Collection, Mapping
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
    raise FabricatedUseError(f"{label} is a stand-in's and was used ({use}): it has a name and nothing behind it")


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
    """A fabricated class: a base, an annotation, the second argument of isinstance. Never built as it is.

    No base, though, where its module should have run: what a class then lacked would be part of the worker.
    """

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _FabricatedClass:
        for base in bases:
            if note := base.__dict__.get("_note"):
                _refuse(f"{base.__module__}.{base.__name__}{note}", "subclass")
        return super().__new__(cls, name, bases, namespace)

    def __getattr__(cls, name: str) -> FabricatedValue:
        if name.startswith("__"):
            raise AttributeError(name)
        value = FabricatedValue(f"{cls.__module__}.{cls.__name__}.{name}")
        type.__setattr__(cls, name, value)
        return value

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_fabricated" in cls.__dict__:
            _refuse(f"{cls.__module__}.{cls.__name__}{cls.__dict__['_note']}", "instantiate")
        return super().__call__(*args, **kwargs)


class FabricatedModule(types.ModuleType):
    """A module whose names appear when they are asked for, unless `defined` says which there are.

    real  modules that run: a package that holds one gives it, and makes up no name in its place.
    note  what an error says beside a name of this module.
    """

    def __init__(
        self,
        name: str,
        given: Given,
        ledger: Ledger,
        defined: frozenset[str] | None,
        real: Collection[str] = (),
        note: str = "",
    ) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._given, self._ledger, self._defined = given, ledger, defined
        self._real, self._note = real, note

    def __getattr__(self, name: str) -> Any:
        key = (self.__name__, name)
        if f"{self.__name__}.{name}" in self._real:
            return importlib.import_module(f"{self.__name__}.{name}")
        # What the tree's module does not define is no name of it, whatever stands ready for it.
        if self._defined is not None and name not in self._defined:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if key in self._given:
            self._ledger.given.add(key)
            value = self._given[key]
        elif name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        else:
            self._ledger.empty.add(key)
            value = _fabricate(*key, self._note)
        setattr(self, name, value)
        return value


def _fabricate(module: str, name: str, note: str) -> Any:
    bare = name.lstrip("_")
    if bare[:1].isupper() and not bare.isupper() and not bare.startswith("IS_"):
        return _FabricatedClass(name, (), {"__module__": module, "_fabricated": True, "_note": note})
    return FabricatedValue(f"{module}.{name}{note}")
