"""A target that raises in every so many admissions of a request called `odd`. For runs without a process."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

from harness.protocol import Description
from harness.scenario import Admit, Config, Operation
from harness.targets.base import Inspection, OpenOptions, UnsupportedError

# What the next admissions of it do, over and over; a test sets it.
RAISES: Callable[[], bool] = cycle([False]).__next__


class Session:
    def apply(self, operation: Operation) -> None:
        if isinstance(operation, Admit) and operation.request == "odd" and RAISES():
            raise RuntimeError("now and then")

    def inspect(self) -> Inspection:
        return Inspection({}, {}, (), {}, {})

    def close(self) -> None:
        pass


class NowAndThen:
    def describe(self) -> Description:
        operations = ("admit", "step", "finish")
        return Description(
            "now and then", "1", ("cpu",), ("dflash",), operations, {}, "none", "never", False, (), ()
        )

    def open(self, config: Config, options: OpenOptions) -> Session:
        del options
        if config.num_seq_slots == 0:
            raise UnsupportedError("seats must be counted")
        return Session()
