"""How far a run is, as a person sees it."""

from __future__ import annotations

import pytest

from harness.pytest_plugin import progress
from harness.pytest_plugin.progress import Meter

TESTS = """
import pytest
@pytest.mark.parametrize("n", range(40))
def test_many(n): assert n != 3
"""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rate_and_time_left_follow_what_is_done() -> None:
    clock = Clock()
    meter = Meter(clock=clock)
    meter.begin(["a", "b", "c", "d"])
    clock.now += 30
    meter.take("a")
    assert str(meter) == "1/4 tests 25%, 0.0/s, 1:30 left"
    clock.now += 6000
    meter.take("b")
    meter.failed += 1
    assert str(meter) == "2/4 tests 50%, 1 failed, 0.0/s, 1:40:30 left"


def test_known_durations_weigh_what_is_left() -> None:
    clock = Clock()
    meter = Meter({"long": 90.0, "short": 10.0, "elsewhere": 10.0}, clock)
    meter.begin(["long", "short"])
    clock.now += 9
    meter.take("short")
    assert meter.share == pytest.approx(0.1)
    assert str(meter).endswith("1:21 left")


def test_nothing_is_left_at_the_end_and_nothing_is_said_of_an_empty_run() -> None:
    clock = Clock()
    meter = Meter(clock=clock)
    assert str(meter) == "0/? tests 0%"
    meter.begin(["a"])
    clock.now += 1
    meter.take("a")
    assert str(meter) == "1/1 tests 100%, 1.0/s"


@pytest.mark.parametrize(
    "arguments", [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)], ids=["one process", "xdist"]
)
def test_a_terminal_has_one_line_below_what_pytest_writes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    pytester.makepyfile(TESTS)
    pytester.makeconftest(
        """
        def pytest_sessionstart(session):
            session.config.pluginmanager.getplugin("terminalreporter").isatty = lambda: True
        """
    )
    result = pytester.runpytest_inprocess("-p", "harness.pytest_plugin", "-p", "no:cacheprovider", *arguments)
    result.assert_outcomes(passed=39, failed=1)
    text = result.stdout.str()
    assert "40/40 tests 100%, 1 failed" in text
    drawn = [part.partition("\x1b8")[0] for part in text.split("\x1b7")[1:]]
    assert sum(" tests " in line for line in drawn) == 40
    assert drawn[-1].endswith("\x1b[2K")  # the last one is taken away again


@pytest.mark.parametrize("arguments", [("-q",), ()])
def test_nothing_is_added_where_it_was_not_asked_for(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "harness.pytest_plugin", "-p", "no:cacheprovider", *arguments)
    assert "progress:" not in result.stdout.str()
    assert "\x1b7" not in result.stdout.str()


def test_a_log_has_a_plain_line_now_and_then(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE", 0.0)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-p", "harness.pytest_plugin", "-p", "no:cacheprovider")
    lines = [line for line in result.outlines if line.startswith("progress: ")]
    assert 10 <= len(lines) <= 20
    assert all("/40 tests" in line for line in lines)
    assert "1 failed" in lines[-1]
