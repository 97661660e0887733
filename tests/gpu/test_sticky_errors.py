"""A case that breaks its CUDA context costs itself only."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.launch import Launcher, Run
from harness.scenario import Admit, Config, Scenario
from harness.trace import Outcome

pytestmark = pytest.mark.gpu


def test_a_sticky_cuda_error_is_a_crash_and_the_next_case_has_a_fresh_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "launch"))
    config = Config("dflash", num_seq_slots=8, max_num_requests=8, buckets=())
    broken = Scenario(config, (Admit("fine", 1), Admit("out-of-bounds", 1), Admit("never", 1)))
    fine = Scenario(config, (Admit("fine", 1),))
    with Launcher("misbehaving:Misbehaving", "cuda") as launcher:
        before = launcher.run(Run(fine))
        trace = launcher.run(Run(broken))
        after = launcher.run(Run(fine))
    assert (trace.outcome, trace.at) == (Outcome.CRASH, 1)
    assert "sticky CUDA error" in trace.detail
    assert after.outcome is Outcome.OK
    assert after.snapshots[0].metadata["pid"] != before.snapshots[0].metadata["pid"]
