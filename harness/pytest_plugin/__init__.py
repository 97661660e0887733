"""pytest hooks that select tests by list, waive them, record results and outlive what breaks.

`-p harness.pytest_plugin` brings the hooks and the options that no other tree has: they read whatever
`--test-list`, `--waives-file` and `--test-prefix` the tree at hand defines. This repository's conftest also loads
`options`, which defines those, and `fixtures`.
"""

from harness.pytest_plugin.hooks import (
    pytest_cmdline_main,
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_teststatus,
    pytest_terminal_summary,
    pytest_testnodedown,
)

# The options alone: the rest comes with the options that need it.
pytest_plugins = ["harness.pytest_plugin.run_options"]

__all__ = [
    "pytest_cmdline_main",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_teststatus",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]
