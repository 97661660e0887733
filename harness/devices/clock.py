"""Waiting that ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Clock"]


@dataclass(frozen=True)
class Clock:
    """Seconds that pass, and a pause between two looks; tests bring their own."""

    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def looks(self, limit: float, every: float) -> Iterator[None]:
        """Yield at once, then after each pause of `every` seconds, the last time when `limit` seconds are over."""
        end = self.now() + limit
        yield
        while (left := end - self.now()) > 0:
            self.pause(min(every, left))
            yield
