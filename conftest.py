"""Options of this repository's own runs; the hooks that read them serve other trees too."""

pytest_plugins = [
    "harness.pytest_plugin",
    "harness.pytest_plugin.options",
    "harness.pytest_plugin.fixtures",
    "pytester",
]
