"""The pictures in docs/pictures are what `make pictures` draws now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def test_make_pictures_draws_what_the_docs_show(tmp_path: Path) -> None:
    # What runs this test is set up already; another environment is not to be made for it.
    own = [f"BIN={Path(sys.executable).parent}", f"PICTURES={tmp_path}", "--old-file", ".venv/.ready"]
    subprocess.run(["make", "--silent", "pictures", *own], cwd=ROOT, check=True, capture_output=True)
    drawn = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert set(drawn) == {path.name for path in PICTURES.glob("*.svg")}
    for name, text in drawn.items():
        assert (PICTURES / name).read_text() == text, f"docs/pictures/{name} is old: run `make pictures`"


def test_the_screenshot_is_small() -> None:
    for picture in PICTURES.glob("*.png"):
        assert picture.stat().st_size < 150_000
