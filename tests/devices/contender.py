"""A process that leases and gives back, again and again: `contender.py FOLDER LOG SEED DEVICES ROUNDS`.

What it holds it writes to LOG, one line a change, in single appends: the lines of all processes stand in the order
in which they happened. ROUNDS 0 leases all devices once, says so, and stays until it is killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

from machines import Machine, gpus

from harness.devices import Lender, LockFolder


def main(folder: str, log: str, seed: str, devices: str, rounds: str) -> None:
    lender = Lender(Machine(*gpus(int(devices))), LockFolder(Path(folder)), {})
    chance = random.Random(seed)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(word: str, uuids: str) -> None:
        os.write(descriptor, f"{word} {os.getpid()} {uuids}\n".encode())

    if rounds == "0":
        lender.lease(int(devices), "killed.py::test_it", 60.0)
        if os.fork() == 0:
            signal.pause()  # a child of the case that nobody ends keeps no lock
        tell("take", "all")
        signal.pause()
    for _ in range(int(rounds)):
        lease = lender.lease(chance.randint(1, int(devices)), "case", 60.0)
        uuids = lease.environment["CUDA_VISIBLE_DEVICES"]
        tell("take", uuids)
        for _ in range(chance.randrange(3)):
            os.sched_yield()
        tell("give", uuids)
        lease.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
