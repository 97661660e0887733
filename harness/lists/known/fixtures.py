"""Whether the fixtures of a test may add parameters of their own to its id."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from harness.lists.known.imports import Modules
from harness.lists.known.scan import Definition, FunctionNode, Module, dotted

__all__ = ["may_add_parameters", "requested_arguments", "usefixtures"]

# Fixtures of pytest itself, none of which has parameters.
_BUILTIN = frozenset(
    """
    cache capfd capfdbinary caplog capsys capsysbinary capteesys doctest_namespace monkeypatch pytestconfig
    pytester record_property record_testsuite_property record_xml_attribute recwarn request subtests testdir
    tmp_path tmp_path_factory tmpdir tmpdir_factory
    """.split()  # noqa: SIM905  a list of names is no easier to read as a column of quotes
)


def may_add_parameters(modules: Modules, scopes: Sequence[Module], requested: Iterable[str]) -> bool:
    """Whether any requested or automatic fixture has parameters or cannot be seen.

    `scopes` are where fixtures may be defined, the nearest first: class, module, the `conftest.py` files.
    """
    waiting = [*requested, *_automatic(scopes)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in _BUILTIN:
            continue
        seen.add(name)
        found = next((f for scope in scopes if (f := modules.definition(scope, name))), None)
        call = _fixture(found[1]) if found else None
        if found is None or call is None or not isinstance(found[1], FunctionNode):
            return True
        if isinstance(call, ast.Call) and any(k.arg in ("params", None) for k in call.keywords):
            return True
        waiting += [argument for argument in requested_arguments(found[1]) if argument != name]
    return False


def usefixtures(marks: Iterable[ast.expr]) -> Iterator[str]:
    """The names in `pytest.mark.usefixtures(...)`."""
    for mark in marks:
        if isinstance(mark, ast.Call) and dotted(mark.func) == "pytest.mark.usefixtures":
            yield from (a.value for a in mark.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _automatic(scopes: Sequence[Module]) -> Iterator[str]:
    for scope in scopes:
        for name, node in scope.definitions.items():
            call = _fixture(node)
            if isinstance(call, ast.Call) and any(k.arg == "autouse" for k in call.keywords):
                yield name


def _fixture(node: Definition) -> ast.expr | None:
    """The decorator that makes a function a fixture of its own name, None when there is none."""
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if dotted(call) in ("pytest.fixture", "fixture"):
            return decorator
    return None


def requested_arguments(node: FunctionNode) -> list[str]:
    """The arguments of a function that pytest has to fill."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    required = arguments[: len(arguments) - len(node.args.defaults)]
    keyword_only = [
        a for a, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if not default
    ]
    return [a.arg for a in (*required, *keyword_only) if a.arg not in ("self", "cls")]
