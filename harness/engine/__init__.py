"""The embedded engine: real DFlash and DSpark drafting on a small target. It knows nothing of faults."""

from harness.engine.engine import Engine
from harness.engine.parts import Parts
from harness.engine.shape import ModelShape

__all__ = ["Engine", "ModelShape", "Parts"]
