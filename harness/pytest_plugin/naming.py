"""A test's id as lists, waivers and logs spell it, where a tree or a plugin changes the ids of its items.

TensorRT-LLM's own hooks put `--test-prefix` and a slash in front of every id, and run an entry of its unit tests
as the parameter of one test.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.lists import Entry

__all__ = ["entry_key", "listed_id", "plain_id"]

_WRAPPED = re.compile(r"(?:.*/)?test_unittests\.py::test_unittests_v2\[(.*)\]", re.DOTALL)
_INNER = "unittest"


def listed_id(nodeid: str, prefix: str) -> str:
    """The id without what the tree put around it; for an entry of the unit tests, the entry's text."""
    if prefix and nodeid.startswith(f"{prefix}/"):
        nodeid = nodeid[len(prefix) + 1 :]
        # The prefix of a session of unit tests ends in the folder that its lists begin with.
        if prefix.endswith(f"/{_INNER}") and not nodeid.startswith(f"{_INNER}/"):
            nodeid = f"{_INNER}/{nodeid}"
    if "test_unittests_v2[" in nodeid and (wrapped := _WRAPPED.fullmatch(nodeid)):
        return " ".join(wrapped[1].split())
    return nodeid


def entry_key(entry: Entry) -> str:
    """The text of an entry without regard to the number of blanks: what `listed_id` gives for it when wrapped."""
    return " ".join(entry.test.text.split())


def plain_id(nodeid: str) -> str:
    """A node id without the group that xdist's `--dist loadgroup` writes behind it."""
    name, _, group = nodeid.rpartition("@")
    return name if name and not {"]", "/", ":"} & set(group) else nodeid
