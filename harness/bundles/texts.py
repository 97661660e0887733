"""The texts of a bundle: its story, the script that replays it, and what a person reads first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from harness.bundles.facts import COMPUTING
from harness.bundles.launched import Launched
from harness.report.finding import told as told_finding
from harness.report.slotmap import SlotMap
from harness.report.story import setting, told
from harness.report.summary import fact, left_alone
from harness.report.terminal_map import render_slot_map
from harness.report.text import safe
from harness.scenario import Scenario
from harness.trace import Snapshot
from harness.verdicts import CaseResult

__all__ = ["FILES", "make_readme", "make_script", "make_story"]

# name -> what it is; in the order in which a person wants them
FILES = {
    "run.sh": "replays the scenario; options given to it go to `harness replay`",
    "scenario.yml": "what was done, for `harness replay` and `harness minimise`",
    "story.txt": "the same in words, what was found, and who owned which row when",
    "trace.json": "what the target showed after every operation, up to where the run ended",
    "versions.json": "Python, torch, harness and target",
    "environment.json": "chosen variables, those that were set",
    "devices.json": "the device it ran on, and the machine's GPUs",
    "replay.txt": "what `run.sh` printed when it was replayed",
}


def make_script(launched: Launched, environment: Mapping[str, str]) -> str:
    """Return `run.sh`. It works from wherever the bundle lies; PYTHON names another interpreter."""
    words = ["-m", "harness", "replay", "scenario.yml", *launched.options()]
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items() if name in COMPUTING]
    return "\n".join([
        "#!/usr/bin/env bash",
        "# Replays scenario.yml. Options go to `harness replay`, such as --html page.html or another --source.",
        "set -euo pipefail",
        'cd -- "$(dirname -- "${BASH_SOURCE[0]}")"',
        *exports,
        f'exec "${{PYTHON:-python3}}" {shlex.join(words)} "$@"',
        "",
    ])  # fmt: skip


def make_story(result: CaseResult, shots: Sequence[Snapshot], drawn: SlotMap | None) -> str:
    """Return the scenario as a story, a line an operation, each finding below the one that showed it."""
    scenario = result.case.scenario
    lines = [setting(scenario.config), "", *_told(scenario, shots, result)]
    if left_alone(result):
        lines += ["", f"Left alone, without probes and without a stop, it {left_alone(result)}."]
    text = "\n".join(safe(line) for line in lines)
    return f"{text}\n\n{render_slot_map(drawn)}\n" if drawn is not None else f"{text}\n"


def _told(scenario: Scenario, shots: Sequence[Snapshot], result: CaseResult) -> list[str]:
    lines = []
    for index, operation in enumerate(scenario.operations):
        lines.append(f"{index:>3}  {told(operation, shots[index] if index < len(shots) else None)}")
        lines += [f"  !  {fact(found)}" for found in result.violations if found.operation == index]
        if result.at == index and not result.violations:
            lines.append(f"  !  {result.outcome.value}: {result.detail}")
    last = len(scenario.operations)
    return lines + [f"  !  {fact(found)}" for found in result.violations if found.operation >= last]


def make_readme(result: CaseResult, replayed: str) -> str:
    """Return what a person reads first."""
    table = [f"| `{name}` | {meaning} |" for name, meaning in FILES.items()]
    finding = "\n".join(f"    {line}" for line in told_finding(result))
    return "\n".join([
        f"# {safe(result.bug)}", "", finding, "",
        f"On {safe(result.device)}. In a fresh process, by `run.sh`: {replayed}.", "",
        "`bash run.sh` replays it where `python3 -m harness` runs: install the harness of versions.json first.",
        "It ends with 1 where the finding is seen, with 0 where every invariant holds, with 3 where the target",
        "cannot be launched there; another place of its code is `bash run.sh --source DIR`.", "",
        "| file | what it is |", "|---|---|", *table, "",
    ])  # fmt: skip
