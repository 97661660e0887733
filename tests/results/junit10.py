"""The constraints of `junit-10.xsd` of the Jenkins xunit plugin, stated again as tables: no copy of the schema."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

__all__ = ["violations"]

_TIME = re.compile(r"[0-9,]*(\.[0-9]*)?")
_RERUN = ("rerunFailure", "rerunError", "flakyFailure", "flakyError")
_OUTPUT = ("system-out", "system-err")
# element -> what may stand in it, in any order and number
_CHILDREN: dict[str, tuple[str, ...]] = {
    "testsuites": ("testsuite",),
    "testsuite": ("testsuite", "properties", "testcase", *_OUTPUT),
    "properties": ("property",),
    "testcase": ("skipped", "error", "failure", *_RERUN, *_OUTPUT),
    **dict.fromkeys(_RERUN, ("stackTrace", *_OUTPUT)),
}
# element -> (attributes that must be there, attributes that may)
_ATTRIBUTES: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
    ),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name"}, {"time", "classname", "group"}),
    **dict.fromkeys(("failure", "error", "skipped"), (set(), {"type", "message"})),
    **dict.fromkeys(_RERUN, ({"type"}, {"message"})),
}
_MIXED = {"failure", "error", "skipped", *_RERUN, *_OUTPUT, "stackTrace"}


def violations(text: str) -> list[str]:
    """What of a JUnit file the schema does not allow. Raises `ParseError` for what is no XML."""
    root = fromstring(text.encode())  # noqa: S314  our own file
    return [*([] if root.tag in ("testsuites", "testsuite") else [f"root {root.tag}"]), *_of(root)]


def _of(element: Element) -> list[str]:
    tag = element.tag
    required, optional = _ATTRIBUTES.get(tag, (set(), set()))
    has = set(element.keys())
    found = [f"{tag} without {name}" for name in required - has]
    found += [f"{tag} with {name}" for name in has - required - optional]
    if tag.startswith("testsuite") and not _TIME.fullmatch(element.get("time", "")):
        found.append(f"{tag} with time {element.get('time')}")
    words = [element.text or "", *(child.tail or "" for child in element)]
    if tag not in _MIXED and any(map(str.strip, words)):
        found.append(f"{tag} with text")
    for child in element:
        if child.tag not in _CHILDREN.get(tag, ()):
            found.append(f"{child.tag} in {tag}")
        found += _of(child)
    return found
