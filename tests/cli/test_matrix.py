"""`harness matrix`: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.matrix import matrix
from harness.codec import decode
from harness.errors import UsageError
from harness.explore import Row
from harness.explore.tables import END, START


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(matrix, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("matrix")
    (made / "page.md").write_text(f"before\n{START}\n{END}\nafter\n")
    return made


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    files = ("--json", str(folder / "matrix.json"), "--markdown", str(folder / "page.md"))
    return run("--fault", "dummy-climbs", "--ablate", *files)


def test_a_caught_fault_is_shown_with_oracle_scenario_and_operation(result: Result) -> None:
    assert "I-POS dummy-climbs (predicate) in #19320, dflash, operation 7, step()" in result.output
    assert "1 of 1 faults caught, healthy engine holds" in result.output


def test_an_oracle_that_no_fault_needs_fails_the_ablation(result: Result) -> None:
    assert re.search(r"^I-POS +dummy-climbs$", result.output, re.MULTILINE)
    assert re.search(r"^I-CAP +NOTHING", result.output, re.MULTILINE)
    assert result.exit_code == 1


@pytest.mark.usefixtures("result")
def test_rows_are_written_as_json_and_into_a_page(folder: Path) -> None:
    rows = decode(list[Row], json.loads((folder / "matrix.json").read_text())["rows"])
    assert [(row.fault, row.holds) for row in rows] == [("", True), ("dummy-climbs", True)]
    page = (folder / "page.md").read_text()
    assert "| `dummy-climbs` |" in page
    assert page.startswith("before\n")
    assert page.endswith("after\n")


def test_an_uncaught_fault_fails() -> None:
    result = run("--fault", "dummy-climbs", "--without", "I-POS")
    assert result.exit_code == 1
    assert "dummy-climbs: UNCAUGHT" in result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--fault", "none-such"), "--fault none-such: target embedded does not know it"),
        (("--without", "I-NONE"), "--without I-NONE: no such oracle; there are I-CAP, "),
        (("--markdown", "README.md"), "README.md: has no place for the table"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("-", r"\-")):
        run(*arguments)
