"""From the LLM-API options of a failing test to the buckets and capacities that its reproducer runs with."""

from harness.llm_config.deriving import Derived, derive
from harness.llm_config.reading import LlmOptions, read_llm_config
from harness.llm_config.regime import CONFIG_REGIME, with_config

__all__ = ["CONFIG_REGIME", "Derived", "LlmOptions", "derive", "read_llm_config", "with_config"]
