"""The embedded engine with a fault that nobody has to ask for: what a CI run of a broken engine meets."""

from __future__ import annotations

from harness.engine import Engine, Parts
from harness.faults import apply_faults
from harness.scenario import Config
from harness.targets.base import OpenOptions
from harness.targets.embedded import EmbeddedSession, EmbeddedTarget


class PadsToSlotZero(EmbeddedTarget):
    """Rows of padding point at slot 0."""

    def open(self, config: Config, options: OpenOptions) -> EmbeddedSession:
        parts = apply_faults(Parts(), ("pad-to-slot-zero",))
        return EmbeddedSession(Engine(config, parts, options.capture, options.device, acquired=options.acquired))
