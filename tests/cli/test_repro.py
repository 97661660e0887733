"""`harness repro 6535874`: every cell of the matrix, with the fault and without."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.repro import bugs, repro
from harness.codec import decode
from harness.errors import HarnessError, UsageError
from harness.orders import DEFAULT_BUCKETS, REGIMES, all_orders, parse_orders
from harness.scenario import WORKERS
from harness.verdicts import FIRST_DRAFTERS, CaseResult

Invoke = Callable[..., Result]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Result, list[CaseResult]]]:
    file = tmp_path_factory.mktemp("repro") / "results.json"

    def invoke(*arguments: str) -> tuple[Result, list[CaseResult]]:
        result = CliRunner().invoke(repro, ["6535874", "--json", str(file), *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result, decode(list[CaseResult], json.loads(file.read_text())["results"])

    return invoke


SAMPLE = 4


@pytest.fixture(scope="module", params=[f"sample:{SAMPLE}", pytest.param("all", marks=pytest.mark.slow)])
def orders(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def faulty(run: Callable[..., tuple[Result, list[CaseResult]]], orders: str) -> tuple[Result, list[CaseResult]]:
    return run("--fault", "capacity-from-bucket", "--orders", orders)


def expected_word(regime: str, first: str, order: tuple[int, ...]) -> str:
    """Say what a cell must show: the fault is there when what drafts first is told of fewer rows than seats."""
    largest = max(DEFAULT_BUCKETS)
    seats = {"exact": largest, "production": largest + 1, "headroom": largest + 2, "unset": largest}[regime]
    eager = {"exact": largest, "production": largest + 1, "headroom": largest, "unset": largest}[regime]
    told = eager if first == "eager" else order[0]
    if told >= seats:
        return "ok"
    return "silent" if told == largest else "FAIL"


def test_the_matrix_has_16_cells_an_order(faulty: tuple[Result, list[CaseResult]], orders: str) -> None:
    """That the healthy engine holds in all of them is in the README, and so what the docs' slow tests run."""
    cases = [result.case for result in faulty[1] if result.case.regime in REGIMES]
    cells = 384 if orders == "all" else 16 * SAMPLE
    assert len({(case.worker, case.first, case.regime, case.order) for case in cases}) == len(cases) == cells


def test_the_readme_shows_its_last_line(faulty: tuple[Result, list[CaseResult]], orders: str) -> None:
    if orders != "all":
        cases = len(faulty[1])
        assert re.search(rf"^{cases} cases on cpu .* silent, \d+ FAIL\.$", faulty[0].output.splitlines()[-1])
        return
    readme = (Path(__file__).parents[2] / "README.md").read_text().splitlines()
    shown = readme.index("$ harness repro 6535874 --fault capacity-from-bucket    # exit 1")
    assert faulty[0].output.splitlines()[-1] == readme[shown + 1]


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("first", FIRST_DRAFTERS)
@pytest.mark.parametrize("worker", WORKERS)
def test_the_fault_shows_in_exactly_the_cells_where_the_first_drafter_is_too_narrow(
    faulty: tuple[Result, list[CaseResult]], orders: str, worker: str, first: str, regime: str
) -> None:
    cells = {
        case.case.order: case.word
        for case in faulty[1]
        if (case.case.worker, case.case.first, case.case.regime) == (worker, first, regime)
    }
    wanted = parse_orders(orders, DEFAULT_BUCKETS)
    assert cells == {order: expected_word(regime, first, order) for order in wanted}


def test_the_fault_table_in_words() -> None:
    """The same table as the rule above, written out, so that a wrong rule cannot agree with a wrong engine."""
    orders = all_orders(DEFAULT_BUCKETS)
    shows = {
        (first, regime): [order for order in orders if expected_word(regime, first, order) != "ok"]
        for first in FIRST_DRAFTERS
        for regime in REGIMES
    }
    not_largest_first = [order for order in orders if order[0] != 5]
    assert shows == {
        ("eager", "exact"): [],
        ("eager", "production"): [],
        ("eager", "headroom"): list(orders),
        ("eager", "unset"): [],
        ("bucket", "exact"): not_largest_first,
        ("bucket", "production"): list(orders),
        ("bucket", "headroom"): list(orders),
        ("bucket", "unset"): not_largest_first,
    }
    assert expected_word("production", "bucket", (5, 4, 2, 1)) == "silent"


