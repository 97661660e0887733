"""`harness report`: pages and pictures from results that `repro --json` wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click

from harness.codec import CodecError, decode
from harness.errors import Place, UsageError
from harness.files import write_atomically
from harness.report.page import render_page
from harness.report.section import Section
from harness.report.svg import matrix_svg, slot_map_svg

__all__ = ["report"]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Write one page of them all.")
@click.option("--svg", type=click.Path(path_type=Path), metavar="DIR", help="Write matrices and slot maps as SVG.")
def report(files: tuple[Path, ...], html: Path | None, svg: Path | None) -> None:
    """Draw what `harness repro --json` wrote into FILES: bugs and targets side by side, with filters."""
    if not html and not svg:
        raise UsageError("say with --html or --svg what to write")
    sections = [_read(file) for file in files]
    if html:
        write_atomically(html, render_page(sections))
        click.echo(f"{html}: {len(sections)} reproducers")
    if svg:
        svg.mkdir(parents=True, exist_ok=True)
        for name, text in _pictures(sections):
            write_atomically(svg / name, text)
            click.echo(f"{svg / name}")


def _read(file: Path) -> Section:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", Place(str(file))) from None
    except ValueError as error:
        raise UsageError(f"is no JSON: {error}; write it with `harness repro --json`", Place(str(file))) from None
    if not isinstance(data, dict) or "results" not in data:
        raise UsageError("has no results; write it with `harness repro --json`", Place(str(file)))
    data.pop("description", None)
    try:
        return decode(Section, data)
    except CodecError as error:
        raise UsageError(f"{error}; write it with `harness repro --json`", Place(str(file))) from None


def _pictures(sections: list[Section]) -> Iterator[tuple[str, str]]:
    names: dict[str, int] = {}
    for section in sections:
        stem = re.sub(r"[^A-Za-z0-9]+", "-", section.bug.removeprefix("nvbugs/")).strip("-") or "bug"
        yield _numbered(names, f"{stem}-matrix"), matrix_svg(section.results, f"{section.bug} on {section.target}")
        for drawn in section.maps:
            yield _numbered(names, f"{stem}-slots-{drawn.word.replace('/', '')}"), slot_map_svg(drawn)


def _numbered(names: dict[str, int], name: str) -> str:
    """Return a file's name that no other picture of this run has."""
    names[name] = names.get(name, 0) + 1
    return f"{name}.svg" if names[name] == 1 else f"{name}-{names[name]}.svg"
