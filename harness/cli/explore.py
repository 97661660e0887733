"""`harness explore`: random search for a scenario that breaks an invariant."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli._commands import command_words
from harness.cli._launch import check_faults, launch_options, launcher_for
from harness.cli._sources import fetch_named, find_source
from harness.cli._story import lengths, tell
from harness.codec import dumps
from harness.errors import ExitCode, LaunchError, UsageError
from harness.files import write_atomically
from harness.launch import default_jobs
from harness.protocol import Description
from harness.report.text import safe
from harness.scenario import WORKERS

if TYPE_CHECKING:
    from harness.explore.database import Database
    from harness.explore.drawing import Space
    from harness.explore.finding import Finding
    from harness.explore.search import Search

__all__ = ["explore"]

_INTERRUPTED = 130  # as a shell says it of a command that ^C ended


@click.command()
@launch_options
@click.option("--worker", type=click.Choice(WORKERS), help="Only this worker.")
@click.option(
    "--seconds", type=click.FloatRange(min=0), default=60.0, show_default=True, help="How long to search."
)
@click.option("--scenarios", type=click.IntRange(min=1), help="Stop after so many, or a few more.")
@click.option("--first", is_flag=True, help="Stop at the first finding.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which scenarios are drawn."
)
@click.option("--length", type=click.IntRange(1, 500), default=20, show_default=True, help="Operations at most.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Hosts side by side; by default one a core, one on a GPU."
)
@click.option(
    "--database", type=click.Path(path_type=Path), help="A folder: go on where it ends, tell it what breaks."
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("found"), show_default=True, help="For findings."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all findings as JSON.")
def explore(
    target: str,
    source: str,
    fetch: bool,
    repo: Path | None,
    device: str,
    faults: tuple[str, ...],
    isolation: str | None,
    worker: str | None,
    seconds: float,
    scenarios: int | None,
    first: bool,
    seed: int,
    length: int,
    jobs: int | None,
    database: Path | None,
    out: Path,
    json_file: Path | None,
) -> None:
    """Draw legal scenarios at random, run each in a session of its own, and judge it by every invariant.

    What breaks one is made as short as it can be and still break it, told as a story, and written for `harness
    replay`, in a folder named after what broke.

    Exit code 0: nothing was found; 1: something was; 2: usage; 3: the target cannot be launched, or can do none of
    the scenarios; 130: interrupted before anything was found.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise LaunchError(
            "hypothesis is not installed, and scenarios are drawn with it: install 'specdec-harness[explore]'"
        )
    from harness.explore.search import Search

    if fetch:
        fetch_named(target, device, [("--source", source)])
    given = find_source(target, source, repo)
    with launcher_for(target, given, device, isolation, jobs) as launcher:
        check_faults(launcher, faults)
        space = _space(launcher.describe(), worker, length)
        width = 1 if launcher.isolation == "none" else jobs or default_jobs(device)
        searching = _Searching(Search(launcher, space, faults, seed, width), out)
        if database is not None:
            searching.resume(database, [target, given, device, *faults, *space.workers, str(length), str(seed)])
        end = time.monotonic() + seconds
        searching.go(first, lambda search: time.monotonic() < end and not 0 < (scenarios or 0) <= search.judged)
    if json_file:
        searching.write_json(json_file)
    searching.close()


def _space(target: Description, worker: str | None, length: int) -> Space:
    from harness.explore.drawing import Space

    if worker and worker not in target.workers:
        raise UsageError(f"--worker {worker}: target {target.name} has {', '.join(target.workers)}")
    return Space((worker,) if worker else target.workers, target.operations, target.options, length)


@dataclass
class _Searching:
    """A search with what a person sees of it."""

    search: Search
    out: Path
    findings: list[Finding] = field(default_factory=list)
    interrupted: bool = False
    started: float = field(default_factory=time.monotonic)
    database: Database | None = None
    key: str = ""

    def resume(self, folder: Path, key: Sequence[str]) -> None:
        """Go on where the database ends."""
        from harness.explore.database import Database

        self.database, self.key = Database(folder), " ".join(filter(None, key))
        self.search.round = self.database.round(self.key)
        for note in self.database.notes:
            click.echo(f"harness: {safe(note)}", err=True)

    def go(self, first: bool, go_on: Callable[[Search], bool]) -> None:
        """Search, and tell and keep each finding at once: an interrupt loses none."""
        known = self.database.scenarios if self.database else []
        try:
            for finding in self.search.run(known, lambda: go_on(self.search)):
                self._found(finding)
                if first:
                    break
        except KeyboardInterrupt:
            self.interrupted = True
        if self.database:
            self.database.remember(self.key, self.search.round)

    def _found(self, finding: Finding) -> None:
        from harness.explore.keeping import MINIMAL, keep_finding

        search = self.search
        self.findings.append(finding)
        story = tell(search.launcher, finding.minimal, finding.violation, search.faults)
        file = keep_finding(finding, self.out, story + "\n") / MINIMAL
        if self.database:
            self.database.keep(finding.signature, finding.minimal)
        click.echo(f"{safe(finding.signature)}: {lengths(finding)}, scenario {search.judged}")
        click.echo("\n".join(f"  {line}" for line in story.splitlines()))
        click.echo(f"  {' '.join(command_words(['replay', str(file)]))}\n")

    def write_json(self, file: Path) -> None:
        """Write what was searched and found."""
        search = self.search
        write_atomically(file, dumps({
            "target": search.launcher.target, "device": search.launcher.device, "faults": search.faults,
            "seed": search.seed, "scenarios": search.judged, "operations": search.operations,
            "findings": self.findings,
        }) + "\n")  # fmt: skip

    def close(self) -> None:
        """Print the last line and leave with the code that it means."""
        search, seconds = self.search, time.monotonic() - self.started
        undone = search.unsupported.total()
        if undone == search.judged and not self.interrupted:
            why = search.unsupported.most_common(1)[0][0] if undone else "nothing could be drawn in that time"
            raise LaunchError(f"target {search.launcher.target} can do none of {search.judged} scenarios: {why}")
        count = len(self.findings)
        what = f"{count} finding{'s' if count > 1 else ''}" if count else "every invariant holds"
        note = f", {undone} of them unsupported" if undone else ""
        click.echo(
            f"{search.judged} scenarios, {search.operations} operations in {seconds:.0f} s, seed {search.seed}"
            f"{note}: {what}{'; interrupted' if self.interrupted else ''}"
        )
        if self.interrupted and not count:
            raise click.exceptions.Exit(_INTERRUPTED)
        raise click.exceptions.Exit(ExitCode.VIOLATION if count else ExitCode.HOLDS)
