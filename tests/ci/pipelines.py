"""What the pipelines under `ci/` run, taken out of each of their languages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTIONS = ROOT / "ci" / "github-actions" / "regression.yml"
JENKINS = ROOT / "ci" / "jenkins" / "Jenkinsfile"
SLURM = ROOT / "ci" / "slurm"


@dataclass(frozen=True)
class Pipeline:
    """The shell scripts of its three parts, in order, and the variables that it sets for all of them."""

    environment: dict[str, str]
    check: tuple[str, ...]
    shard: tuple[str, ...]
    merge: tuple[str, ...]
    shards: int


def read_actions() -> Pipeline:
    workflow: dict[str, Any] = yaml.safe_load(ACTIONS.read_text())
    jobs = workflow["jobs"]
    check, shard, merge = (
        tuple(step["run"] for step in jobs[name]["steps"] if "run" in step) for name in ("lists", "shard", "merge")
    )
    return Pipeline(workflow["env"], check, shard, merge, len(jobs["shard"]["strategy"]["matrix"]["shard"]))


_GROOVY = re.compile(
    r"""stage\('(?P<stage>[^']*)'\) | (?P<node>\bnode\() | \bsh\s+(?:'''(?P<long>.*?)'''|'(?P<short>[^'\n]*)')""",
    re.VERBOSE | re.DOTALL,
)
_PLACES = {"Lists and waivers": "check", "Shard": "shard", "node": "merge"}


def read_jenkins() -> Pipeline:
    text = JENKINS.read_text()
    found: dict[str, list[str]] = {"check": [], "shard": [], "merge": []}
    place = ""
    for match in _GROOVY.finditer(text):
        if match["stage"] or match["node"]:
            place = match["stage"] or "node"
        else:
            # Groovy itself joins lines that end in a backslash.
            found[_PLACES[place]].append((match["long"] or match["short"]).replace("\\\n", ""))
    block = re.search(r"environment \{(.*?)\}", text, re.DOTALL)
    assert block is not None
    environment = dict(re.findall(r"(\w+) = '([^']*)'", block[1]))
    values = re.search(r"values (.*)", text)
    assert values is not None
    parts = {name: tuple(scripts) for name, scripts in found.items()}
    return Pipeline(environment, **parts, shards=len(values[1].split(",")))


def directives(script: Path) -> dict[str, str]:
    """The `#SBATCH` options of a script, which Slurm reads up to the first command."""
    found: dict[str, str] = {}
    for line in script.read_text().splitlines():
        if line.startswith("#SBATCH "):
            name, _, value = line.removeprefix("#SBATCH ").partition("=")
            found[name] = value
        elif line and not line.startswith("#"):
            break
    return found


PIPELINES = {"github-actions": read_actions, "jenkins": read_jenkins}
