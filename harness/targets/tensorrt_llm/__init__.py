"""TensorRT-LLM: the real DFlash and DSpark workers of any checkout, launched without building it."""

from __future__ import annotations

from harness.targets.tensorrt_llm.target import TensorRTLLMTarget

__all__ = ["TensorRTLLMTarget"]
