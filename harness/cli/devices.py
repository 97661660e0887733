"""`harness devices`: the GPUs of this machine, who holds them, and what was left on them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from harness.devices import Device, LockFolder, Queue, Record, detect_inventory, lock_folder, visible_devices
from harness.errors import ExitCode

__all__ = ["devices"]


@click.command()
def devices() -> int:
    """List the GPUs and MIG instances, which tests lease them now, and which tests left memory behind.

    Those that CUDA_VISIBLE_DEVICES hides here are listed too, as hidden. Exit code 0; 4 when the folder of the
    locks cannot be used.
    """
    machine = detect_inventory().devices()
    if not machine:
        click.echo("no GPU: neither the driver nor nvidia-smi answers")
        return ExitCode.HOLDS
    visible = set(visible_devices(machine))
    queue = Queue(LockFolder(lock_folder()), machine)
    holders = queue.holders()
    for device in machine:
        state = _state(holders.get(device.uuid)) if device in visible or device.uuid in holders else "hidden"
        click.echo(f"{device.index}  {device.uuid}  {_about(device)}  {state}")
        for line in _leaks(queue.record(device.uuid)):
            click.echo(line)
    return ExitCode.HOLDS


def _about(device: Device) -> str:
    return f"{device.name}, {device.total >> 30} GiB" if device.total else device.name


def _state(holder: Record | None) -> str:
    return "free" if holder is None else f"held by {holder.test} (process {holder.pid}) since {holder.since}"


def _leaks(record: Record) -> Iterator[str]:
    for leak in record.leaks:
        yield f"   {leak.bytes >> 20} MiB left behind by {leak.test}"
