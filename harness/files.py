"""Writing files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from harness.errors import Place, UsageError

__all__ = ["stage", "write_atomically"]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace the content of `path` in one step. Raises `UsageError` where that cannot be done.

    Permissions stay, those of a new file are what the umask leaves, and a symbolic link stays one.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        temporary, target = stage(path, data)
        try:
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}; name another file", Place(str(path))) from None


def stage(path: Path, data: bytes) -> tuple[Path, Path]:
    """Put on disk what a file is to have: return where that is, and the file which it is to replace.

    Owner and permissions are already those of the file that it is beside. Raises `OSError`, and `UsageError` for
    what is no file or must not be written.
    """
    target = Path(os.path.realpath(path))  # a link stays a link: what it names is replaced
    status = target.stat() if target.exists() else None
    if status and not (stat.S_ISREG(status.st_mode) and os.access(target, os.W_OK)):
        raise UsageError("is no file that may be written; check its permissions", Place(str(path)))
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{time.monotonic_ns()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if status else 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            if status:
                with contextlib.suppress(OSError):  # only root may give a file away
                    os.fchown(handle, status.st_uid, status.st_gid)
                os.fchmod(handle, stat.S_IMODE(status.st_mode))
            stream.write(data)
            stream.flush()
            os.fsync(handle)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary, target
