"""`harness bisect`: the first commit that shows a bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from harness.bisect import Commit, Found, History, Shown, Verdict, open_history, search
from harness.catalogue import find_bug
from harness.cli._cases import CaseOptions, Plan, case_options, plan_cases
from harness.cli._launch import launcher_for
from harness.cli._sources import check_sourced
from harness.codec import dumps
from harness.errors import ExitCode, LaunchError, UsageError
from harness.files import write_atomically
from harness.launch import ISOLATIONS
from harness.report.finding import told
from harness.report.text import safe
from harness.targets.sources import resolve_source, source_paths
from harness.verdicts import CaseResult

__all__ = ["bisect"]

# A bug that hangs on an order shows in the first and the last one; all of them would be asked of every commit.
_ORDERS = "sample:4"


@click.command()
@click.argument("bug")
@click.option(
    "--repo", type=click.Path(path_type=Path), required=True, help="The git repository; it is not written to."
)
@click.option("--good", required=True, metavar="REV", help="A revision without the bug.")
@click.option("--bad", required=True, metavar="REV", help="A revision with it.")
@click.option("--target", default="tensorrt_llm", show_default=True, help="Engine that the repository is of.")
@click.option("--variant", default="", help="A form of its worker, such as layout=managed.")
@click.option("--device", default="cpu", show_default=True, help="cpu or cuda.")
@click.option("--isolation", type=click.Choice(ISOLATIONS), help="As of `harness repro`.")
@case_options
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write what was found as JSON.")
def bisect(
    bug: str,
    repo: Path,
    good: str,
    bad: str,
    target: str,
    variant: str,
    device: str,
    isolation: str | None,
    worker: str | None,
    orders: str | None,
    regime: str | None,
    first: str | None,
    config: Path | None,
    json_file: Path | None,
) -> None:
    """Find the first commit of --repo that shows BUG, in a clone of its own.

    A commit is bad when a case fails as --bad does, or when its process crashes or hangs; one that fails by
    another finding says nothing of the bug and is skipped, as is one that cannot be launched.
    Exit code 0: one commit was found; 2: --good or --bad is not what it is said to be; 3: one of them cannot be
    launched, or skipped commits leave several.
    """
    plan = plan_cases(
        find_bug(bug), CaseOptions(worker, orders or (None if config else _ORDERS), regime, first, config)
    )
    check_sourced(target, f"--repo {repo}")
    launcher_for(target, "", device, isolation)  # whether the options can be meant
    with open_history(repo, source_paths(target)) as history:
        ends = history.resolve(good, "--good"), history.resolve(bad, "--bad")
        trial = _Trial(plan, history, target, variant, device, isolation)
        found = search(history, *ends, trial.run, _say_progress)
    _say(found)
    if json_file:
        write_atomically(json_file, dumps(found) + "\n")
    raise click.exceptions.Exit(ExitCode.HOLDS if len(found.commits) == 1 else ExitCode.UNSUPPORTED)


@dataclass(frozen=True)
class _Trial:
    """Runs the plan on a commit."""

    plan: Plan
    history: History
    target: str
    variant: str
    device: str
    isolation: str | None

    def run(self, commit: str) -> Shown:
        """Launch one commit, in processes of its own."""
        source = f"{commit}?{self.variant}" if self.variant else commit
        try:
            folder = resolve_source(self.target, source, self.history.clone)
            with launcher_for(self.target, folder, self.device, self.isolation) as launcher:
                return _shown(self.plan.run(launcher))
        except UsageError as error:
            raise UsageError(str(error).replace(str(self.history.clone), str(self.history.repo))) from None
        except LaunchError as error:
            return Shown(reason=str(error).replace(str(self.history.clone), str(self.history.repo)))


def _shown(results: Sequence[CaseResult]) -> Shown:
    """Return the failing cases by signature; a case shows whatever was found at the operation that ended it."""
    failures: dict[str, CaseResult] = {}
    for result in results:
        if result.word not in ("ok", "n/a"):
            for signature in (result.signature, *(violation.signature for violation in result.violations)):
                failures.setdefault(signature, result)
    return Shown(failures)


def _say_progress(commit: Commit, verdict: Verdict, again: bool) -> None:
    note = "as an earlier one" if again else verdict.text
    line = f"{commit.short} {commit.date[:10]} {verdict.word:<5} {commit.subject}" + (
        f"  [{note}]" if note else ""
    )
    click.echo(safe(line))


def _say(found: Found) -> None:
    click.echo()
    if len(found.commits) > 1:
        click.echo(f"The first bad commit is one of {len(found.commits)}; the rest say nothing of the bug:")
        for commit in found.commits:
            click.echo(safe(f"  {commit.hash} {commit.date[:10]} {commit.subject}"))
    else:
        (commit,) = found.commits
        click.echo(f"first bad commit: {commit.hash}")
        click.echo(safe(f"  {commit.subject}\n  {commit.author}, {commit.date}"))
    for name, verdict in (("before it", found.before), ("with it", found.after)):
        lines = told(verdict.failure) if verdict.failure else [verdict.text or "every invariant holds"]
        click.echo(f"{name}:")
        for line in lines:
            click.echo(safe(f"  {line}"))
    click.echo(f"{found.tested} different trees were launched.")
