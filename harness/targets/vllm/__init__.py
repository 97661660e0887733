"""Released vLLM: its own DFlash and DSpark workers, launched without a GPU and without building anything."""

from __future__ import annotations

from harness.targets.vllm.target import VLLMTarget

__all__ = ["VLLMTarget"]
