"""The embedded engine, which ends its process as the first request finishes, or stays there. Loaded in a host."""

from __future__ import annotations

import os
import signal
import threading

from harness.scenario import Config, Finish, Operation
from harness.targets.base import OpenOptions
from harness.targets.embedded import EmbeddedSession, EmbeddedTarget

DIES, HANGS = 2, 3  # seats; with any other number nothing is wrong


class Session(EmbeddedSession):
    def apply(self, operation: Operation) -> None:
        seats = self.engine.metadata.num_seq_slots
        if isinstance(operation, Finish) and seats == DIES:
            os.kill(os.getpid(), signal.SIGKILL)
        if isinstance(operation, Finish) and seats == HANGS:
            threading.Event().wait()
        super().apply(operation)


class Target(EmbeddedTarget):
    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        return Session(super().open(config, options).engine)
