"""What only GPUs can show: stores out of bounds, what CUDA makes visible, pinning, and memory left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.devices import Device, Inventory, detect_inventory, visible_devices
from harness.devices.smi import Smi

pytestmark = pytest.mark.gpu

HERE = Path(__file__).parent
PROBE = HERE / "cuda_probe.py"
PLUGINS = ("-p", "harness.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _leases_of_this_test_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_DEVICES_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("HARNESS_LEASE", raising=False)


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return detect_inventory()


@pytest.fixture
def two(inventory: Inventory) -> tuple[Device, Device]:
    gpus = [device for device in inventory.devices() if not device.parent]
    if len(gpus) < 2:
        pytest.skip("unsupported: needs 2 GPUs")
    return gpus[0], gpus[1]


def cuda_shows(value: str | None) -> list[str]:
    environment = {name: text for name, text in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment |= {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    done = subprocess.run([sys.executable, PROBE], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip().split(",") if done.stdout.strip() else []


def test_nvidia_smi_and_the_driver_know_the_same_devices(inventory: Inventory) -> None:
    smi = Smi("nvidia-smi")
    assert [device.uuid for device in inventory.devices()] == [device.uuid for device in smi.devices()]
    for device in inventory.devices():
        free = inventory.free_bytes(device.uuid)
        assert free is not None
        assert 0 < free <= device.total


def test_what_counts_as_visible_is_what_cuda_shows(inventory: Inventory) -> None:
    machine = inventory.devices()
    last = machine[-1].uuid
    numbers = ",".join(str(index) for index in reversed(range(len(machine))))
    for value in (None, "", "0", "-1", numbers, f"{numbers},99", "99,0", "0,0", last, last[:12], f"{last},0,x"):
        ours = visible_devices(machine, {} if value is None else {"CUDA_VISIBLE_DEVICES": value})
        assert [device.uuid for device in ours] == cuda_shows(value), f"CUDA_VISIBLE_DEVICES={value}"


STORING = """
    import pytest
    from harness.launch import Run
    from harness.scenario import Admit, Config, Scenario
    from harness.trace import Outcome

    @pytest.mark.parametrize("request_", ["one", "two", "store-far-away", "three", "four"])
    def test_case(launcher, request_):
        config = Config("dflash", num_seq_slots=8, max_num_requests=8, buckets=())
        trace = launcher.run(Run(Scenario(config, (Admit(request_, 1),))))
        assert trace.outcome is Outcome.OK, trace.detail
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_store_out_of_bounds_fails_its_test_and_no_other_on_the_same_gpu(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, inventory: Inventory, workers: tuple[str, ...]
) -> None:
    paths = [str(HERE), str(HERE.parent / "launch"), os.environ["PYTHONPATH"]]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", inventory.devices()[0].uuid)
    pytester.makepyfile(STORING)
    result = pytester.runpytest_subprocess(
        *PLUGINS, "-p", "harness.pytest_plugin.options", "-p", "harness.pytest_plugin.fixtures", "-rfE", *workers,
        "--target", "storing:Storing", "--device", "cuda",
    )  # fmt: skip
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*sticky CUDA error*", "FAILED*store-far-away*"])


PINNED = """
    import os, subprocess, sys
    import pytest

    def tell(word):
        with open(os.environ["LOG"], "a") as log:
            log.write(f"{word} {os.getpid()} {os.environ['CUDA_VISIBLE_DEVICES']}\\n")

    def check():
        tell("take")
        shown = subprocess.run([sys.executable, os.environ["PROBE"]], capture_output=True, text=True, check=True)
        assert shown.stdout.strip() == os.environ["CUDA_VISIBLE_DEVICES"]
        tell("give")

    @pytest.mark.parametrize("n", range(6))
    @pytest.mark.gpus(1)
    def test_one(n): check()

    @pytest.mark.parametrize("n", range(2))
    @pytest.mark.gpus(2)
    def test_both(n): check()

    @pytest.mark.gpus(3)
    def test_more_than_there_are(): assert False, "it must not run"
"""


def test_three_workers_on_two_gpus_pin_their_tests_and_one_that_wants_both_gets_both(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, two: tuple[Device, Device], tmp_path: Path
) -> None:
    names = [device.uuid for device in two]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(names))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("PROBE", str(PROBE))
    pytester.makepyfile(PINNED)
    result = pytester.runpytest_subprocess(*PLUGINS, "-n", "3", "-v")
    result.stdout.fnmatch_lines(["*8 passed, 1 unsupported*"])
    held: set[str] = set()
    taken = []
    for word, _, text in (line.split() for line in (tmp_path / "log").read_text().splitlines()):
        uuids = set(text.split(","))
        assert held & uuids == (set() if word == "take" else uuids), "one device in two tests at once"
        held ^= uuids
        taken += [text] if word == "take" else []
    assert sorted(set(taken)) == sorted({*names, ",".join(names)}), "both GPUs alone, and both together"


LEAKING = """
    import os, subprocess, sys
    import pytest
    kept = []

    @pytest.mark.gpus(1)
    def test_leaves_memory():
        child = subprocess.Popen(
            [sys.executable, os.environ["PROBE"], "2048"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        child.stdout.readline()
        kept.append(child)

    @pytest.mark.gpus(1)
    def test_innocent(): pass

    def test_ends_it():
        kept[0].communicate()

    @pytest.mark.gpus(1)
    def test_after_it(): pass
"""


def test_memory_left_on_a_gpu_is_charged_to_the_test_that_left_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, inventory: Inventory
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", inventory.devices()[0].uuid)
    monkeypatch.setenv("PROBE", str(PROBE))
    pytester.makepyfile(test_a=LEAKING)
    result = pytester.runpytest_subprocess(*PLUGINS, "--gpu-memory-wait", "3")
    result.assert_outcomes(passed=4, warnings=1)
    result.stdout.fnmatch_lines(["*MiB less free memory*left behind by test_a.py::test_leaves_memory"])


IN_PROCESS = """
    import os
    import pytest
    torch = pytest.importorskip("torch")

    def uses(n):
        assert torch.cuda.device_count() == n
        return torch.ones(1 << 20, device="cuda").sum().item()

    @pytest.mark.gpus(1)
    def test_first(): uses(1); os.environ["FIRST"] = os.environ["CUDA_VISIBLE_DEVICES"]
    @pytest.mark.gpus(1)
    def test_same_again():
        uses(1)
        assert os.environ["CUDA_VISIBLE_DEVICES"] == os.environ["FIRST"]
    @pytest.mark.gpus(2)
    def test_cannot_change(): assert False, "it must not run"
"""


def test_a_process_that_used_cuda_itself_keeps_its_gpu_and_its_context_is_nobodys_leak(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, two: tuple[Device, Device]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", ",".join(device.uuid for device in two))
    pytester.makepyfile(IN_PROCESS)
    result = pytester.runpytest_subprocess(*PLUGINS, "--gpu-memory-wait", "3")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*needs 2 GPUs, and this process has initialised CUDA on 1*"])
