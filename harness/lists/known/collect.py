"""From the syntax tree of a file to the tests in it, inherited ones included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.lists.known.fixtures import may_add_parameters, requested_arguments, usefixtures
from harness.lists.known.imports import Modules
from harness.lists.known.model import Parameters, TestFile
from harness.lists.known.parametrize import Names, argument_names, is_parametrize, parameter_ids
from harness.lists.known.scan import FunctionNode, Module, dotted, members

__all__ = ["collect"]

_MAX_DEPTH = 12
_EMPTY_BASES = frozenset(
    [
        "object",
        "ABC",
        "abc.ABC",
        "Generic",
        "Protocol",
        "unittest.TestCase",
        "TestCase",
        "unittest.IsolatedAsyncioTestCase",
    ]
)
_LITERALS = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set)
_HOOKS = ("pytest_generate_tests", "pytest_make_parametrize_id")
_PLAIN_DECORATORS = frozenset(("staticmethod", "classmethod", "abstractmethod", "abc.abstractmethod"))


@dataclass
class _Method:
    """A test function where it is defined; `bodies` are those of its class and bases, for fixtures.

    `marks` are its decorators and what it inherits, closest first, each with the module it stands in.
    """

    node: FunctionNode
    module: Module
    bodies: list[Module]
    marks: list[tuple[Module, ast.expr]]


@dataclass
class _Collector:
    modules: Modules
    conftests: Sequence[Module]
    functions: dict[str, Parameters] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    open_classes: dict[str, str] = field(default_factory=dict)
    open: str = ""


def collect(modules: Modules, module: Module, conftests: Sequence[Module]) -> TestFile:
    """The tests of a module; `conftests` are the `conftest.py` files above it, the nearest first."""
    found = _Collector(modules, conftests, open=module.open)
    visible = [module, *_starred(found, module)]
    for origin in reversed(visible):
        _module(found, origin, module)
    return TestFile(found.functions, frozenset(found.classes), found.open, found.open_classes)


def _starred(found: _Collector, module: Module) -> Iterator[Module]:
    for star in found.modules.stars(module):
        if star is None:
            found.open = found.open or f"{module.path.name} imports * from outside the source"
        else:
            yield star


def _module(found: _Collector, origin: Module, module: Module) -> None:
    marks = [(module, mark) for mark in _pytestmark(module)]
    names = dict.fromkeys((*origin.definitions, *origin.imports, *origin.constants))
    for name in names:
        if not name.startswith(("test", "Test")) and name not in origin.definitions:
            continue
        resolved = found.modules.definition(origin, name)
        if resolved is None:
            if isinstance(origin.constants.get(name), _LITERALS):
                continue
            if name.startswith("Test"):
                found.classes.add(name)
                found.open_classes[name] = f"{name} is defined outside the source"
            else:
                found.functions[name] = None
        elif isinstance(resolved[1], ast.ClassDef):
            if name.startswith("Test") or _is_unittest(found.modules, resolved[0], resolved[1]):
                _class(found, name, resolved[0], resolved[1], marks, 0)
        elif name.startswith("test"):
            node = resolved[1]
            own = [(resolved[0], mark) for mark in reversed(node.decorator_list)]
            found.functions[name] = _parameters(found, _Method(node, resolved[0], [], own + marks))


def _class(
    found: _Collector,
    name: str,
    module: Module,
    node: ast.ClassDef,
    outer: list[tuple[Module, ast.expr]],
    depth: int,
) -> None:
    """Add a class and its tests, inherited ones included. `outer` are the marks of what encloses it."""
    found.classes.add(name)
    lineage, why = _lineage(found.modules, module, node)
    if why:
        found.open_classes[name] = why
    bodies = [body for _, _, body in lineage]
    marks = [
        (home, mark)
        for home, cls, body in reversed(lineage)
        for mark in (*reversed(cls.decorator_list), *_pytestmark(body))
    ]
    for home, _, body in reversed(lineage):
        for inner, definition in body.definitions.items():
            full = f"{name}::{inner}"
            if isinstance(definition, ast.ClassDef):
                if inner.startswith("Test") and depth < _MAX_DEPTH:
                    _class(found, full, home, definition, marks + outer, depth + 1)
            elif inner.startswith("test"):
                own = [(home, mark) for mark in reversed(definition.decorator_list)]
                found.functions[full] = _parameters(found, _Method(definition, home, bodies, own + marks + outer))
        for inner, value in body.constants.items():
            if inner.startswith("test") and not isinstance(value, _LITERALS):
                found.functions[f"{name}::{inner}"] = None
        if body.open:
            found.open_classes[name] = body.open


def _lineage(
    modules: Modules, module: Module, node: ast.ClassDef
) -> tuple[list[tuple[Module, ast.ClassDef, Module]], str]:
    """The class and its bases, nearest first, each with its module and body; and why some are missing."""
    found: list[tuple[Module, ast.ClassDef, Module]] = []
    why = ""
    waiting = [(module, node)]
    while waiting and len(found) < 64:
        home, current = waiting.pop(0)
        if any(seen is current for _, seen, _ in found):
            continue
        found.append((home, current, members(current, home)))
        for base in current.bases:
            name = dotted(base.value if isinstance(base, ast.Subscript) else base)
            resolved = modules.definition(home, name) if name else None
            if resolved and isinstance(resolved[1], ast.ClassDef):
                waiting.append((resolved[0], resolved[1]))
            elif name not in _EMPTY_BASES:
                why = f"its base class {name or 'in line ' + str(base.lineno)} is outside the source"
    return found, why


def _is_unittest(modules: Modules, module: Module, node: ast.ClassDef) -> bool:
    """Whether a class is a `TestCase`, of unittest or of a library that is not below the source."""
    lineage, _ = _lineage(modules, module, node)
    return any(
        dotted(base).endswith("TestCase") and modules.definition(home, dotted(base)) is None
        for home, cls, _ in lineage
        for base in cls.bases
    )


def _pytestmark(body: Module) -> list[ast.expr]:
    value = body.constants.get("pytestmark")
    if value is None:
        return []
    return list(value.elts) if isinstance(value, (ast.List, ast.Tuple)) else [value]


def _parameters(found: _Collector, method: _Method) -> Parameters:
    """The parameter ids of a test; None as soon as anything could add to them unseen."""
    modules = found.modules
    calls: list[tuple[ast.Call, Names]] = []
    others: list[ast.expr] = []
    for home, decorator in method.marks:
        where, mark = modules.expression(home, decorator)
        if isinstance(mark, ast.Call) and is_parametrize(mark):
            calls.append((mark, modules.names(where)))
        elif _is_plain(mark):
            others.append(mark)
        else:
            if "parameterized" in dotted(mark.func if isinstance(mark, ast.Call) else mark):
                found.open = f"{method.module.path.name} makes tests with 'parameterized'"
            return None
    scopes = [*method.bodies, method.module, *found.conftests]
    if any(hook in scope.definitions for scope in scopes for hook in _HOOKS):
        return None
    filled = {name for call, names in calls for name in argument_names(call, names)}
    requested = [a for a in requested_arguments(method.node) if a not in filled]
    if may_add_parameters(modules, scopes, [*requested, *usefixtures(others)]):
        return None
    return parameter_ids(calls)


def _is_plain(mark: ast.expr) -> bool:
    """Whether a decorator is known to add no parameters."""
    name = dotted(mark.func if isinstance(mark, ast.Call) else mark)
    return name.startswith("pytest.mark.") or name in _PLAIN_DECORATORS
