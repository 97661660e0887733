"""Writes a bundle for each finding: all of it in a temporary folder, replayed there, then renamed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.bundles.facts import environment, gpus, harness_commit, versions
from harness.bundles.launched import Launched
from harness.bundles.replaying import replay
from harness.bundles.texts import make_readme, make_script, make_story
from harness.codec import dumps
from harness.errors import Place, UsageError
from harness.invariants import Monitor
from harness.launch import Launcher, Run
from harness.pictures import draw
from harness.protocol import Description
from harness.scenario_file import dump_scenario
from harness.trace import Outcome, Trace
from harness.verdicts import CaseResult

__all__ = ["Bundle", "check_folder", "write_bundles"]

_NAME_LIMIT = 80
_THERE = "was there already and is left as it was"


@dataclass(frozen=True)
class Bundle:
    """A folder and what became of its finding there: how the replay ended, or that it was there before."""

    path: Path
    signature: str
    told: str


def check_folder(folder: Path) -> None:
    """Make `folder`, so that a run is not in vain. Raises `UsageError` where nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryDirectory(dir=folder, prefix=".bundle-").cleanup()
    except OSError as error:
        raise UsageError(f"no bundle can be written here: {error.strerror}; name another folder",
                         Place(str(folder))) from None  # fmt: skip


def write_bundles(
    folder: Path,
    results: Sequence[CaseResult],
    launcher: Launcher,
    launched: Launched,
    description: Description | None = None,
) -> list[Bundle]:
    """Write a bundle of the first case of every signature that does not hold. What is there already stays.

    Raises `UsageError` where the folder cannot be written.
    """
    firsts: dict[str, CaseResult] = {}
    for result in results:
        if not result.holds and result.outcome is not Outcome.UNSUPPORTED:
            firsts.setdefault(result.signature, result)
    if firsts:
        check_folder(folder)
    return [_write(folder, result, launcher, launched, description) for result in firsts.values()]


def _write(
    folder: Path, result: CaseResult, launcher: Launcher, launched: Launched, description: Description | None
) -> Bundle:
    target = folder / _name(result, launched, description)
    if target.exists():
        return Bundle(target, result.signature, _THERE)
    temporary = folder / f".{target.name}.{os.getpid()}-{time.monotonic_ns()}"
    try:
        temporary.mkdir()
        _fill(temporary, result, launcher, launched, description)
        replayed = replay(temporary, result.signature)
        (temporary / "replay.txt").write_text(replayed.printed, encoding="utf-8")
        (temporary / "README.md").write_text(make_readme(result, str(replayed)), encoding="utf-8")
        temporary.rename(target)
    except OSError as error:
        if target.exists():  # another process was first
            return Bundle(target, result.signature, _THERE)
        raise UsageError(f"cannot be written: {error.strerror}; name another folder", Place(str(target))) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Bundle(target, result.signature, str(replayed))


def _name(result: CaseResult, launched: Launched, description: Description | None) -> str:
    """Return a name for people, and for the same finding of the same code always the same."""
    code = [harness_commit(), description and description.version]
    told = [result.bug, result.signature, dump_scenario(result.case.scenario), launched.options(), code]
    digest = hashlib.sha256(dumps(told).encode()).hexdigest()[:8]
    words = f"{result.bug} {result.case.worker} {result.signature}"
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', words).strip('-')[:_NAME_LIMIT]}-{digest}"


def _fill(
    bundle: Path, result: CaseResult, launcher: Launcher, launched: Launched, description: Description | None
) -> None:
    trace = _again(result, launcher, launched)
    drawn = next(iter(draw(launcher, [result], launched.faults)), None)
    variables = environment()
    texts = {
        "scenario.yml": dump_scenario(result.case.scenario),
        "environment.json": json.dumps(variables, indent=1),
        "versions.json": json.dumps(versions(description, launched, launcher.source), indent=1),
        "devices.json": json.dumps(gpus(trace.device), indent=1),
        "trace.json": dumps(trace),
        "story.txt": make_story(result, trace.snapshots, drawn),
        "run.sh": make_script(launched, variables),
    }
    for name, text in texts.items():
        (bundle / name).write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    (bundle / "run.sh").chmod(0o755)


def _again(result: CaseResult, launcher: Launcher, launched: Launched) -> Trace:
    """Run the case once more, on past its violations: results keep no trace."""
    monitor = Monitor(result.case.scenario)
    trace = launcher.run(Run(result.case.scenario, monitor, launched.faults, keep_going=True), fresh=True)
    trace.violations += monitor.ended(trace)
    return trace
