"""Benchmarks measure what they say: ratios, exponents, the same answers from both ways, a table that docs take."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import __main__ as command
from benchmarks import gpu, scans
from benchmarks.__main__ import END, PAGE, START
from benchmarks.figures import Figure, compared, exponent, grown, markdown, skipped
from benchmarks.timing import Spent, in_turn, processor_time_of

SIZES = (500, 1000, 2000, 4000)


@given(st.floats(0.1, 3), st.floats(1e-6, 10))
def test_the_exponent_is_that_of_the_law_that_the_seconds_follow(power: float, factor: float) -> None:
    assert exponent(SIZES, [factor * size**power for size in SIZES]) == pytest.approx(power)


def test_ratios_are_those_of_the_medians_beside_the_base_on_both_clocks() -> None:
    bare, slow = Figure("p", "bare", 2.0, 1.0), Figure("p", "slow", 6.0, 4.0, "bare", 3.0, 4.0)
    rounds = {"bare": [Spent(9, 9), Spent(2, 1), Spent(1, 0.5)], "slow": [Spent(6, 4)] * 3}
    assert compared("p", rounds, "bare") == [bare, slow]


def test_a_row_of_growth_has_the_largest_and_the_exponent_of_each_clock() -> None:
    figure = grown("growth", "rows", {size: [Spent(size, size**2)] for size in SIZES})
    assert (figure.clock, figure.cpu) == (4000, 16_000_000)
    assert "| rows: 500, 1,000, 2,000, 4,000 | 4000 s |" in markdown([figure])
    assert "| n^1.00 | n^2.00 | from 500 on |" in markdown([figure])


def test_what_was_not_run_says_why_in_its_row_and_a_part_is_named_once() -> None:
    table = markdown([Figure("a", "one", 0.0021, 3e-6), skipped("a", "nothing to run it on")])
    assert table.splitlines()[2:] == [
        "| a | one | 2.1 ms | 3 µs |  |  |  |",
        "|  | not run |  |  |  |  | nothing to run it on |",
    ]


def test_ways_take_turns_and_the_first_round_does_not_count() -> None:
    called: list[str] = []
    rounds = in_turn({name: lambda name=name: called.append(name) for name in "ab"}, 2)  # type: ignore[misc]
    assert called == list("ababab")
    assert {name: len(spent) for name, spent in rounds.items()} == {"a": 2, "b": 2}


def test_the_processor_time_of_a_process_is_read_by_its_id() -> None:
    program = (
        "import sys, time\nwhile time.process_time() < 0.2: pass\nprint('spent', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 0.2 <= processor_time_of(process.pid) < 5
        process.communicate()


def test_scans_and_harness_give_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("_IDS", 800), ("_WAIVERS", 60), ("_ENTRIES", 20), ("_WRONG", 2)):
        monkeypatch.setattr(scans, name, size)
    assert {figure.what for figure in scans.measure(1)} == {"harness", "a scan of all lines"}
    monkeypatch.setattr(scans, "_scan_names", lambda *_: [])
    with pytest.raises(RuntimeError, match="do not say the same"):
        scans.measure(1)


def test_without_a_gpu_its_row_says_so() -> None:
    if len(figures := gpu.measure(0)) > 1:
        pytest.skip("this machine has a CUDA device")
    assert figures[0].note.startswith("no CUDA device is visible to torch")


def test_the_command_writes_json_markdown_and_the_marked_part_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{START}\nan old table\n{END}\nafter\n")
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "_measured", lambda *_: [Figure("a part", "a way", 1.0, 0.5)])
    options = ["--docs", "--json", str(tmp_path / "f.json"), "--markdown", str(tmp_path / "f.md")]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *options])
    command.main()
    table = (tmp_path / "f.md").read_text()
    assert "| a part | a way | 1 s | 500 ms |" in table
    assert table in capsys.readouterr().out
    assert page.read_text() == f"before\n{START}\n\n{table}\n{END}\nafter\n"
    written = json.loads((tmp_path / "f.json").read_text())
    assert written["figures"][0]["cpu"] == 0.5
    assert {"processor", "cores", "Python"} <= set(written["machine"])


def test_a_page_without_a_place_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "performance.md").write_text("no table")
    monkeypatch.setattr(command, "PAGE", tmp_path / "performance.md")
    monkeypatch.setattr(command, "_measured", lambda *_: pytest.fail("measured"))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--docs"])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 2
    assert "has no place for the table" in capsys.readouterr().err


def test_the_page_has_one_place_for_the_table() -> None:
    text = Path(PAGE).read_text()
    assert text.count(START) == text.count(END) == 1
    assert text.index(START) < text.index("| part | what | clock |") < text.index(END)
