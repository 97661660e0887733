"""`harness waives prune`: what counts as evidence, how much is needed, and the patch that follows from it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from edit_runner import Done, run
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.lists.edits.evidence import clean_runs_needed
from harness.lists.edits.junit import read_junit

WAIVES = b"""\
# flaky since May
accuracy/test_x.py::TestA::test_t[a.b-c] SKIP (https://nvbugs/1)\r
accuracy/test_y.py SKIP (https://nvbugs/2) # whole file
full:H100/accuracy/test_z.py::test_t SKIP (https://nvbugs/3)
unittest/m/test_u.py -k "one" SKIP (https://nvbugs/4)"""
X = ("accuracy.test_x.TestA", "test_t[a.b-c]")

Case = tuple[str, str, str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test_lists").mkdir()
    (tmp_path / "test_lists" / "waives.txt").write_bytes(WAIVES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def suite(name: str, classname: str, test: str, inner: str = "", runs: int = 1, properties: str = "") -> str:
    case = f"<testcase classname={quoteattr(classname)} name={quoteattr(test)} time='1.0'>{inner}</testcase>"
    return f"<testsuite name={quoteattr(name)}>{properties}{case * runs}</testsuite>"


def junit(folder: Path, *suites: str, name: str = "junit.xml") -> str:
    (folder / name).write_text(f"<?xml version='1.0'?><testsuites>{''.join(suites)}</testsuites>")
    return name


def prune(*arguments: str) -> Done:
    done = run("prune", *arguments)
    assert "Traceback" not in done.err
    return done


def rewritten(folder: Path, *arguments: str) -> bytes:
    assert prune(*arguments, "--write").code == 0
    return (folder / "test_lists" / "waives.txt").read_bytes()


FAILURE, SKIPPED = "<failure message='boom'>x</failure>", "<skipped type='pytest.skip' message='nvbugs/1'/>"


# --- how much is needed -----------------------------------------------------------------------------------


def test_the_clean_runs_needed_are_those_of_the_statistics() -> None:
    assert [clean_runs_needed(rate) for rate in (0.1, 0.05, 0.01)] == [44, 90, 459]


@given(st.floats(0.001, 0.999))
def test_after_the_clean_runs_needed_the_risk_is_at_most_one_percent_and_one_run_fewer_is_not_enough(
    p: float,
) -> None:
    needed = clean_runs_needed(p)
    assert (1 - p) ** needed <= 0.01 + 1e-9
    assert needed == 1 or (1 - p) ** (needed - 1) > 0.01 - 1e-9


def test_ninety_clean_runs_remove_a_waiver_and_eighty_nine_do_not(folder: Path) -> None:
    enough = prune("--results", junit(folder, suite("H100-PyTorch-1", *X, runs=90)))
    assert enough.code == 0
    assert "remove: test_lists/waives.txt:2: accuracy/test_x.py::TestA::test_t[a.b-c] SKIP" in enough.out
    assert "  passed wherever it ran\n  H100: 90 passed (90 needed), 0 failed, 0 skipped\n" in enough.out
    few = prune("--results", junit(folder, suite("H100-PyTorch-1", *X, runs=89)))
    assert "keep: test_lists/waives.txt:2: " in few.out
    assert "  too few clean runs in H100\n" in few.out
    assert "@@" not in few.out


def test_the_failure_rate_sets_how_many(folder: Path) -> None:
    file = junit(folder, suite("H100-PyTorch-1", *X, runs=44))
    assert "remove: " in prune("--results", file, "--failure-rate", "0.1").out
    assert "remove: " not in prune("--results", file, "--failure-rate", "0.01").out
    for rate in ("0", "1", "-1", "nan"):
        assert prune("--results", file, "--failure-rate", rate).code == 2


@pytest.mark.parametrize(
    "inner",
    [FAILURE, "<error message='x'/>", "<rerunFailure/>", "<skipped type='pytest.xfail' message='x'/>"],
)
def test_one_failure_keeps_a_waiver_however_often_it_passed(folder: Path, inner: str) -> None:
    file = junit(folder, suite("H100-A", *X, runs=500), suite("H100-B", *X, inner))
    done = prune("--results", file)
    assert "  fails in H100\n  H100: 500 passed (90 needed), 1 failed, 0 skipped\n" in done.out
    assert "@@" not in done.out


def test_a_skipped_test_is_no_evidence_nor_is_a_reused_result(folder: Path) -> None:
    reused = "<skipped message='Reused from previous pipeline'/>"
    file = junit(folder, suite("H100-A", *X, runs=89), suite("H100-A", *X, reused, runs=50))
    done = prune("--results", file)
    assert "H100: 89 passed (90 needed), 0 failed, 50 skipped" in done.out
    assert "remove: " not in done.out


def test_an_expected_failure_that_passes_strictly_is_a_clean_run(folder: Path) -> None:
    inner = "<failure message='[XPASS(strict)] https://nvbugs/1'/>"
    assert "remove: " in prune("--results", junit(folder, suite("H100-A", *X, inner, runs=90))).out


def test_a_run_that_two_files_tell_of_counts_once(folder: Path) -> None:
    def stamped(runs: int) -> str:
        case = "<testcase classname='accuracy.test_x.TestA' name='test_t[a.b-c]' time='{}'/>"
        cases = "".join(case.format(n) for n in range(runs))
        return f"<testsuite name='H100-A' timestamp='2026-11-01T00:00:00' hostname='h'>{cases}</testsuite>"

    first = junit(folder, stamped(50), name="a.xml")
    merged = junit(folder, stamped(50), suite("H100-B", *X), name="merged.xml")
    copy = junit(folder, stamped(50), name="copy.xml")
    assert "H100: 51 passed" in prune("--results", first, merged, copy).out


# --- which test, which place ------------------------------------------------------------------------------


def test_a_whole_file_is_clean_when_each_of_its_tests_is(folder: Path) -> None:
    tests = [
        suite("A10-X", "accuracy.test_y", "test_a", runs=90),
        suite("A10-X", "accuracy.test_y.TestB", "test_b"),
    ]
    done = prune("--results", junit(folder, *tests))
    assert "A10: 91 passed of 2 tests, fewest 1 (90 needed each), 0 failed, 0 skipped" in done.out
    assert "@@" not in done.out
    assert "remove: " in prune("--results", junit(folder, tests[0])).out


@pytest.mark.parametrize(
    "properties",
    [
        "<properties><property name='stage' value='H100-PyTorch-1'/></properties>",
        "<properties><property name='test_prefix' value='H100-PyTorch-1'/></properties>",
        "<properties><property name='gpu' value='H100'/></properties>",
    ],
)
def test_the_place_comes_from_the_properties_of_a_suite(folder: Path, properties: str) -> None:
    file = junit(folder, suite("pytest", "accuracy.test_z", "test_t", runs=90, properties=properties))
    assert "remove: test_lists/waives.txt:4: full:H100/accuracy/test_z.py::test_t" in prune("--results", file).out


def test_a_stage_in_front_of_the_class_name_is_the_place(folder: Path) -> None:
    file = junit(folder, suite("pytest", "H100-PyTorch-1.accuracy.test_z", "test_t", runs=90))
    assert "remove: test_lists/waives.txt:4: full:H100/" in prune("--results", file).out


@pytest.mark.parametrize("name", ["H100_PCIe-PyTorch-1", "B200-PyTorch-1", "pytest", "some tests"])
def test_a_waiver_with_a_prefix_has_no_evidence_from_another_place(folder: Path, name: str) -> None:
    done = prune("--results", junit(folder, suite(name, "accuracy.test_z", "test_t", runs=90)))
    assert done.out == "4 of 4 waivers: no evidence\n"


def test_a_waiver_with_arguments_has_evidence_only_from_its_own_entry(folder: Path) -> None:
    wrapped = 'test_unittests_v2[unittest/m/test_u.py -k "{}"]'
    other = [
        suite("H100-A", "test_unittests", wrapped.format("two"), runs=90),
        suite("H100-A", "unittest.m.test_u", "t"),
    ]
    assert prune("--results", junit(folder, *other)).out == "4 of 4 waivers: no evidence\n"
    own = suite("H100-A", "test_unittests", wrapped.format("one"), runs=90)
    assert "remove: test_lists/waives.txt:5: " in prune("--results", junit(folder, own)).out


def test_results_that_pytest_itself_wrote_are_understood(folder: Path) -> None:
    (folder / "accuracy").mkdir()
    (folder / "accuracy" / "test_x.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('p', ['a.b-c'])\nclass TestA:\n    def test_t(self, p): pass\n"
    )
    for family in ("xunit1", "xunit2"):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", f"junit_family={family}"]
        subprocess.run([*command, f"--junitxml={family}.xml", "accuracy"], capture_output=True, check=True)
    done = prune("--results", "xunit*.xml")
    assert "  unnamed stage: 2 passed (90 needed), 0 failed, 0 skipped\n3 of 4 waivers: no evidence\n" in done.out


# --- the patch --------------------------------------------------------------------------------------------


def test_the_patch_applies_with_git_and_write_does_the_same(folder: Path) -> None:
    file = junit(folder, suite("H100-A", *X, runs=90), suite("H100-A", "accuracy.test_z", "test_t", runs=90))
    patch = prune("--results", file).out
    assert (folder / "test_lists" / "waives.txt").read_bytes() == WAIVES
    before = WAIVES.splitlines(keepends=True)
    expected = before[2] + before[4]
    assert rewritten(folder, "--results", file) == expected
    (folder / "test_lists" / "waives.txt").write_bytes(WAIVES)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "apply"], input=patch.encode("utf-8", "surrogateescape"), check=True)
    assert (folder / "test_lists" / "waives.txt").read_bytes() == expected


def test_a_waiver_for_everywhere_is_narrowed_to_where_it_is_still_needed(folder: Path) -> None:
    fails, few = suite("B200-A", *X, FAILURE), suite("A10-A", *X, SKIPPED)
    file = junit(folder, suite("H100-A", *X, runs=90), fails, few)
    done = prune("--results", file)
    assert "narrow: test_lists/waives.txt:2: " in done.out
    assert "  clean in H100, still needed in A10, B200\n" in done.out
    lines = WAIVES.splitlines(keepends=True)
    assert rewritten(folder, "--results", file) == b"".join(
        [
            lines[2],
            b"# flaky since May\nfull:A10/" + lines[1].replace(b"\r", b""),
            b"full:B200/" + lines[1].replace(b"\r", b""),
            *lines[3:],
        ]
    )


def test_a_failure_in_a_place_without_a_name_cannot_be_narrowed_to(folder: Path) -> None:
    file = junit(folder, suite("H100-A", *X, runs=90), suite("pytest", *X, FAILURE))
    done = prune("--results", file)
    assert "keep: " in done.out
    assert "  fails in an unnamed stage\n" in done.out


def test_a_place_that_has_a_line_of_its_own_gets_no_second_one(folder: Path) -> None:
    own = b"full:B200/accuracy/test_x.py::TestA::test_t[a.b-c] SKIP (https://nvbugs/7)\n"
    (folder / "test_lists" / "waives.txt").write_bytes(WAIVES.replace(b"full:H100", own + b"full:H100"))
    file = junit(folder, suite("H100-A", *X, runs=90), suite("B200-A", *X, FAILURE))
    assert rewritten(folder, "--results", file).count(b"test_x.py") == 1


def test_a_yaml_waiver_is_narrowed_and_removed_too(folder: Path) -> None:
    item = b"- test: accuracy/test_x.py::TestA::test_t[a.b-c] # here\n  marker: SKIP\n"
    flow = b"- {test: accuracy/test_y.py, marker: XFAIL}\n"
    (folder / "waives.yml").write_bytes(flow + b"\n# about x\n" + item)
    suites = [suite("H100-A", *X, runs=90), suite("B200-A", *X, FAILURE)]
    suites += [suite(name, "accuracy.test_y", "t", runs=90) for name in ("H100-A", "B200-A")]
    suites += [suite("A10-A", "accuracy.test_y", "t", FAILURE)]
    assert prune("--results", junit(folder, *suites), "--file", "waives.yml", "--write").code == 0
    assert (folder / "waives.yml").read_bytes() == (
        b"- test: accuracy/test_y.py\n  prefix: A10\n  marker: XFAIL\n"
        b"# about x\n" + item.replace(b"# here\n", b"# here\n  prefix: B200\n")
    )


def test_a_timeout_that_would_go_with_the_waiver_keeps_it(folder: Path) -> None:
    (folder / "test_lists" / "waives.txt").write_bytes(b"accuracy/test_x.py SKIP (x) TIMEOUT (90)\n")
    done = prune("--results", junit(folder, suite("H100-A", *X, runs=90)))
    assert "keep: " in done.out
    assert "TIMEOUT would go with it" in done.out


# --- closed bugs ------------------------------------------------------------------------------------------


def test_waivers_of_closed_bugs_go(folder: Path) -> None:
    (folder / "bugs.csv").write_text("number,state,closed on\n2,Closed,2026-10-01\n3,Open,\n")
    done = prune("--bug-states", "bugs.csv")
    assert "remove: test_lists/waives.txt:3: " in done.out
    assert "  bug 2 is closed on 2026-10-01\n" in done.out
    lines = WAIVES.splitlines(keepends=True)
    assert rewritten(folder, "--bug-states", "bugs.csv") == b"".join(lines[:2] + lines[3:])


def test_a_failure_keeps_the_waiver_of_a_closed_bug(folder: Path) -> None:
    (folder / "bugs.json").write_text('[{"number": 1, "state": "fixed"}]')
    file = junit(folder, suite("H100-A", *X, FAILURE))
    done = prune("--bug-states", "bugs.json", "--results", file)
    assert "keep: " in done.out
    assert "  bug 1 is fixed, but fails in H100\n" in done.out


# --- files of other people --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JUnit file: no element found"),
        ("<testsuites>", "is no JUnit file"),
        ("<html/>", "its root is 'html'"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuites/>", "has a DOCTYPE"),
        ("<testsuite>" * 100, "nested deeper than"),
        ("<testsuite>&a;</testsuite>", "is no JUnit file: undefined entity"),
        ("<?xml version='1.0' encoding='klingon'?><testsuite/>", "is no JUnit file: unknown encoding"),
        ("\x00\x01", "is no JUnit file"),
    ],
)
def test_what_is_no_junit_file_is_refused_in_one_line(folder: Path, text: str, said: str) -> None:
    (folder / "x.xml").write_text(text)
    done = prune("--results", "x.xml")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("harness: x.xml")
    assert said in done.err


def test_missing_and_oversized_results_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty").mkdir()
    for arguments in (["--results", "gone.xml"], ["--results", "*.xml"], ["--results", "empty"], []):
        done = prune(*arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    monkeypatch.setattr("harness.lists.edits.junit.MAX_BYTES", 10)
    assert "MiB; split the results" in prune("--results", junit(folder)).err


@given(st.binary(max_size=200).map(lambda data: b"<testsuite><testcase/>" + data) | st.binary(max_size=99))
def test_reading_results_never_raises_anything_else(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(UsageError):
            read_junit(file.name, lambda _: None)
