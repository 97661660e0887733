"""Released SGLang: its own DFlash and DSpark workers, launched without a GPU and without building anything."""

from __future__ import annotations

from harness.targets.sglang.target import SGLangTarget

__all__ = ["SGLangTarget"]
