"""I-FIELD: what a forward is told is the same on every path that tells it. Kind K13."""

from __future__ import annotations

from collections.abc import Iterator

from harness.invariants.base import View
from harness.scenario import Step
from harness.trace import MetadataField, Violation

__all__ = ["fields_survive_copies"]


def fields_survive_copies(view: View) -> Iterator[Violation]:
    """In the copy that a graph was replayed with, whatever is not the copy's own equals the owner's.

    A field with one value a request has as many as the step has requests.
    """
    if not isinstance(view.operation, Step):
        return
    for item in view.now.fields:
        if item.sort == "per-request" and len(item.owner) != len(view.now.batch):
            yield _broken(view, item, "length", f"{len(view.now.batch)} values, one a request", item.owner)
        elif item.copy is not None and item.sort != "owned" and item.copy != item.owner:
            yield _broken(view, item, "copy", _text(item.owner), item.copy)


def _broken(view: View, item: MetadataField, rule: str, expected: str, seen: tuple[str, ...]) -> Violation:
    where = "in the copy of a graph" if rule == "copy" else "of the metadata"
    return view.broken(
        "I-FIELD", rule, f"field {item.name}, {item.sort}, {where} is {_text(seen)}",
        expected=expected, seen=_text(seen), buffer=item.name,
    )  # fmt: skip


def _text(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"[{', '.join(values)}]"
