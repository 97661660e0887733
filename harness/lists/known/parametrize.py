"""The parameter ids of literal `pytest.mark.parametrize` decorators, by pytest's own rules of naming.

Whatever is not literal makes the ids unknown: an answer that may be wrong is worse than none.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence

from harness.lists.known.scan import dotted

__all__ = ["Names", "argument_names", "is_parametrize", "parameter_ids"]

_MAX_IDS = 20_000
_MAX_DEPTH = 8
_LONGEST_VALUE = 100  # newer versions of pytest do not take a longer text for an id

Names = Mapping[str, ast.expr]
"""Names that stand for one literal expression of the module."""


class _UnknownError(Exception):
    """An id that only running the code could tell."""


def is_parametrize(mark: ast.expr) -> bool:
    """Whether a decorator is `pytest.mark.parametrize(...)`."""
    return isinstance(mark, ast.Call) and dotted(mark.func) == "pytest.mark.parametrize"


def parameter_ids(calls: Sequence[tuple[ast.Call, Names]]) -> frozenset[str] | None:
    """The ids that these parametrize calls make, given closest to the function first; None when unknown."""
    try:
        sets = [_ids(call, names) for call, names in calls]
    except (_UnknownError, RecursionError):
        return None
    total = 1
    for ids in sets:
        total *= len(ids)
        if len(set(ids)) < len(ids) or not ids or total > _MAX_IDS:
            return None  # pytest numbers equal ids and names an empty set, not always in the same way
    return frozenset("-".join(parts) for parts in itertools.product(*sets)) if sets else frozenset()


def argument_names(call: ast.Call, names: Names) -> list[str]:
    """The arguments that a call fills; none of them when they are not literal."""
    try:
        return _argument_names(_argument(call, 0, "argnames"), names)
    except _UnknownError:
        return []


def _ids(mark: ast.Call, names: Names) -> list[str]:
    given_names = _followed(_argument(mark, 0, "argnames"), names)
    arguments = _argument_names(given_names, names)
    # A list of one name takes tuples of one value; the name alone takes the values themselves.
    bare = isinstance(given_names, ast.Constant) and len(arguments) == 1
    values = _elements(_argument(mark, 1, "argvalues"), names)
    given = _argument(mark, 3, "ids")
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return [_set_id(value, arguments, index, names, bare) for index, value in enumerate(values)]
    ids = _elements(given, names)
    if len(ids) != len(values):
        raise _UnknownError
    return [
        _set_id(value, arguments, index, names, bare, given=one)
        for index, (value, one) in enumerate(zip(values, ids, strict=True))
    ]


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        raise _UnknownError
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _argument_names(node: ast.expr | None, names: Names) -> list[str]:
    node = _followed(node, names)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    found = [item.value for item in _elements(node, names) if isinstance(item, ast.Constant)]
    return [name for name in found if isinstance(name, str)]


def _followed(node: ast.expr | None, names: Names) -> ast.expr:
    for _ in range(_MAX_DEPTH):
        if not isinstance(node, ast.Name) or node.id not in names:
            break
        node = names[node.id]
    if node is None:
        raise _UnknownError
    return node


def _elements(node: ast.expr | None, names: Names) -> list[ast.expr]:
    node = _followed(node, names)
    if isinstance(node, (ast.List, ast.Tuple)):
        if any(isinstance(item, ast.Starred) for item in node.elts):
            raise _UnknownError
        return node.elts
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _elements(node.left, names) + _elements(node.right, names)
    if isinstance(node, ast.Call) and dotted(node.func) == "range" and not node.keywords:
        return [ast.Constant(number) for number in range(*_range(node.args))]
    raise _UnknownError


def _range(arguments: list[ast.expr]) -> list[int]:
    numbers = [_number(item) for item in arguments]
    whole = [n for n in numbers if isinstance(n, int) and not isinstance(n, bool) and abs(n) <= _MAX_IDS]
    if len(whole) != len(arguments) or not 1 <= len(whole) <= 3 or (len(whole) == 3 and not whole[2]):
        raise _UnknownError
    return whole


def _set_id(
    value: ast.expr, arguments: list[str], index: int, names: Names, bare: bool, given: ast.expr | None = None
) -> str:
    """The id of one set of values; what `pytest.param(id=...)` says counts before the list of ids."""
    value = _followed(value, names)
    parts: list[ast.expr]
    if isinstance(value, ast.Call) and dotted(value.func) == "pytest.param":
        own = next((keyword.value for keyword in value.keywords if keyword.arg == "id"), None)
        given = own if own is not None and not _is_none(own) else given
        parts = value.args
    else:
        parts = [value] if bare else _elements(value, names)
    if given is not None and not _is_none(given):
        return _given_id(_followed(given, names))
    if len(parts) != len(arguments):
        raise _UnknownError
    return "-".join(
        _value_id(_followed(part, names), name, index) for part, name in zip(parts, arguments, strict=True)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _given_id(node: ast.expr) -> str:
    value = node.value if isinstance(node, ast.Constant) else _number(node)
    if isinstance(value, str):
        return _escaped(value)
    if isinstance(value, (bool, int, float)):
        return str(value)
    raise _UnknownError


def _value_id(node: ast.expr, argument: str, index: int) -> str:
    if isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)):
        return f"{argument}{index}"
    value = node.value if isinstance(node, ast.Constant) else _number(node)
    if isinstance(value, str) and len(value) <= _LONGEST_VALUE:
        return _escaped(value)
    if (isinstance(node, ast.Constant) and value is None) or isinstance(value, (bool, int, float, complex)):
        return str(value)
    raise _UnknownError


def _number(node: ast.expr) -> object:
    """A number with its sign; None for anything else."""
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, (int, float, complex)):
        return None
    return -inner.value if sign < 0 else inner.value


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
