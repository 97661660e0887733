"""Lock files that die with their holder.

POSIX record locks: the kernel drops them when the process ends, by `kill -9` too, and a child that a holder
forked does not keep them alive, as it would with `flock`. Their price is that closing any descriptor of a file
drops the process's own lock on it, so that descriptors of held files are kept here, once a process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from harness.devices.model import DeviceError

__all__ = ["LockFolder"]

_QUEUE = "queue.lock"
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST = 1 << 16  # bytes of a lock file that are read

# What this process holds: path -> descriptor. A forked child holds nothing, whatever it inherited.
_held: dict[str, int] = {}
_guard = threading.RLock()


def _forget_in_child() -> None:
    global _guard
    _held.clear()
    _guard = threading.RLock()


os.register_at_fork(after_in_child=_forget_in_child)


class LockFolder:
    """Named locks in one folder. Only `exclusively` waits; all else answers at once.

    Raises `DeviceError` for a file that cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # In a folder that several users share, each must be able to open the others' files.
        self._mode = 0o666 if folder.stat().st_mode & stat.S_IWOTH else 0o600

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Wait until no other process, and no other thread of this one, is in here.

        What decides who gets what runs inside: nobody ever waits for one lock while holding another.
        """
        with _guard:
            descriptor = self._open(_QUEUE)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)  # which unlocks

    def take(self, name: str) -> bool:
        """Hold the lock `name` from now on; return False where somebody does, this process included."""
        path = str(self.folder / name)
        with _guard:
            if path in _held:
                return False
            descriptor = self._open(name)
            if not _try(descriptor):
                os.close(descriptor)
                return False
            _held[path] = descriptor
            return True

    def drop(self, name: str) -> None:
        """Give the lock up. It need not be held any more: a forked child holds nothing."""
        with _guard:
            descriptor = _held.pop(str(self.folder / name), None)
            if descriptor is not None:
                os.close(descriptor)

    def is_held(self, name: str) -> bool:
        """Return whether anybody holds the lock, this process included."""
        with _guard:
            if str(self.folder / name) in _held:
                return True
            try:
                descriptor = self._open(name, create=False)
            except FileNotFoundError:
                return False
            try:
                return not _try(descriptor)
            finally:
                os.close(descriptor)

    def read(self, name: str) -> str:
        """Return what the last holder wrote; empty where there is nothing."""
        with _guard:
            ours = _held.get(str(self.folder / name))
            try:
                descriptor = self._open(name, create=False) if ours is None else ours
            except FileNotFoundError:
                return ""
            try:
                return os.pread(descriptor, _MOST, 0).decode(errors="replace")
            finally:
                if ours is None:
                    os.close(descriptor)

    def write(self, name: str, text: str) -> None:
        """Replace what a held file says: in place, since the lock is on this very file."""
        with _guard:
            descriptor = _held[str(self.folder / name)]
            data = text.encode()
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))

    def names(self, prefix: str) -> list[str]:
        """Return the names in the folder that begin with `prefix`, in order."""
        return sorted(path.name for path in self.folder.glob(f"{prefix}*"))

    def remove(self, name: str) -> None:
        """Remove a file that nobody will look for again, held or not."""
        with contextlib.suppress(FileNotFoundError):
            (self.folder / name).unlink()
        self.drop(name)

    def _open(self, name: str, *, create: bool = True) -> int:
        path = self.folder / name
        try:
            return os.open(path, _FLAGS)
        except FileNotFoundError:
            if not create:
                raise
        except OSError as error:
            raise DeviceError(f"{path}: no lock file to open: {error.strerror}") from None
        try:
            # Not O_CREAT alone: in a sticky folder the kernel refuses it for another user's file.
            descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, self._mode)
        except FileExistsError:  # somebody was faster
            return self._open(name, create=False)
        except OSError as error:
            raise DeviceError(f"{path}: cannot be made: {error.strerror}") from None
        os.fchmod(descriptor, self._mode)  # whatever the umask
        return descriptor


def _try(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
