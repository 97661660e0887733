"""Files that are written whole keep what a person gave them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.files import write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_what_the_umask_leaves_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    write_atomically(file, "one")
    assert (file.read_text(), mode(file)) == ("one", 0o640)
    file.chmod(0o604)
    write_atomically(file, b"two")
    assert (file.read_text(), mode(file)) == ("two", 0o604)
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_one_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("one")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "two"


def test_what_cannot_be_written_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no/a: cannot be written: No such file or directory"):
        write_atomically(tmp_path / "no" / "a", "text")
    with pytest.raises(UsageError, match="is no file that may be written"):
        write_atomically(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []
