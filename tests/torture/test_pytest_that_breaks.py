"""Modules that end pytest as they are collected, and plugins that break it."""

from __future__ import annotations

from pathlib import Path

import pytest
from torn import MODES, run

TESTS = """
def test_good(): pass
def test_bad(): assert False
def test_victim(): pass
def test_last(): pass
"""
EXPECTED = {"test_good": "passed", "test_bad": "failed", "test_last": "passed"}


@MODES
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        pytest.param("import ctypes; ctypes.string_at(0)", "SIGSEGV", marks=pytest.mark.slow),
        pytest.param("import os; os._exit(0)", "status 0", marks=pytest.mark.slow),
    ],
)
def test_a_module_that_ends_its_process_costs_its_own_tests(
    tmp_path: Path, line: str, told: str, mode: tuple[str, ...]
) -> None:
    torn = run(tmp_path, {"test_a.py": TESTS, "test_b.py": line, "test_c.py": TESTS}, "--no-confirm", *mode)
    assert torn.words.pop("test_b.py") == "crashed"
    assert mode or told in torn.messages["test_b.py"]
    assert torn.words["test_victim"] == "passed"
    assert EXPECTED.items() <= torn.words.items()
    assert len(torn.log.results) == 9
    assert torn.status == pytest.ExitCode.TESTS_FAILED


HOOKS = {
    "makereport": """
        import pytest
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if item.name == "test_victim" and call.when == "call":
                raise RuntimeError("a plugin breaks")
            return report
        """,
    "logreport": """
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(report):
            if "test_victim" in report.nodeid and report.when == "call":
                raise RuntimeError("a plugin breaks")
        """,
}


@MODES
@pytest.mark.parametrize("hook", ["makereport", pytest.param("logreport", marks=pytest.mark.slow)])
def test_a_plugin_that_breaks_costs_the_test_it_broke_on(tmp_path: Path, hook: str, mode: tuple[str, ...]) -> None:
    torn = run(tmp_path, {"conftest.py": HOOKS[hook], "test_a.py": TESTS}, "--no-confirm", *mode)
    assert EXPECTED.items() <= torn.words.items()
    assert torn.words["test_victim"] == "crashed"
    assert mode or torn.messages["test_victim"] == "pytest itself failed: RuntimeError: a plugin breaks"
    assert torn.status == pytest.ExitCode.TESTS_FAILED


@MODES
def test_a_plugin_that_breaks_at_the_end_loses_no_result(tmp_path: Path, mode: tuple[str, ...]) -> None:
    hook = "def pytest_sessionfinish(): raise RuntimeError('a plugin breaks')"
    torn = run(tmp_path, {"conftest.py": hook, "test_a.py": TESTS}, "--no-confirm", *mode)
    assert torn.words == {**EXPECTED, "test_victim": "passed"}
    assert torn.status != pytest.ExitCode.OK


def test_no_progress_ends_with_one_clear_line_and_not_in_a_loop(tmp_path: Path) -> None:
    hook = "import os\ndef pytest_collection(): os._exit(9)"
    torn = run(tmp_path, {"conftest.py": hook, "test_a.py": TESTS})
    assert torn.status == pytest.ExitCode.INTERNAL_ERROR
    assert "harness: no progress: the process left with status 9; results so far are in the log" in torn.output
    assert torn.output.count("no progress") == 1


@pytest.mark.slow
def test_a_plugin_that_breaks_on_every_test_is_not_asked_for_ever(tmp_path: Path) -> None:
    hook = "def pytest_runtest_makereport(): raise RuntimeError('a plugin breaks')"
    tests = "import pytest\n@pytest.mark.parametrize('n', range(50))\ndef test_many(n): pass"
    torn = run(tmp_path, {"conftest.py": hook, "test_a.py": tests}, "--no-confirm")
    assert torn.status == pytest.ExitCode.INTERNAL_ERROR
    assert "no progress: test_a.py::test_many[2] crashed: pytest itself failed" in torn.output