def test_nothing_is_raised_in_the_silent_regime_until_a_request_more_than_any_graph_holds(
    faulty: tuple[Result, list[CaseResult]],
) -> None:
    silent = [case for case in faulty[1] if case.silent and case.case.regime == "production"]
    assert silent
    for case in silent:
        assert case.left_alone is not None
        assert case.left_alone.live >= max(case.case.scenario.config.buckets)


def test_a_failing_run_exits_1_and_tells_which_cells_fail_and_why(faulty: tuple[Result, list[CaseResult]]) -> None:
    result, _ = faulty
    assert result.exit_code == 1
    for text in (
        "silent      an invariant is broken, and left alone the engine raises nothing",
        "I-CAP:capacity:slots: ",
        "seen again in a fresh process",
        "expected 7, seen 5",
        "Why: The worker sizes its per-slot buffers, once, from max_num_requests",
    ):
        assert text in result.output
    assert all(len(line) <= 80 for line in result.output.splitlines())


def test_a_violation_names_buffer_operation_orders_expected_and_seen(
    faulty: tuple[Result, list[CaseResult]],
) -> None:
    by_rule: dict[str, Any] = {v.rule: v for case in faulty[1] for v in case.violations}
    rows = by_rule["rows"]
    assert rows.buffer.startswith("worker.")
    assert rows.operation >= 0
    assert rows.orders.startswith("captured ")
    assert int(rows.seen) < int(rows.expected)


def test_four_seats_and_batches_of_one_give_five_rows_a_map_of_four_and_dummy_four(
    faulty: tuple[Result, list[CaseResult]], run: Callable[..., tuple[Result, list[CaseResult]]]
) -> None:
    narrow = [case for case in faulty[1] if case.case.regime == "narrow"]
    assert {case.word for case in narrow} <= {"FAIL", "silent"}
    seen = {v.buffer: (v.expected, v.seen) for case in narrow for v in case.violations if v.rule == "rows"}
    assert seen["worker.context"] == ("5", "2")
    assert seen["worker.batch_to_slot"] == ("4", "1")
    _, healthy = run("--regime", "narrow")
    assert {case.word for case in healthy} == {"ok"}


def test_options_narrow_the_run(run: Callable[..., tuple[Result, list[CaseResult]]]) -> None:
    options = ("--worker", "dspark", "--regime", "exact", "--first", "bucket", "--orders", "3,1")
    result, cases = run(*options)
    assert result.exit_code == 0
    (case,) = cases
    assert (case.case.worker, case.case.regime, case.case.first) == ("dspark", "exact", "bucket")
    assert case.case.scenario.config.buckets == (1, 3)


def test_markdown_holds_the_same_tables(tmp_path: Path) -> None:
    file = tmp_path / "table.md"
    arguments = ["6535874", "--orders", "2,1", "--worker", "dflash", "--markdown", str(file)]
    assert CliRunner().invoke(repro, arguments).exit_code == 0
    assert "| 2>1 | ok | ok | ok | ok | ok | ok | ok | ok |" in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["6535875"], "unknown bug '6535875'; nearest: nvbugs/6535874"),
        (["6535874", "--orders", "4,x"], "--orders 4,x: expected 'all', 'sample:N'"),
        (["6535874", "--orders", "2,2"], "--orders 2,2: buckets are different numbers"),
        (["6535874", "--regime", "loose"], "--regime loose: nvbugs/6535874 has exact, production"),
        (["6535874", "--target", "elsewhere"], "--target elsewhere: unknown"),
        (["6535874", "--device", "tpu"], "--device tpu: expected cpu, cuda or cuda:N"),
        (["6535874", "--device", "cuda", "--isolation", "fork"], "--isolation fork: a fork cannot use CUDA"),
        (["6535874", "--fault", "gremlins"], "--fault gremlins: target embedded does not know it"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_that_says_what_can(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(repro, arguments)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


def test_a_device_that_is_not_there_is_no_verdict() -> None:
    result = CliRunner().invoke(repro, ["6535874", "--device", "cuda", "--orders", "2,1"])
    if not isinstance(result.exception, HarnessError):
        pytest.skip("this machine has a CUDA device")
    assert result.exception.exit_code == 3
    assert "no CUDA device is visible" in str(result.exception)


@pytest.mark.parametrize("name", ["6535874", "nvbugs/6535874", "#17154", "https://nvbugs/6535874"])
def test_a_bug_has_many_names(name: str) -> None:
    result = CliRunner().invoke(bugs, [name])
    assert result.exit_code == 0
    assert "K01" in result.output
