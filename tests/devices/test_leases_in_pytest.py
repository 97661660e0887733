"""`@pytest.mark.gpus(n)`, on machines whose `nvidia-smi` is made up, in one process and with xdist."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import lay_smi

PLUGINS = ("-p", "harness.pytest_plugin", "-p", "no:cacheprovider")
TESTS = """
    import os
    import pytest

    def visible():
        return os.environ.get("CUDA_VISIBLE_DEVICES")

    def test_none(): assert visible() == os.environ.get("OUTER")
    @pytest.mark.gpus(1)
    def test_one(): assert visible() == "GPU-aaaaaaaa"
    def test_restored(): assert visible() == os.environ.get("OUTER")
    @pytest.mark.gpus(n=2)
    def test_two(): assert visible() == "GPU-aaaaaaaa,GPU-bbbbbbbb"
    @pytest.mark.gpus(3)
    def test_three(): assert False, "it must not run"
"""


@pytest.fixture(autouse=True)
def _no_devices_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    monkeypatch.setenv("HARNESS_DEVICES_DIR", str(tmp_path / "locks"))
    for name in ("CUDA_VISIBLE_DEVICES", "HARNESS_LEASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of an `nvidia-smi` that knows two GPUs."""
    monkeypatch.setenv("PATH", lay_smi(tmp_path / "smi", 2))
    return tmp_path / "smi"


def run(tree: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return tree.runpytest_inprocess(*PLUGINS, *arguments)


@pytest.mark.usefixtures("machine")
def test_a_test_sees_what_it_leased_and_is_skipped_where_there_is_less(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = run(pytester, "-rs", "--strict-markers")
    assert result.parseoutcomes() == {"passed": 4, "unsupported": 1}
    result.stdout.fnmatch_lines(["UNSUPPORTED*unsupported: needs 3 GPUs, and 2 GPUs can be used here"])


@pytest.mark.usefixtures("machine")
def test_an_outer_variable_is_kept_to_and_restored(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("OUTER", "0")
    pytester.makepyfile(TESTS)
    assert run(pytester).parseoutcomes() == {"passed": 3, "unsupported": 2}


def test_without_any_gpu_a_test_that_wants_one_is_unsupported(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pytester.makepyfile(TESTS)
    result = run(pytester, "-rs")
    assert result.parseoutcomes() == {"passed": 2, "unsupported": 3}
    result.stdout.fnmatch_lines(["*unsupported: needs 1 GPU, and no GPU can be used here"])


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("mark", ["gpus", "gpus(0)", "gpus('2')", "gpus(True)", "gpus(1, 2)", "gpus(count=1)"])
def test_a_mark_without_a_number_fails_its_test(pytester: pytest.Pytester, mark: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{mark}\ndef test_it(): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*takes one whole number from 1*"])


@pytest.mark.usefixtures("machine")
def test_a_device_that_is_held_for_too_long_fails_the_test_and_says_by_whom(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from harness.devices import Lender, LockFolder, detect_inventory, lock_folder

        @pytest.fixture(scope="module", autouse=True)
        def somebody():
            lease = Lender(detect_inventory(), LockFolder(lock_folder())).lease(2, "somebody", 0.0)
            yield
            lease.end()

        def test_first(): pass
        @pytest.mark.gpus(1)
        def test_second(): assert False, "it must not run"
        def test_third(): pass
        """
    )
    result = run(pytester, "--gpu-wait", "0.01")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*1 GPU did not come free within 0.01 s*GPU-aaaaaaaa by somebody (process *"])


@pytest.mark.usefixtures("machine")
def test_a_waived_test_waits_for_no_device(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from harness.devices import Queue, LockFolder, lock_folder, Device
        @pytest.mark.gpus(1)
        @pytest.mark.skip
        def test_waived(): pass
        def test_nothing_was_leased():
            assert Queue(LockFolder(lock_folder()), [Device("GPU-aaaaaaaa", 0)]).record("GPU-aaaaaaaa").test == ""
        """
    )
    run(pytester).assert_outcomes(passed=1, skipped=1)


def test_memory_that_a_test_left_behind_is_told_with_its_name_and_fails_nobody(
    pytester: pytest.Pytester, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMI", str(machine))
    pytester.makepyfile(
        test_a="""
        import os, pathlib, pytest
        @pytest.mark.gpus(1)
        def test_leaks():
            free = pathlib.Path(os.environ["SMI"], "free")
            free.write_text(free.read_text().replace("80000", "70000", 1))
        @pytest.mark.gpus(1)
        def test_innocent(): pass
        """
    )
    result = run(pytester, "-W", "error", "--gpu-memory-wait", "0")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*GPU-aaaaaaaa has 10000 MiB less*left behind by test_a.py::test_leaks"])


@pytest.mark.usefixtures("machine")
def test_what_keeps_memory_is_closed_before_the_lease_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, pytest
        from harness.pytest_plugin.leasing import on_lease_end
        seen = []

        @pytest.fixture(scope="session", autouse=True)
        def keeper(pytestconfig):
            on_lease_end(pytestconfig, lambda: seen.append(os.environ.get("CUDA_VISIBLE_DEVICES")))

        @pytest.mark.gpus(1)
        def test_one(): assert seen == []
        def test_two(): assert seen == ["GPU-aaaaaaaa"]
        """
    )
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.usefixtures("machine")
def test_workers_of_xdist_share_the_devices_and_one_test_gets_both(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    pytester.makepyfile(
        f"""
        import os, pytest
        LOG = {str(tmp_path / "log")!r}

        def tell(word):
            with open(LOG, "a") as log:
                log.write(f"{{word}} {{os.getpid()}} {{os.environ['CUDA_VISIBLE_DEVICES']}}\\n")

        @pytest.mark.parametrize("n", range(8))
        @pytest.mark.gpus(1)
        def test_one(n):
            tell("take"); os.sched_yield(); tell("give")

        @pytest.mark.gpus(2)
        def test_two():
            tell("take"); os.sched_yield(); tell("give")
        """
    )
    result = pytester.runpytest_subprocess(*PLUGINS, "-p", "xdist", "-n", "3")
    result.assert_outcomes(passed=9)
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    held: set[str] = set()
    for word, _, names in lines:
        uuids = set(names.split(","))
        assert held & uuids == (set() if word == "take" else uuids)
        held ^= uuids
    assert {len(names.split(",")) for _, _, names in lines} == {1, 2}


@pytest.mark.parametrize(
    ("device", "count", "seen"),
    [("cuda", 1, "GPU-aaaaaaaa"), ("cpu", 1, None), ("cuda", 0, None)],
    ids=["leases", "on a CPU", "no GPU: the launcher says so"],
)
def test_a_test_that_launches_workers_on_cuda_leases_one_gpu_unasked(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    device: str,
    count: int,
    seen: str | None,
) -> None:
    monkeypatch.setenv("PATH", lay_smi(tmp_path / "smi", count))
    pytester.makeconftest(
        """
        import pytest
        def pytest_addoption(parser): parser.addoption("--device")
        @pytest.fixture(scope="session")
        def launcher(): pass
        """
    )
    pytester.makepyfile(
        f"""
        import os
        def test_launches(launcher): assert os.environ.get("CUDA_VISIBLE_DEVICES") == {seen!r}
        def test_does_not(): assert "CUDA_VISIBLE_DEVICES" not in os.environ
        """
    )
    run(pytester, "--device", device).assert_outcomes(passed=2)
