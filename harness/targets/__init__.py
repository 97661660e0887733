"""Engines under test, one module each. A target is imported when it is first asked for."""

from __future__ import annotations

import importlib

from harness.targets.base import Session, Target, UnsupportedError

__all__ = ["TARGETS", "Session", "Target", "UnsupportedError", "load_target"]

# name -> module:attribute. Any other target is named by its own module:attribute.
TARGETS: dict[str, str] = {
    "embedded": "harness.targets.embedded:EmbeddedTarget",
    "tensorrt_llm": "harness.targets.tensorrt_llm:TensorRTLLMTarget",
    "sglang": "harness.targets.sglang:SGLangTarget",
    "vllm": "harness.targets.vllm:VLLMTarget",
}


def load_target(name: str) -> Target:
    """Import the target `name`: one of `TARGETS`, or `package.module:Class`."""
    module, _, attribute = TARGETS.get(name, name).partition(":")
    target: Target = getattr(importlib.import_module(module), attribute)()
    return target
