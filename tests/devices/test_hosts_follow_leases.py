"""A host runs under the devices that are leased now; one that was started under others is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.launch import Launcher, Run
from harness.scenario import Admit, Config, Scenario
from harness.trace import Outcome


@pytest.fixture
def launcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Launcher]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "launch"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with Launcher("misbehaving:Misbehaving", isolation="reuse", jobs=1) as launched:
        yield launched


def serve(launcher: Launcher) -> tuple[int, str | None]:
    """Run a case; return the process that served it and the devices that it was started under."""
    config = Config("dflash", num_seq_slots=2, max_num_requests=2, buckets=())
    trace = launcher.run(Run(Scenario(config, (Admit("fine", 1),))))
    assert trace.outcome is Outcome.OK
    pid = trace.snapshots[0].metadata["pid"]
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return pid, dict(line.partition("=")[::2] for line in variables).get("CUDA_VISIBLE_DEVICES")


def test_a_host_is_replaced_when_other_devices_are_leased_and_kept_while_they_are_the_same(
    launcher: Launcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, under = serve(launcher)
    assert under is None
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a")
    second, under = serve(launcher)
    assert (second != first, under) == (True, "GPU-a")
    assert serve(launcher) == (second, "GPU-a")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b")
    assert serve(launcher)[1] == "GPU-b"
    assert not Path(f"/proc/{second}").exists()


@pytest.mark.slow
def test_hosts_that_ended_with_a_lease_are_started_again_by_the_next_run(launcher: Launcher) -> None:
    first, _ = serve(launcher)
    launcher.end_hosts()
    assert not Path(f"/proc/{first}").exists()
    assert serve(launcher)[0] != first
