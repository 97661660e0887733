"""`kill -9` at random moments, then `--resume`: every test has one result in the end."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from kills import TESTS, log_of, run_to_the_end, run_until_killed

from harness.results.records import Word

XDIST = ("-p", "xdist.plugin", "-n", "2")


@pytest.mark.parametrize(
    "arguments", [(), pytest.param(XDIST, marks=pytest.mark.slow)], ids=["one process", "xdist"]
)
@pytest.mark.parametrize(
    ("kills", "count"),
    [(4, 60), pytest.param(100, 300, marks=pytest.mark.slow)],
    ids=["four kills", "a hundred kills"],
)
def test_every_test_has_one_result_however_often_the_run_is_killed(
    tmp_path: Path, arguments: tuple[str, ...], kills: int, count: int
) -> None:
    (tmp_path / "test_many.py").write_text(TESTS.format(count=count))
    draw = random.Random(f"{arguments} {kills}")
    killed = sum(run_until_killed(tmp_path, draw, *arguments) for _ in range(kills))
    assert run_to_the_end(tmp_path, *arguments) == pytest.ExitCode.TESTS_FAILED
    log = log_of(tmp_path / "r.jsonl")
    lines = Counter(result.id for session in log.sessions for result in session.results)
    assert lines == {f"test_many.py::test_one[{n}]": 1 for n in range(count)}
    assert log.ended
    assert len([session for session in log.sessions if session.end is None]) >= min(killed, 1)
    words = Counter(result.outcome for result in log.results.values())
    assert words[Word.FAILED] + words[Word.PASSED] + words[Word.CRASHED] == count
    for result in log.results.values():  # what ran to its end is told as it was
        number = int(result.id.partition("[")[2][:-1])
        assert result.outcome in (Word.CRASHED, Word.FAILED if number % 50 == 7 else Word.PASSED)
