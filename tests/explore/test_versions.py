"""Released versions side by side: what a bug's cases came to on each, and why where one does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from harness.catalogue import find_bug, load_catalogue, load_reproducer
from harness.explore.versions import VersionCell, few_cases, render_versions, version_matrix
from harness.launch import Launcher, Run
from harness.scenario import Scenario
from harness.trace import Trace


class Faulty(Launcher):
    """A version of the embedded engine with a pool as large as the capture batch."""

    def run_all(self, runs: Iterable[Run]) -> Iterator[tuple[int, Trace]]:
        """Run each with the fault."""
        return super().run_all(replace(run, faults=("capacity-from-bucket",)) for run in runs)


def test_a_bug_is_told_on_the_version_that_has_it_and_not_on_the_other() -> None:
    reproducer = load_reproducer(find_bug("6535874"))
    cells = list(version_matrix([reproducer], {"1": Faulty, "2": Launcher}))
    assert [(cell.source, cell.holds) for cell in cells] == [("1", False), ("2", True)]
    assert "FAIL" in cells[0].word
    assert cells[0].why
    assert cells[1].why == ""


class Forgetful(Launcher):
    """A version that loses contexts computed elsewhere; `given` are the scenarios that it was given in one go."""

    given: list[list[Scenario]]

    def run_all(self, runs: Iterable[Run]) -> Iterator[tuple[int, Trace]]:
        """Run each with the fault."""
        listed = [replace(run, faults=("handover-forgotten",)) for run in runs]
        self.given.append([run.scenario for run in listed])
        return super().run_all(listed)


def test_bugs_are_run_in_one_go_and_what_they_share_once_and_each_is_told_its_own() -> None:
    Forgetful.given = []
    (handed_over,) = [entry.bug for entry in load_catalogue() if entry.fault == "handover-forgotten"]
    bugs = ["5485886", "5485886", handed_over]
    reproducers = [load_reproducer(find_bug(bug)) for bug in bugs]
    cells = list(version_matrix(reproducers, {"1": Forgetful}))
    assert [(cell.bug, cell.holds) for cell in cells] == [
        (reproducer.bug, bug != handed_over) for reproducer, bug in zip(reproducers, bugs, strict=True)
    ]
    first, *again = Forgetful.given
    references = [reproducer.reference(worker, few_cases(reproducer)) for reproducer in reproducers[1:]
                  for worker in reproducer.workers]  # fmt: skip
    assert first[: len(references)] == references
    assert len(first) == len(references) + sum(len(list(each.cases(few_cases(each)))) for each in reproducers)
    assert sum(map(len, again)) < len(first)


@pytest.mark.parametrize(
    ("words", "word", "holds"),
    [
        (("ok", "n/a"), "ok", True),
        (("n/a", "n/a"), "n/a", True),
        (("ok", "silent"), "silent", False),
        (("silent", "FAIL"), "FAIL", False),
    ],
)
def test_a_cell_says_the_worst_of_its_cases(words: tuple[str, ...], word: str, holds: bool) -> None:
    cell = VersionCell("a", "1", words)
    assert (cell.word, cell.holds) == (word, holds)


def test_the_table_counts_what_was_run_and_says_what_was_refused() -> None:
    cells = [
        VersionCell("bug", "1", ("ok", "n/a"), "no 'rebind' here"),
        VersionCell("bug", "2", ("ok", "ok")),
    ]
    told = render_versions(cells)
    assert told.splitlines()[1].split() == ["bug", "ok", "ok"]
    assert "bug on 1: no 'rebind' here" in told
    assert told.endswith("3 cases: every invariant holds; 1 unsupported\n")
    assert render_versions([replace(cells[1], words=("FAIL",))]).endswith("1 cases: 1 cells BROKEN\n")
