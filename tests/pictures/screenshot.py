"""`python tests/pictures/screenshot.py PAGE PNG`: the first screen of a page, as a person meets it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from browser import find_browser, open_browser
from png import shrink


def main(page: str, png: str) -> None:
    program = find_browser()
    if program is None:
        sys.exit("no Chromium: apt-get install chromium, or name one in HARNESS_BROWSER")
    # The browser's helpers may still write there while it ends.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        open_browser(program, Path(folder)) as tab,
    ):
        tab.open(Path(page), 1280, 800)
        tab.picture(Path(png))
    Path(png).write_bytes(shrink(Path(png).read_bytes()))


if __name__ == "__main__":
    main(*sys.argv[1:])
