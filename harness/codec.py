"""Dataclasses to JSON and back, driven by their annotations. Standard library only, for hosts.

A record becomes an object of its fields; a member of `Operation` becomes `{name: {...}}`, as in files.
Malformed data raises `CodecError`, which names the path to the value and what was expected there.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast

from harness.scenario import OPERATIONS, Operation

__all__ = ["CodecError", "decode", "dumps"]

T = TypeVar("T")
_Decoder = Callable[[Any], Any]


class CodecError(ValueError):
    """Data does not have the form of its type. `path` leads to the value: field names and list indices.

    `name_is_wrong` says that the last name of the path is what is wrong, not the value behind it.
    """

    def __init__(self, message: str, path: tuple[str | int, ...] = (), *, name_is_wrong: bool = False) -> None:
        super().__init__(f"{'.'.join(map(str, path)) or 'top level'}: {message}")
        self.message = message
        self.path = path
        self.name_is_wrong = name_is_wrong

    def within(self, step: str | int) -> CodecError:
        """Return the same error seen from one level further out."""
        return CodecError(self.message, (step, *self.path), name_is_wrong=self.name_is_wrong)


def dumps(value: Any) -> str:
    """Return `value` (dataclasses, tuples, dicts, scalars) as one line of JSON."""
    return json.dumps(value, default=_encode, separators=(",", ":"))


def _encode(value: Any) -> Any:
    # Called by json only for what it does not know: records, operations, members of enumerations.
    if type(value) in _OPERATION_TYPES:
        return {value.name: vars(value)}
    return value.value if isinstance(value, enum.Enum) else vars(value)


def decode(cls: type[T], data: Any) -> T:
    """Build a `cls` from parsed JSON or YAML; unknown and missing fields are errors (`CodecError`)."""
    result: T = _decoder(cast("Hashable", cls))(data)
    return result


_OPERATION_TYPES = frozenset(OPERATIONS.values())


@cache
def _decoder(hint: Any) -> _Decoder:
    """Return the decoder of one annotation; made once, since snapshots are decoded by the thousand."""
    if hint is Any:
        return lambda data: data
    if hint == Operation:
        return _decode_operation
    if dataclasses.is_dataclass(hint):
        return _record(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _optional(arguments)
    if origin in (tuple, list):
        return _sequence(_decoder(arguments[0]), arguments[0], origin)
    if origin is dict:
        return _mapping(_decoder(arguments[1]), _plain_types(arguments[1]))
    return _scalar(hint)


def _scalar(hint: type) -> _Decoder:
    members = {member.value: member for member in hint} if issubclass(hint, enum.Enum) else None
    expected = hint.__name__ if members is None else "one of " + ", ".join(members)

    def decode_scalar(data: Any) -> Any:
        if type(data) is hint:
            return data
        if members is not None and isinstance(data, str) and data in members:
            return members[data]
        if hint is float and type(data) is int:
            return float(data)
        raise CodecError(f"expected {expected}, found {_shown(data)}")

    return decode_scalar


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "..."


def _optional(arguments: tuple[Any, ...]) -> _Decoder:
    (inner,) = [argument for argument in arguments if argument is not type(None)]
    decode_inner = _decoder(inner)
    return lambda data: None if data is None else decode_inner(data)


def _sequence(item: _Decoder, hint: Any, make: type) -> _Decoder:
    plain = {hint} if hint in (int, str) else set()

    def decode_sequence(data: Any) -> Any:
        if not isinstance(data, list):
            raise CodecError(f"expected a list, found {_shown(data)}")
        if plain.issuperset(map(type, data)):  # digests by the thousand: no call for each
            return make(data)
        return make([_at(item, index, value) for index, value in enumerate(data)])

    return decode_sequence


def _at(item: _Decoder, step: str | int, value: Any) -> Any:
    try:
        return item(value)
    except CodecError as error:
        raise error.within(step) from None


def _mapping(item: _Decoder, plain: frozenset[type]) -> _Decoder:
    def decode_mapping(data: Any) -> Any:
        if not isinstance(data, dict):
            raise CodecError(f"expected a mapping, found {_shown(data)}")
        if plain.issuperset(map(type, data.values())):
            return {str(key): value for key, value in data.items()}
        return {str(key): _at(item, str(key), value) for key, value in data.items()}

    return decode_mapping


def _plain_types(hint: Any) -> frozenset[type]:
    """Return the types whose values need no decoding under an annotation: int, str, bool and None."""
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return frozenset(option for option in options if option in (int, str, bool, type(None)))


def _record(cls: Any) -> _Decoder:
    hints = typing.get_type_hints(cls)
    members = {field.name: _decoder(hints[field.name]) for field in dataclasses.fields(cls)}
    plain = {field.name: _plain_types(hints[field.name]) for field in dataclasses.fields(cls)}
    required = {
        field.name
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def decode_record(data: Any) -> Any:
        if not isinstance(data, dict):
            raise CodecError(f"expected a mapping of {', '.join(members)}; found {_shown(data)}")
        values = {}
        for name, value in data.items():
            if type(value) in plain.get(name, ()):  # most fields: no call for each
                values[name] = value
                continue
            if name not in members:
                known = ", ".join(members) or "none"
                raise CodecError(f"unknown field; known: {known}", (str(name),), name_is_wrong=True)
            try:
                values[name] = members[name](value)
            except CodecError as error:
                raise error.within(name) from None
        if not required <= values.keys():
            raise CodecError(f"missing {', '.join(sorted(required - values.keys()))}")
        return cls(**values)

    return decode_record


def _decode_operation(data: Any) -> Any:
    if not isinstance(data, dict) or len(data) != 1:
        raise CodecError(f"expected one operation such as 'step: {{}}', found {_shown(data)}")
    ((name, fields),) = data.items()
    if name not in OPERATIONS:
        known = ", ".join(OPERATIONS)
        raise CodecError(f"unknown operation; known: {known}", (str(name),), name_is_wrong=True)
    return _at(_decoder(cast("Hashable", OPERATIONS[name])), name, {} if fields is None else fields)
