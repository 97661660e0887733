"""Replacing files as a whole: atomically, all or none, and only when nobody else changed them meanwhile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import Place, UsageError
from harness.files import stage
from harness.lists.source import Source

__all__ = ["Rewrite", "write_all"]


class Rewrite(NamedTuple):
    """A file as it was read, and the bytes it is to have."""

    source: Source
    data: bytes


class _Staged(NamedTuple):
    """A rewrite whose bytes lie on disk beside the file that they are to replace."""

    rewrite: Rewrite
    target: Path
    temporary: Path


def write_all(rewrites: Sequence[Rewrite]) -> None:
    """Give every file its new bytes; a file whose bytes stay the same is not touched.

    Permissions stay, and a symbolic link stays one. Each file is replaced in one step by a copy that is
    already on disk. Raises UsageError when one of them cannot be written or is no longer what was read; then
    all are as they were.
    """
    staged: list[_Staged] = []
    replaced: list[_Staged] = []
    file = ""
    try:
        for rewrite in rewrites:
            file = rewrite.source.file
            if rewrite.data != rewrite.source.data:
                staged.append(_stage(rewrite, rewrite.data))
        for item in staged:
            file = item.rewrite.source.file
            _check_unchanged(item)
        for item in staged:
            file = item.rewrite.source.file
            _check_unchanged(item)  # again: staging many files takes its time
            item.temporary.replace(item.target)
            replaced.append(item)
    except (OSError, UsageError) as error:
        _restore(replaced)
        if isinstance(error, UsageError):
            raise
        message = f"cannot be written: {error.strerror}; nothing was changed"
        raise UsageError(message, Place(file)) from error
    finally:
        for item in staged:
            item.temporary.unlink(missing_ok=True)
    for folder in {item.target.parent for item in staged}:
        _sync_folder(folder)


def _stage(rewrite: Rewrite, data: bytes) -> _Staged:
    temporary, target = stage(Path(rewrite.source.file), data)
    return _Staged(rewrite, target, temporary)


def _check_unchanged(item: _Staged) -> None:
    if item.target.read_bytes() != item.rewrite.source.data:
        message = "was changed by somebody else meanwhile; nothing was changed, run the command again"
        raise UsageError(message, Place(item.rewrite.source.file))


def _restore(replaced: Sequence[_Staged]) -> None:
    for item in replaced:
        with contextlib.suppress(OSError):  # the first error is the one to report
            back = _stage(item.rewrite, item.rewrite.source.data)
            back.temporary.replace(back.target)


def _sync_folder(folder: Path) -> None:
    """Make the new names last, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
