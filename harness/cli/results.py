"""`harness results`: merge the logs of shards, write JUnit, keep a history and ask it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli._lists_output import say
from harness.errors import ExitCode, Place, UsageError

if TYPE_CHECKING:
    from harness.results.history import History, Run
    from harness.results.log import Log

__all__ = ["results"]

_HISTORY = "results-history.sqlite"
_history_option = click.option(
    "--history", default=_HISTORY, show_default=True, metavar="FILE", help="The history, a SQLite file."
)
_logs_argument = click.argument("logs", nargs=-1, required=True, metavar="LOG...")


@click.group()
def results() -> None:
    """Read what `pytest --results LOG` wrote: merge shards, write JUnit, keep a history."""


@results.command()
@click.argument("log")
@click.argument("file")
def junit(log: str, file: str) -> int:
    """Write LOG as JUnit to FILE: what a run does itself at its end, and what a killed run could not.

    Exit code 0; 2 when a file cannot be read or written.
    """
    from harness.results.junit import write_junit

    read = _read(log)
    write_junit(Path(file), read.header, read.results.values(), _counts(read))
    if not read.ended:
        say(f"{log}: the run did not come to its end: {len(read.results)} results, {_running(read)}", err=True)
    return ExitCode.HOLDS


@results.command()
@_logs_argument
@click.option("--list", "list_file", required=True, metavar="FILE", help="The list that the shards share.")
@click.option("--context", metavar="C", help="The context of a YAML list. Default: that of the logs.")
@click.option("--match", metavar="FACTS", help="Facts as k=v,... or JSON. Default: those of the logs.")
@click.option("--out", required=True, metavar="FILE", help="The log to write; FILE with .xml is its JUnit.")
def merge(logs: tuple[str, ...], list_file: str, context: str | None, match: str | None, out: str) -> int:
    """Join the logs of all shards, and fail unless they are the list, each test once.

    Exit code 0; 1 when tests are missing, there twice or not of the list, each named; 2 for logs that are not of
    one run (other lists, durations files or commits) or cannot be read. OUT is written in every case but the last.
    """
    from harness.files import write_atomically
    from harness.results.junit import write_junit
    from harness.results.log import read_log
    from harness.results.merging import merge as joined
    from harness.results.records import to_line

    read = [_read(log) for log in logs]
    chosen = (context or read[0].header.context or None, match or read[0].header.match or None)
    merged = joined(read, lambda tests: _unlisted(tests, list_file, *chosen))
    write_atomically(Path(out), "".join(to_line(record).decode("ascii") for record in merged.records))
    log = read_log(Path(out))
    assert log is not None
    write_junit(Path(out).with_suffix(".xml"), log.header, log.results.values(), _counts(log))
    for finding in merged.findings:
        say(finding)
    say(f"{len(read)} logs, {len(log.results)} tests: {_told(log)}; {len(merged.findings)} findings")
    return ExitCode.VIOLATION if merged.findings else ExitCode.HOLDS


def _unlisted(tests: list[str], file: str, context: str | None, match: str | None) -> Iterator[str]:
    """Where the tests that have results are not those that a list names, a line each."""
    from harness.lists import detect_facts, match_entries, parse_facts, read_test_db, read_test_list, select

    path = Path(file)
    if path.suffix in (".yml", ".yaml"):
        facts = parse_facts(match) if match else detect_facts()
        entries = select(read_test_db(path), context or path.stem, facts).entries
    else:
        entries = read_test_list(path).entries
    named = match_entries(entries, tests)
    for selected in named:
        if not selected.ids:
            yield f"{selected.entry.place}: {selected.entry.test.text} has no result"
    known = {test for selected in named for test in selected.ids}
    for test in dict.fromkeys(tests):
        if test not in known:
            yield f"{test} has a result, and {file} does not name it"


@results.command()
@_logs_argument
@_history_option
def add(logs: tuple[str, ...], history: str) -> int:
    """Add runs to the history. A run that is there is not added again; what it has gained since is.

    Exit code 0; 2 when a file cannot be used.
    """
    from harness.results.history import History

    read = [_read(log) for log in logs]
    file = History(Path(history), create=True)
    for log in read:
        what = f"{len(log.results)} tests" if file.add(log) else "nothing new"
        say(f"{log.path}: {what}")
    return ExitCode.HOLDS


@results.command()
@click.argument("test", required=False)
@_history_option
@click.option("--log", metavar="LOG", help="Show the run of this log in place of the history's newest.")
def show(test: str | None, history: str, log: str | None) -> int:
    """Show the newest run with its failures grouped, or how TEST ended in every run.

    Exit code 0; 2 when a file cannot be used or no run has the test.
    """
    from harness.results.history import History, Run

    if log is not None:
        read = _read(log)
        final = read.results
        chosen = {test: final[test]} if test in final else {} if test else final
        if test and not chosen:
            raise UsageError(f"no result of {test}{_near(test, list(final))}", Place(log))
        _show_run(Run(read.header, tuple(chosen.values())))
        return ExitCode.HOLDS
    file = History(Path(history))
    if test:
        _show_test(file, test)
    elif newest := file.newest():
        _show_run(newest)
    return ExitCode.HOLDS


@results.command()
@_history_option
@click.option("--at-least", default=2, show_default=True, metavar="N", help="Leave out tests that ran less often.")
def flaky(history: str, at_least: int) -> int:
    """List tests that both passed and failed on one commit in one configuration.

    With each: how often it fails, and how many runs in a row must pass before the chance that it would have
    passed them all by luck is at most 1 %. Exit code 0; 2 when the history cannot be used.
    """
    from harness.lists.edits.evidence import clean_runs_needed
    from harness.results.history import History

    for one in History(Path(history)).flaky():
        runs = one.failed + one.passed
        if runs >= at_least:
            needed = clean_runs_needed(one.rate)
            say(f"{one.test}: {one.failed} of {runs} failed ({one.rate:.0%}); {needed} clean runs clear it")
    return ExitCode.HOLDS


@results.command()
@_history_option
@click.option("--stage", default="", metavar="S", help="Of this stage's runs only. Default: all.")
@click.option("--out", required=True, metavar="FILE", help="The durations file to write.")
def durations(history: str, stage: str, out: str) -> int:
    """Write the durations file that `pytest --shard I/N --durations-file FILE` plans with.

    A test's duration is the median of its last 25 runs, so that one run under contention does not move it. Pin the
    file: all shards of a run must plan with the same one. Exit code 0; 2 when a file cannot be used.
    """
    from harness.results.durations import write_durations
    from harness.results.history import History

    found = History(Path(history)).durations(stage)
    write_durations(Path(out), found)
    say(f"{out}: {len(found)} tests, {sum(found.values()):.1f} s")
    return ExitCode.HOLDS


def _read(file: str) -> Log:
    from harness.results.log import read_log

    path = Path(file)
    log = read_log(path)
    if log is None:
        what = "has no header yet" if path.exists() else "is not there"
        raise UsageError(f"{what}; give a log that `pytest --results` wrote", Place(file))
    return log


def _running(log: Log) -> str:
    running = [name for name in log.sessions[-1].running if name not in log.results]
    return f"{', '.join(running)} was running" if running else "nothing was running"


def _counts(log: Log) -> dict[str, int]:
    from harness.results.summary import count_words

    return count_words(log.results.values(), log.deselected)


def _told(log: Log) -> str:
    return ", ".join(f"{count} {word}" for word, count in _counts(log).items()) or "no tests"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def _about(run: Run) -> str:
    header = run.header
    known = (header.stage, header.machine, header.commit[:12], header.config, header.run[:8])
    return " ".join(filter(None, (_when(header.at), *known)))


def _show_run(run: Run) -> None:
    from harness.results.summary import count_words, summarize

    say(_about(run))
    say(", ".join(f"{count} {word}" for word, count in count_words(run.results).items()) or "no tests")
    for line in summarize(run.results):
        say(line)


def _show_test(history: History, test: str) -> None:
    runs = history.runs_of(test)
    if not runs:
        raise UsageError(f"no run has {test}{_near(test, history.tests())}")
    for run in runs:
        (result,) = run.results
        say(f"{result.outcome.value:8} {result.duration:8.3f} s  {_about(run)}  {result.message}".rstrip())


def _near(test: str, tests: list[str]) -> str:
    from difflib import get_close_matches  # paid for only when something is wrong

    close = get_close_matches(test, tests, n=1)
    return f"; did you mean {close[0]}?" if close else ""
