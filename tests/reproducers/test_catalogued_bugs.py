"""Every catalogued bug: silent on a right engine, seen with its fault, and told by an oracle of its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.catalogue import CatalogueEntry, find_bug, load_catalogue, load_reproducer
from harness.cli.repro import bugs, repro
from harness.errors import ExitCode, UsageError
from harness.explore.versions import few_cases
from harness.faults import FAULTS
from harness.invariants.table import ENTRIES
from harness.launch import Launcher
from harness.legality import check
from harness.orders import DEFAULT_BUCKETS
from harness.reproduce import Parameters, reproduce
from harness.trace import Outcome
from harness.verdicts import Case, CaseResult, exit_code

ALL = load_catalogue()
BUGS = [entry for entry in ALL if entry.bug != "nvbugs/6535874"]  # that one has tests of its own
NAMES = [entry.bug for entry in BUGS]
ROOT = Path(__file__).parents[2]
SEEDED = ROOT / "docs" / "invariants.md"

# What tells each bug first, in any order of buckets.
FIRST_SEEN = {
    "nvbugs/6451032": {"I-SCRATCH:padding-on-seat:worker.batch_to_slot"},
    "#16767": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
    "#17619": {"I-POS:position", "I-SEEDED:unwritten"},  # DFlash, DSpark
    "#18343": {"I-LOUD:swallowed:slots"},
    "#19320": {"I-POS:dummy-climbs:slots"},
    "#19466": {"I-POS:position"},
    "#15808": {"I-POS:position"},
    "#19040": {"R-ALONE:drafts"},
    "#16888": {"I-POS:position"},
    "#15775": {"R-ALONE:drafts", "R-ALONE:tokens"},
    "observed/warmup-slots": {"I-CONSERVE:leak:slots"},
    "observed/absent-request": {"I-POS:position"},
    "observed/reused-id": {"I-SEEDED:unwritten", "I-POS:position"},  # DFlash, DSpark
    "observed/first-generation-forward": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
    "observed/manager-replaced": {"I-SEEDED:not-its-row:worker.batch_to_slot"},
    "vllm#50065": {"I-CAP:rows:worker.batch_to_slot"},
    "vllm#51256": {"I-BUDGET:overrun:tokens"},
    "sglang#36093": {"I-GEN:generation:seats"},
    "vllm-ascend#16712": {"R-ALONE:drafts"},
    "tokenspeed#263": {"I-POS:position"},
    "#12588": {"R-ALONE:drafts"},
    "nvbugs/6427240": {"I-BUDGET:overrun:tokens"},
    "nvbugs/6625851": {"I-ROLLBACK:unverified"},
    "nvbugs/5821053": {"I-SEEDED:unwritten"},
    "nvbugs/5485886": {"I-SEEDED:unwritten"},
    "nvbugs/5480289": {"I-CONSERVE:leak:slots"},
    "#16072": {"I-LOUD:eager:graphs"},
    "#7100": {"I-SCRATCH:canary:worker.context"},
    "#17492": {"I-FIELD:copy:request_ids"},
    "#13151": {"I-SCRATCH:padding-aliases:inputs.seats", "I-SCRATCH:padding-on-seat:inputs.seats"},
    "nvbugs/5245262": {"I-CONSERVE:lost:slots"},
    "#13179": {"I-CAP:capacity:seats"},
    "nvbugs/5394392": {"I-SCRATCH:padding-aliases:worker.batch_to_slot"},
    "#18115": {"I-CONSERVE:leak:slots"},
    "#16319": {"I-POS:position"},
    "sglang#26292": {"I-SCRATCH:padding-aliases:inputs.seats"},
    "sglang#16974": {"I-FIELD:copy:num_tokens"},
    "vllm#53051": {"I-POS:position"},
    "vllm#30916": {"R-ALONE:drafts"},
    "vllm-ascend#13863": {"R-ALONE:drafts"},
}
# Bugs whose seeded fault an oracle of another kind tells, and that oracle.
TOLD_BY_ANOTHER_KIND = {
    "#16888": "I-POS",  # the hole is a context that is too short
    "observed/absent-request": "I-POS",  # so is the context that was lost
    "observed/reused-id": "I-SEEDED",  # and one that was somebody else's was never written for its request
    "vllm#53051": "I-POS",  # nothing was stored, so the context is too short
}


def _results(entry: CatalogueEntry, parameters: Parameters, launcher: Launcher, *faults: str) -> list[CaseResult]:
    return reproduce(load_reproducer(entry), parameters, launcher, faults)


def _few(entry: CatalogueEntry, launcher: Launcher, *faults: str) -> list[CaseResult]:
    return _results(entry, few_cases(load_reproducer(entry)), launcher, *faults)


def _assert_holds(entry: CatalogueEntry, results: Sequence[CaseResult]) -> None:
    assert {result.case.worker for result in results} == set(load_reproducer(entry).workers)
    assert [result for result in results if not result.holds] == []
    assert exit_code({result.outcome for result in results}) is ExitCode.HOLDS


def _assert_breaks(entry: CatalogueEntry, results: Sequence[CaseResult]) -> None:
    assert results
    assert {result.outcome for result in results} == {Outcome.VIOLATION}
    assert {result.signature for result in results} <= FIRST_SEEN[entry.bug]
    assert all(result.confirmed for result in results)
    assert exit_code({result.outcome for result in results}) is ExitCode.VIOLATION


@pytest.mark.parametrize("entry", BUGS, ids=NAMES)
def test_a_right_engine_holds_and_the_fault_is_seen_and_seen_again_in_a_fresh_process(
    launcher: Launcher, entry: CatalogueEntry
) -> None:
    _assert_holds(entry, _few(entry, launcher))
    _assert_breaks(entry, _few(entry, launcher, entry.fault))


@pytest.mark.slow
@pytest.mark.parametrize("entry", BUGS, ids=NAMES)
def test_so_it_is_in_all_cases_and_where_a_bug_hangs_on_the_first_drafter_in_those_alone(
    launcher: Launcher, entry: CatalogueEntry
) -> None:
    _assert_holds(entry, _results(entry, Parameters(), launcher))
    results = _results(entry, Parameters(), launcher, entry.fault)
    _assert_breaks(entry, [result for result in results if _shows(entry.bug, result.case)])
    assert all(result.holds for result in results if not _shows(entry.bug, result.case))


def _shows(bug: str, case: Case) -> bool:
    """Whether a bug is there in a case: two of them need something small to draft first."""
    if bug == "vllm#50065":
        return case.first == "bucket"
    if bug == "#16319":
        return case.first == "bucket" and case.order[0] < max(DEFAULT_BUCKETS)
    return True


@pytest.mark.parametrize("entry", ALL, ids=[entry.bug for entry in ALL])
def test_an_oracle_of_its_kind_is_among_those_that_see_a_bug(entry: CatalogueEntry) -> None:
    """What the docs' table says, which the matrix makes and the slow tests compare with what it makes now."""
    (row,) = re.findall(rf"^\| {entry.kind} \| `{entry.fault}` \|.*$", SEEDED.read_text(), re.MULTILINE)
    seen = set(re.findall(r"\b[IRO]-[A-Z]+\b", row))
    of_its_kind = {each.name for each in ENTRIES if entry.kind in each.kinds}
    other = TOLD_BY_ANOTHER_KIND.get(entry.bug)
    assert (other in seen and not seen & of_its_kind) if other else seen & of_its_kind


