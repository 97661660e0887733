"""Writes are atomic, keep what a file is, and never go over somebody else's change."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from edit_runner import run

from harness.errors import UsageError
from harness.lists import Source, read_source
from harness.lists.edits.writing import Rewrite, write_all

TEXT = b"a.py SKIP (https://nvbugs/1)\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "waives.txt"
    path.write_bytes(TEXT)
    return path


def test_permissions_stay(file: Path) -> None:
    file.chmod(0o640)
    assert run("add", "b.py", "--bug", "1", "--file", str(file)).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_symbolic_link_stays_one_and_what_it_names_is_edited(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "other" / "waives.txt"
    link.parent.mkdir()
    link.symlink_to("../waives.txt")
    assert run("remove", "a.py", "--file", str(link)).code == 0
    assert link.is_symlink()
    assert file.read_bytes() == b""


def test_nothing_is_left_behind(file: Path) -> None:
    assert run("add", "b.py", "--bug", "1", "--file", str(file)).code == 0
    assert [path.name for path in file.parent.iterdir()] == ["waives.txt"]


def test_a_file_that_somebody_changed_meanwhile_is_refused(file: Path) -> None:
    source = read_source(file)
    file.write_bytes(b"theirs\n")
    with pytest.raises(
        UsageError, match=r"waives\.txt: was changed by somebody else meanwhile; nothing was changed"
    ):
        write_all([Rewrite(source, b"ours\n")])
    assert file.read_bytes() == b"theirs\n"
    assert [path.name for path in file.parent.iterdir()] == ["waives.txt"]


def test_all_files_are_replaced_or_none(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [tmp_path / "b.txt", tmp_path / "c.txt"]
    for path in others:
        path.write_bytes(b"old\n")
    rewrites = [Rewrite(read_source(path), b"new\n") for path in (file, *others)]
    replace = Path.replace

    def fail_at_the_last(self: Path, target: Path) -> Path:
        if target.name == "c.txt":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_the_last)
    with pytest.raises(
        UsageError, match=r"c\.txt: cannot be written: No space left on device; nothing was changed"
    ):
        write_all(rewrites)
    assert [path.read_bytes() for path in (file, *others)] == [TEXT, b"old\n", b"old\n"]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_change_of_one_file_keeps_all_others_from_being_written(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.txt"
    other.write_bytes(b"changed\n")
    with pytest.raises(UsageError, match=r"b\.txt: was changed"):
        write_all([Rewrite(read_source(file), b"new\n"), Rewrite(Source(str(other), b"old\n", ()), b"new\n")])
    assert file.read_bytes() == TEXT


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_refused(file: Path) -> None:
    file.chmod(0o444)
    done = run("remove", "a.py", "--file", str(file))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert file.read_bytes() == TEXT


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    assert run("fmt", str(tmp_path)).code == 2
    with pytest.raises(UsageError, match="is no file that may be written"):
        write_all([Rewrite(Source(os.devnull, b"", ()), b"x")])
