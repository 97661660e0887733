"""A change of a file as a unified diff, byte for byte, which `git apply` and `patch -p1` read."""

from __future__ import annotations

from collections.abc import Iterator

from harness.lists.edits.document import ending_of

__all__ = ["unified_diff"]


def unified_diff(file: str, before: bytes, after: bytes) -> bytes:
    """The diff; empty when nothing changes."""
    import difflib

    name = file.lstrip("/").encode("utf-8", "surrogateescape")
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        b"a/" + name,
        b"b/" + name,
    )
    return b"".join(_ended(lines))


def _ended(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        if not ending_of(line):
            yield b"\n\\ No newline at end of file\n"
