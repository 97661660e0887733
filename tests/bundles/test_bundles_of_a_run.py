"""`pytest --bundles DIR`: a failing test of a reproducer leaves its bundles, and says where they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_failing_test_says_where_its_bundles_are_and_how_their_replays_ended(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        from pathlib import Path
        from harness import bundles
        from harness.bundles import Bundle, Launched
        from harness.pytest_plugin import fixtures
        from harness.scenario import Config, Scenario
        from harness.trace import Outcome
        from harness.verdicts import Case, CaseResult

        def test_bug(check_bug, monkeypatch):
            case = Case("dflash", "exact", "eager", (), Scenario(Config("dflash", 2, 2, ()), ()))
            found = [CaseResult("bug", case, Outcome.ERROR, "", "it raised", "cpu", confirmed=True)]

            def write(folder, results, launcher, launched, description):
                assert (results, launched) == (found, Launched(isolation="none"))
                assert description.name == launcher.target == "embedded"
                return [Bundle(folder / "one", "error: it raised", "replayed: same signature")]

            monkeypatch.setattr(fixtures, "reproduce", lambda *_, **__: found)
            monkeypatch.setattr(bundles, "write_bundles", write)
            check_bug("6451032", "dflash", "exact")
        """
    )
    plugins = [word for name in ("", ".options", ".fixtures") for word in ("-p", f"harness.pytest_plugin{name}")]
    result = pytester.runpytest_inprocess(
        *plugins, "-p", "no:cacheprovider", "--isolation=none", "--bundles=kept/here"
    )
    assert result.parseoutcomes() == {"failed": 1}
    place = pytester.path / "kept" / "here" / "one"
    result.stdout.fnmatch_lines([f"bundle {place}: replayed: same signature"])


@pytest.mark.slow
def test_a_run_of_a_broken_engine_leaves_one_bundle_a_finding_that_replays_where_it_was_moved_to(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [
        sys.executable, "-m", "pytest", "-q", "repro_cases", "-k", "6451032-dflash-exact",
        "-p", "no:cacheprovider", "--target", "always_broken:PadsToSlotZero", "--bundles", str(tmp_path / "kept"),
        "--results", str(tmp_path / "log.jsonl"),
    ]  # fmt: skip
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    (bundle,) = (tmp_path / "kept").iterdir()  # the test ran twice, to be confirmed: the finding is one
    assert f"bundle {bundle}: replayed: same signature" in run.stdout
    moved = tmp_path / "sent to 'somebody'"
    shutil.move(bundle, moved)
    again = subprocess.run(
        ["bash", moved / "run.sh", "--json", str(tmp_path / "again.json")],
        env={**environment, "PYTHON": sys.executable}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert again.returncode == 1, again.stdout + again.stderr
    (result,) = json.loads((tmp_path / "again.json").read_text())["results"]
    assert result["violations"][0]["invariant"] == "I-SCRATCH"
