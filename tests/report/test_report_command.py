"""`harness report` and the pages of `repro` and `replay`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from reading import Reading
from sections import section

from harness.cli.replay import replay
from harness.cli.report import report
from harness.cli.repro import repro
from harness.codec import dumps
from harness.errors import UsageError
from harness.report.section import replay_command

ROOT = Path(__file__).parents[2]
NARROW = ["--worker", "dflash", "--first", "bucket", "--orders", "2,1", "--isolation", "none"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ran")
    files = ["--json", str(folder / "run.json"), "--html", str(folder / "run.html")]
    done = CliRunner().invoke(repro, ["6535874", "--fault", "capacity-from-bucket", *NARROW, *files])
    assert done.exit_code == 1, done.output
    return folder


def test_repro_writes_a_page_with_the_engine_left_alone_and_a_case_that_holds(ran: Path) -> None:
    read = Reading((ran / "run.html").read_text())
    text = read.all("main")[0].text
    assert "pool slots offers 2 rows for 3 seats" in text
    assert "NoFreeSlotError" in text
    assert "--regime production --first bucket --orders 2,1" in text
    assert [e.text for e in read.all("summary")][-2:] == [
        "How it looks where everything holds",
        "Words, and what was run",
    ]


def test_the_command_of_a_page_runs_the_very_case_again(ran: Path) -> None:
    data = json.loads((ran / "run.json").read_text())
    silent = [r["case"]["regime"] for r in data["results"] if r["left_alone"] and r["left_alone"]["quiet"]]
    assert "production" in silent
    again = ["--regime", "production", *NARROW, "--json", str(ran / "again.json")]
    CliRunner().invoke(repro, ["6535874", "--fault", "capacity-from-bucket", *again])
    (result,) = json.loads((ran / "again.json").read_text())["results"]
    (before,) = [r for r in data["results"] if r["case"]["regime"] == "production"]
    assert result["violations"] == before["violations"]


def test_a_command_quotes_what_a_shell_would_take_apart() -> None:
    given = section("#19320; rm -rf ~")
    odd = type(given)(**{**vars(given), "command": ("harness", "repro", "#19320; rm -rf ~")})
    assert replay_command(odd, given.results[0].case).startswith("harness repro '#19320; rm -rf ~' --worker")


def test_report_joins_results_of_several_runs(ran: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(dumps({"description": None, **vars(section("nvbugs/2", "sglang"))}))
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    done = CliRunner().invoke(
        report, [str(ran / "run.json"), str(other), "--html", str(page), "--svg", str(pictures)]
    )
    assert done.exit_code == 0, done.output
    read = Reading(page.read_text())
    assert [e.attributes["data-bug"] for e in read.all("article")] == ["nvbugs/6535874", "nvbugs/2"]
    assert "2-matrix.svg" in {path.name for path in pictures.iterdir()}
    assert "6535874-slots-silent.svg" in {path.name for path in pictures.iterdir()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[1]", "has no results"),
        ('{"results": []}', "top level: "),
        ('{"results": [{"bug": 1}]}', "results"),
    ],
)
def test_what_is_no_result_file_is_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "given.json"
    file.write_text(text)
    done = CliRunner().invoke(report, [str(file), "--html", str(tmp_path / "page.html")])
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
    assert "harness repro --json" in str(done.exception)


def test_a_comparison_has_no_page() -> None:
    done = CliRunner().invoke(repro, ["6535874", "--against", "other", "--html", "page.html"])
    assert isinstance(done.exception, UsageError)
    assert "--html" in str(done.exception)


@pytest.mark.parametrize(("fault", "code"), [([], 0), (["--fault", "stale-tail"], 1)])
def test_replay_writes_a_page_of_its_one_case(tmp_path: Path, fault: list[str], code: int) -> None:
    page = tmp_path / "page.html"
    file = ROOT / "docs" / "examples" / "three_requests.yml"
    done = CliRunner().invoke(replay, [str(file), *fault, "--isolation", "none", "--html", str(page)])
    assert done.exit_code == code
    text = Reading(page.read_text()).all("main")[0].text
    assert ("3 requests step, graph 4, 1 padding" in text) is True
    assert (f"harness replay {file} --fault stale-tail" in text) is bool(fault)
    assert "--worker" not in text


@pytest.fixture
def with_waivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.chdir(tmp_path)

    def write(line: str) -> None:
        (tmp_path / "test_lists").mkdir()
        (tmp_path / "test_lists" / "waives.txt").write_text(line + "\n")

    return write


def test_a_page_names_the_waiver_that_covers_a_failing_test(with_waivers: Callable[[str], None]) -> None:
    test = "repro_cases/test_reproducers.py::test_bug[nvbugs/6535874-dflash-production]"
    with_waivers(f"{test} SKIP (https://nvbugs/6535874)")
    CliRunner().invoke(
        repro,
        ["6535874", "--fault", "capacity-from-bucket", *NARROW, "--regime", "production", "--html", "page.html"],
    )
    text = Reading(Path("page.html").read_text()).all("main")[0].text
    assert f"Waived at test_lists/waives.txt:1: {test} SKIP" in text
