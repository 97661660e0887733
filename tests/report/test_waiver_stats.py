"""`harness waives stats`: ages from git, groups, what ends, the trend, and what it does without a history."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from reading import Reading

from harness.cli._waives_stats import stats

FIRST = "a.py::one SKIP (https://nvbugs/1; owner=serving; until=2026-05-01)\n"
SECOND = "full:H100/a.py::two SKIP (https://nvbugs/1; owner=serving; until=2026-06-20)\n"
THIRD = "full:H100/b.py XFAIL (https://nvbugs/2)\n"


class Repository:
    """A git repository whose commits have the days that they are given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q")

    def git(self, *arguments: str, day: str = "2026-01-01") -> None:
        clock = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
        names = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        who = ["-c", 'user.name=Ada "A" & B', "-c", "user.email=a@b"]
        command = ["git", "-C", str(self.folder), *who, *arguments]
        subprocess.run(command, check=True, env={**os.environ, **clock, **names}, capture_output=True)

    def commit(self, day: str, text: str, name: str = "waives.txt") -> None:
        (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "waivers", day=day)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    made = Repository(tmp_path)
    made.commit("2026-01-01", FIRST)
    made.commit("2026-02-01", FIRST + SECOND)
    made.commit("2026-03-01", FIRST + SECOND + THIRD)
    return made


def counted(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(stats, ["waives.txt", "--today", "2026-06-01", "--format", "json", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def ages(found: dict[str, Any]) -> list[int | None]:
    return [waiver["age"] for waiver in found["waivers"]]


@pytest.mark.usefixtures("repository")
def test_a_waiver_is_as_old_as_its_line() -> None:
    found = counted()
    assert ages(found) == [151, 120, 92]
    assert (found["median_age"], found["oldest_age"]) == (120, 151)
    assert found["waivers"][0]["since"] == "2026-01-01"


def test_a_line_that_moves_keeps_its_age_and_one_that_is_not_committed_has_none(repository: Repository) -> None:
    repository.commit("2026-04-01", THIRD + FIRST + SECOND)
    (repository.folder / "waives.txt").write_text("c.py SKIP\n" + THIRD + FIRST + SECOND)
    found = counted()
    assert ages(found)[0] is None
    assert ages(found)[2:] == [151, 120]


@pytest.mark.usefixtures("repository")
def test_waivers_are_counted_by_bug_gpu_and_owner() -> None:
    groups = {
        kind: {g["name"]: (g["waivers"], g["oldest"], g["expired"]) for g in found}
        for kind, found in counted()["groups"].items()
    }
    assert groups == {
        "bug": {"https://nvbugs/1": (2, 151, 1), "https://nvbugs/2": (1, 92, 0)},
        "gpu": {"H100": (2, 120, 0), "everywhere": (1, 151, 1)},
        "owner": {"serving": (2, 151, 1), "nobody": (1, 92, 0)},
    }


@pytest.mark.parametrize(
    ("today", "soon", "states"),
    [
        ("2026-05-01", "30", ["expiring", "dated", "undated"]),  # the last day still holds
        ("2026-05-02", "30", ["expired", "dated", "undated"]),
        ("2026-05-21", "30", ["expired", "expiring", "undated"]),
        ("2026-05-20", "30", ["expired", "dated", "undated"]),
        ("2026-05-20", "31", ["expired", "expiring", "undated"]),
    ],
)
@pytest.mark.usefixtures("repository")
def test_until_is_the_last_day_and_soon_is_counted_in_days(today: str, soon: str, states: list[str]) -> None:
    assert [w["state"] for w in counted("--today", today, "--soon", soon)["waivers"]] == states


def test_the_trend_follows_the_file_through_renames_and_removals(repository: Repository) -> None:
    repository.git("mv", "waives.txt", "list.txt")
    repository.git("commit", "-q", "-m", "renamed", day="2026-04-01")
    repository.git("mv", "list.txt", "waives.txt")
    repository.commit("2026-05-01", FIRST + SECOND)
    trend = [(point["day"], point["waivers"]) for point in counted()["trend"]]
    assert trend == [("2026-01-01", 1), ("2026-02-01", 2), ("2026-03-01", 3), ("2026-04-01", 3), ("2026-05-01", 2)]


def test_a_long_history_is_read_in_a_bounded_number_of_points(repository: Repository) -> None:
    commits = "".join(
        f"commit refs/heads/long\ncommitter A <a@b> {1700000000 + n} +0000\ndata 1\nx\n"
        f"M 100644 inline waives.txt\ndata <<END\na.py::t SKIP\nb.py::t{n} SKIP\nEND\n\n"
        for n in range(300)
    )
    subprocess.run(["git", "fast-import", "--quiet"], input=commits.encode(), check=True, cwd=repository.folder)
    repository.git("checkout", "-q", "long")
    trend = counted()["trend"]
    assert len(trend) == 60
    assert {point["waivers"] for point in trend} == {2}


def test_the_yaml_form_counts_too(repository: Repository) -> None:
    text = "- test: a.py::one\n  marker: SKIP\n  bug: https://nvbugs/1\n"
    repository.commit("2026-02-01", text, "waives.yml")
    repository.commit("2026-05-01", text + "  owner: serving\n", "waives.yml")
    done = CliRunner().invoke(stats, ["waives.yml", "--today", "2026-06-01", "--format", "json"])
    found = json.loads(done.stdout)
    assert ages(found) == [120]  # a field that was added to it does not make it young
    assert [point["waivers"] for point in found["trend"]] == [1, 1]


def test_without_a_repository_all_but_ages_and_trend_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "waives.txt").write_text(FIRST + SECOND)
    found = counted()
    assert (found["count"], found["median_age"], found["trend"]) == (2, None, [])
    text = CliRunner().invoke(stats, ["waives.txt"]).output
    assert "ages: unknown, no line of the file is in a git history" in text


@pytest.mark.usefixtures("repository")
def test_variables_of_a_hook_do_not_lead_to_another_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert ages(counted()) == [151, 120, 92]


@pytest.mark.usefixtures("repository")
def test_the_terminal_says_the_same_in_eighty_columns() -> None:
    text = CliRunner().invoke(stats, ["waives.txt", "--today", "2026-06-01"]).output
    for told in (
        "waives.txt: 3 waivers, 1 expired, 1 expire within 30 days, 1 have no date",
        "ages: half are 120 days or older, the oldest is 151 days",
        "  https://nvbugs/1                                 2   151 d        1",
        "  2026-05-01 waives.txt:1 a.py::one (serving)",
        "  2026-06-20 waives.txt:2 full:H100/a.py::two (serving)",
        "trend  2026-01-01 1 ▃▆█ 3 2026-03-01",
    ):
        assert told in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.usefixtures("repository")
def test_the_page_has_numbers_trend_groups_and_what_ends(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    CliRunner().invoke(stats, ["waives.txt", "--today", "2026-06-01", "--html", str(page)])
    read = Reading(page.read_text())
    assert [item.text.split()[0] for item in read.all("li")] == ["3", "1", "1", "1", "120", "151"]
    (chart,) = read.all("svg")
    assert chart.attributes["aria-label"] == "From 1 waivers on 2026-01-01 to 3 on 2026-03-01, at most 3"
    assert any((cell.attributes.get("title") or "").startswith('Ada "A" & B ') for cell in read.all("td"))
    assert len(read.all("script")) == 1
