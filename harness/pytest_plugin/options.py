"""The command-line options, for this repository's own runs: another tree brings its own."""

from __future__ import annotations

import pytest

__all__ = ["pytest_addoption"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of selection, waivers and launching."""
    group = parser.getgroup("harness", "test lists, waivers and targets")
    group.addoption("--test-list", metavar="FILE", help="run what this list names: test-db YAML or flat text")
    group.addoption("--context", metavar="C", help="the context of a YAML list; default: the file's name")
    group.addoption("--match", metavar="FACTS", help="facts as k=v,... or JSON; default: this machine's")
    group.addoption("--waives-file", metavar="FILE", help="waivers: waives.txt or waives.yml")
    group.addoption("--test-prefix", metavar="P", default="", help="stage name, such as H100_PCIe-PyTorch-1")
    group.addoption("--run-waived", action="store_true", help="run waived tests as if they were not waived")
    group.addoption("--allow-unknown", action="store_true", help="ignore list entries that name no test")
    group.addoption("--target", default="embedded", help="engine under test (default: embedded)")
    group.addoption("--source", default="", help="where the target's code is")
    group.addoption("--device", default="cpu", help="cpu or cuda (default: cpu)")
    group.addoption("--isolation", help="fork, reuse or none")
    group.addoption(
        "--bundles", metavar="DIR", help="leave a folder for each finding here, to see it again elsewhere"
    )
