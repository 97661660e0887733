"""A device's free memory against its baseline, and whose leak it is when it does not come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.devices.clock import Clock
from harness.devices.model import Device
from harness.devices.process import is_alive
from harness.devices.records import Leak, Record

__all__ = ["await_baseline", "note_resident"]

_TOLERANCE = 128 << 20  # bytes; what drivers and other processes' small allocations make it move by
_EVERY = 0.1  # seconds between two looks: the driver frees a dead process's memory within a few of them


def await_baseline(
    device: Device, record: Record, before: str, free: Callable[[], int | None], clock: Clock, limit: float
) -> tuple[Record, Leak | None]:
    """Wait at most `limit` seconds until `device` has its memory back; return what is known of it then.

    `before` is the test that had it before. What is still missing in the end is its leak; the level that is left
    is the baseline from there on, so that nobody after it waits for it or is charged with it.
    """
    resident = {name: size for name, size in record.resident.items() if is_alive(name)}
    kept = sum(resident.values())
    known = record.baseline if record.total == device.total else 0  # else what was known is of other sizes
    now: int | None = None
    for _ in clock.looks(limit, _EVERY):
        now = free()
        if now is None or now + kept >= known - _TOLERANCE:
            break
    record = replace(record, total=device.total, resident=resident)
    if now is None:
        return record, None
    if now + kept < known - _TOLERANCE:
        leak = Leak(before, device.uuid, known - kept - now)
        return replace(record, baseline=now + kept, leaks=(*record.leaks, leak)), leak
    # Never lower, or small leaks would add up unseen; higher where a stranger was there when it was measured.
    # An idle context may have shrunk since it was noted: while there is one, nothing is concluded upwards.
    return replace(record, baseline=now + kept if not known else known if kept else max(known, now)), None


def note_resident(record: Record, process: str, free: int, allocated: int) -> Record:
    """Note what this process keeps on a device while it is idle: its context, but not its tensors.

    Those, `allocated` bytes, are for the next case to find missing.
    """
    others = {name: size for name, size in record.resident.items() if name != process and is_alive(name)}
    own = record.baseline - sum(others.values()) - free - allocated
    return replace(record, resident={**others, process: own} if own > 0 else others)
