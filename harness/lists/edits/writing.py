"""Replacing files as a whole: atomically, all or none, and only when nobody else changed them meanwhile."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.errors import Place, UsageError
from harness.lists.source import Source

__all__ = ["Rewrite", "write_all", "write_new"]


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


def write_new(file: str, data: bytes) -> None:
    """Write a file that is a result of its own, in one step, over whatever is there."""
    path = Path(file)
    try:
        if not path.exists():
            path.touch()
        old = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}; give another file", Place(file)) from error
    write_all([Rewrite(Source(file, old, ()), data)])


def _stage(rewrite: Rewrite, data: bytes) -> _Staged:
    target = Path(os.path.realpath(rewrite.source.file))  # a link stays a link: what it names is replaced
    status = target.stat()
    if not stat.S_ISREG(status.st_mode) or not os.access(target, os.W_OK):
        raise UsageError("is no file that may be written; check its permissions", Place(rewrite.source.file))
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{time.monotonic_ns()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            with contextlib.suppress(OSError):  # only root may give a file away
                os.fchown(handle, status.st_uid, status.st_gid)
            os.fchmod(handle, stat.S_IMODE(status.st_mode))
            os.fsync(handle)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
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
