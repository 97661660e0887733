"""pytest hooks that select tests by list, waive them, and tell a bug's matrix at the end.

`-p harness.pytest_plugin` brings the hooks alone: they read whatever `--test-list`, `--waives-file` and
`--test-prefix` the tree at hand defines. This repository's conftest also loads `options` and `fixtures`.
"""

from harness.pytest_plugin.hooks import (
    pytest_collection_modifyitems,
    pytest_runtest_makereport,
    pytest_terminal_summary,
)

__all__ = ["pytest_collection_modifyitems", "pytest_runtest_makereport", "pytest_terminal_summary"]
