"""`harness waives stats`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli._lists_check import given_date
from harness.cli._lists_output import say
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.lists.stats import Aged, Group, Stats

__all__ = ["stats"]

_TOP = 8  # groups of each kind that the terminal shows; JSON and the page have all
_ENDS = 20  # of what ends or ended
_LEVELS = "▁▂▃▄▅▆▇█"
_TITLES = {"bug": "by bug", "gpu": "by GPU", "owner": "by owner"}


@click.command()
@click.argument("file", default="test_lists/waives.txt", metavar="[FILE]")
@click.option("--soon", default=30, show_default=True, metavar="DAYS", help="What ends within DAYS is expiring.")
@click.option("--today", metavar="DATE", help="What 'until=' and ages are compared with. Default: today.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--html", type=click.Path(path_type=Path), help="Write a page.")
def stats(file: str, soon: int, today: str | None, form: str, html: Path | None) -> int:
    """Count the waivers of FILE: by bug, GPU and owner, with their ages, those that expire, and the trend.

    Ages come from git blame, the trend from at most sixty versions of the file's history. Without a repository
    both are left out.
    """
    from harness.lists import read_waives
    from harness.lists.stats import gather, read_origins, read_versions

    path = Path(file)
    read = read_waives(file)
    found = gather(read, read_origins(path), read_versions(path), given_date(today), soon)
    data = to_data(found)
    if form == "json":
        import json

        click.echo(json.dumps(data, indent=2))
    else:
        for line in _lines(found):
            say(line)
    if html:
        from harness.files import write_atomically
        from harness.report.waivers import render_waivers

        write_atomically(html, render_waivers(data))
    return ExitCode.HOLDS


def to_data(found: Stats) -> dict[str, Any]:
    """Return the statistics as plain data, dates as text: what JSON and the page are made of."""
    return {
        "file": found.file,
        "today": found.today.isoformat(),
        "soon": found.soon,
        "count": len(found.waivers),
        "states": {name: len(found.having(name)) for name in ("expired", "expiring", "dated", "undated")},
        "unreadable": found.problems,
        "median_age": found.median_age,
        "oldest_age": found.ages[-1] if found.ages else None,
        "groups": {kind: [asdict(group) for group in groups] for kind, groups in found.groups.items()},
        "waivers": [_plain(waiver) for waiver in found.waivers],
        "trend": [{"day": day.isoformat(), "commit": c, "waivers": n} for day, c, n in found.trend],
    }


def _plain(waiver: Aged) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, date) else value for name, value in asdict(waiver).items()
    }


def _lines(found: Stats) -> list[str]:
    expired, expiring, undated = (found.having(state) for state in ("expired", "expiring", "undated"))
    lines = [
        f"{found.file}: {len(found.waivers)} waivers, {len(expired)} expired, {len(expiring)} expire within "
        f"{found.soon} days, {len(undated)} have no date"
    ]
    if found.ages:
        lines.append(f"ages: half are {found.median_age} days or older, the oldest is {found.ages[-1]} days")
    elif found.waivers:
        lines.append("ages: unknown, no line of the file is in a git history")
    if found.problems:
        lines.append(f"{found.problems} lines have problems: harness waives check {found.file}")
    for kind, groups in found.groups.items():
        if groups:
            lines += ["", f"{_TITLES[kind]:<44} waivers  oldest  expired"]
            lines += [_counted(group) for group in groups[:_TOP]]
            lines += [f"  and {len(groups) - _TOP} more"] if len(groups) > _TOP else []
    for title, waivers in (("expired", expired), ("expiring", expiring)):
        if waivers:
            lines += ["", title, *(_told(waiver) for waiver in waivers[:_ENDS])]
            lines += [f"  and {len(waivers) - _ENDS} more"] if len(waivers) > _ENDS else []
    return [*lines, *_trend(found)]


def _counted(group: Group) -> str:
    numbers = f"{group.waivers:>7} {_days(group.oldest):>7} {group.expired or '':>8}"
    return f"  {_cut(group.name, 42):<42} {numbers}".rstrip()


def _told(waiver: Aged) -> str:
    prefix = f"full:{waiver.gpu}/" if waiver.gpu else ""
    return f"  {waiver.until} {waiver.place} {prefix}{waiver.test} ({waiver.owner or 'no owner'})"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"...{text[3 - width :]}"


def _days(age: int | None) -> str:
    return "" if age is None else f"{age} d"


def _trend(found: Stats) -> list[str]:
    counts = [number for _, _, number in found.trend]
    if len(counts) < 2:
        return []
    most = max([*counts, 1])
    bars = "".join(_LEVELS[round(number / most * (len(_LEVELS) - 1))] for number in counts)
    first, last = found.trend[0], found.trend[-1]
    return ["", f"trend  {first[0]} {first[2]} {bars} {last[2]} {last[0]}"]
