"""Where the locks of a machine's devices are."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path

from harness.devices.model import DeviceError

__all__ = ["VARIABLE", "lock_folder"]

VARIABLE = "HARNESS_DEVICES_DIR"


def lock_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the lock files; make it where it is missing.

    `HARNESS_DEVICES_DIR`, else `harness-devices` in `XDG_RUNTIME_DIR`, else `harness-devices-UID` in the
    temporary folder. All runs that share devices must agree on it. Raises `DeviceError` for a folder in which
    somebody else could exchange our files.
    """
    if named := environment.get(VARIABLE):
        folder = Path(named)
    elif runtime := environment.get("XDG_RUNTIME_DIR"):
        folder = Path(runtime) / "harness-devices"
    else:
        folder = Path(tempfile.gettempdir()) / f"harness-devices-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, parents=bool(named), exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise DeviceError(
            f"{folder}: no place for the locks of devices: {error.strerror}; set {VARIABLE}"
        ) from None
    _refuse_unsafe(folder, status)
    return folder


def _refuse_unsafe(folder: Path, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise DeviceError(f"{folder}: the locks of devices need a folder, and no link to one; set {VARIABLE}")
    if status.st_uid not in (0, os.getuid()):
        raise DeviceError(f"{folder}: belongs to user {status.st_uid}; set {VARIABLE} to a folder of your own")
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise DeviceError(f"{folder}: everybody may exchange its files; chmod +t it, or set {VARIABLE}")