def test_every_kind_of_fault_is_in_the_catalogue() -> None:
    assert {entry.kind for entry in ALL} == {fault.kind for fault in FAULTS.values()}
    assert len({entry.kind for entry in ALL}) == 16


@pytest.mark.parametrize("entry", ALL, ids=[entry.bug for entry in ALL])
def test_an_entry_names_a_fault_modelled_on_that_very_bug_and_scenarios_that_are_legal(
    entry: CatalogueEntry,
) -> None:
    fault = FAULTS[entry.fault]
    assert fault.kind == entry.kind
    assert fault.modelled_on.startswith("observed") or _number(fault.modelled_on) == _number(entry.bug)
    reproducer = load_reproducer(entry)
    assert reproducer.bug == entry.bug
    assert re.findall(r"\.(?!\w)", entry.mechanism) == ["."]  # one sentence
    assert entry.url.startswith("https://github.com/")
    for case in reproducer.cases(Parameters(regimes=reproducer.regimes)):
        check(case.scenario)


def _number(text: str) -> str:
    return str(re.findall(r"\d+", text)[-1])


@pytest.mark.parametrize("entry", ALL, ids=[entry.bug for entry in ALL])
def test_a_reproducer_reads_in_under_forty_lines(entry: CatalogueEntry) -> None:
    source = ROOT / "repro_cases" / f"{entry.module}.py"
    assert len(source.read_text().splitlines()) < 40 or entry.bug == "nvbugs/6535874"  # which sweeps all orders


def test_a_replaced_manager_is_also_seen_in_the_graphs_that_read_old_tensors(launcher: Launcher) -> None:
    entry = find_bug("observed/manager-replaced")
    seen = {v.signature for result in _few(entry, launcher, entry.fault) for v in result.violations}
    assert "I-BAKED:moved:worker.context" in seen


def test_padding_on_slot_zero_costs_the_owner_its_drafts_though_nothing_is_raised(launcher: Launcher) -> None:
    entry = find_bug("nvbugs/6451032")
    for result in _few(entry, launcher, entry.fault):
        assert result.left_alone is not None
        assert result.left_alone.raised == ""


def test_a_request_alone_comes_whole_so_that_chunks_which_differ_show(launcher: Launcher) -> None:
    """What a prompt in chunks is compared with is not in the same chunks: it would have the same fault."""
    results = _few(find_bug("#15808"), launcher, "keys-from-chunk-start")
    assert "R-ALONE:drafts" in {result.signature for result in results}  # where another position changes a draft


def test_every_name_number_and_address_of_a_bug_finds_that_bug_alone() -> None:
    for entry in ALL:
        addresses = [] if entry.bug.startswith("observed/") else [entry.url]
        for text in (entry.bug, entry.bug.upper(), *entry.also, *addresses):
            assert find_bug(text) is entry


def test_a_bug_of_one_worker_is_not_run_on_the_other() -> None:
    entry = find_bug("nvbugs/6625851")
    assert {case.worker for case in load_reproducer(entry).cases(Parameters(regimes=("exact",)))} == {"dspark"}
    with pytest.raises(UsageError, match="--worker dflash: nvbugs/6625851 is a bug of dspark alone"):
        repro.main(["nvbugs/6625851", "--worker", "dflash"], standalone_mode=False)


def test_the_list_of_bugs_fits_eighty_columns_and_names_every_bug(capsys: pytest.CaptureFixture[str]) -> None:
    bugs.main([], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [entry.bug for entry in ALL]


def test_the_page_on_writing_a_reproducer_shows_its_example_as_it_is() -> None:
    page = (ROOT / "docs" / "writing-a-reproducer.md").read_text()
    for name in ("vllm_43810.py", "vllm_43810.yml"):
        assert (ROOT / "docs" / "examples" / name).read_text().strip() in page
