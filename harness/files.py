"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness.errors import Place, UsageError

__all__ = ["write_atomically"]


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of `path` by `text` in one step. Raises `UsageError` where that cannot be done."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", Place(str(path))) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", Place(str(path))) from None
    finally:
        Path(temporary).unlink(missing_ok=True)
