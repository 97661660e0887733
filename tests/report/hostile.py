"""Text that tries to leave its place: markup, quotes, control characters, schemes that run code."""

from __future__ import annotations

import dataclasses
from typing import Any

PAYLOAD = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\x00\u202e&lt;{{ 7*7 }}"
LINK = "javascript:alert(3)//\"'><b>"


def hostile(value: Any, keep: frozenset[str] = frozenset()) -> Any:
    """Return `value` with every text in it replaced, but for fields named in `keep`."""
    if isinstance(value, str):
        return PAYLOAD
    if isinstance(value, dict):
        return {hostile(name, keep): hostile(item, keep) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(hostile(item, keep) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: LINK if field.name == "url" else hostile(getattr(value, field.name), keep)
            for field in dataclasses.fields(value)
            if field.init and field.name not in keep
        }
        return dataclasses.replace(value, **changes)
    return value
