"""What a device's lock file says: who holds it or held it last, and what is known of its memory."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

__all__ = ["Leak", "Record", "read_record"]

_KEPT = 20  # leaks that a record remembers, the latest ones


@dataclass(frozen=True)
class Leak:
    """Memory that a case left behind: `bytes` fewer are free on `device` than before it."""

    test: str
    device: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.device} has {self.bytes >> 20} MiB less free memory than before: left behind by {self.test}"


@dataclass(frozen=True)
class Record:
    """The content of a lock file. A holder that was killed stays named: whether one lives, the lock says.

    baseline  bytes free when nothing of ours ran; 0 before it was measured.
    resident  bytes that idle processes keep with their CUDA contexts, by process name.
    """

    test: str = ""
    pid: int = 0
    since: str = ""
    total: int = 0
    baseline: int = 0
    resident: dict[str, int] = field(default_factory=dict)
    leaks: tuple[Leak, ...] = ()

    def dumps(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps({**asdict(self), "leaks": [asdict(leak) for leak in self.leaks[-_KEPT:]]}) + "\n"


def read_record(text: str) -> Record:
    """Return what a lock file says; an empty record where it says nothing that can be read.

    Only the first line counts: a holder that was killed while it wrote may have left the end of an older text.
    """
    try:
        values = json.loads(text.partition("\n")[0])
        leaks = tuple(Leak(**leak) for leak in values.pop("leaks"))
        return Record(**values, leaks=leaks)
    except (ValueError, TypeError, KeyError, AttributeError):
        return Record()
