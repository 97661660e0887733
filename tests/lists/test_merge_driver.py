"""`harness waives merge`: as a command, and as the merge driver of a real repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from edit_runner import Done, run

BASE = b"""\
# nightly
a.py::t SKIP (https://nvbugs/1)
b.py::t SKIP (https://nvbugs/2)
c.py::t SKIP (https://nvbugs/3)
full:H100/a.py::t SKIP (https://nvbugs/1)
"""


def merge(folder: Path, base: bytes, ours: bytes, theirs: bytes, suffix: str = ".txt") -> tuple[Done, bytes]:
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / f"{name}{suffix}").write_bytes(data)
    done = run("merge", *(str(folder / f"{name}{suffix}") for name in ("base", "ours", "theirs")))
    assert (folder / f"theirs{suffix}").read_bytes() == theirs
    return done, (folder / f"ours{suffix}").read_bytes()


def without(data: bytes, line: bytes) -> bytes:
    return b"".join(other for other in data.splitlines(keepends=True) if not other.startswith(line))


def test_a_moved_line_is_not_a_removed_one(tmp_path: Path) -> None:
    """Upstream's merge drops the line that a pull request only sorts: the waived test runs."""
    moved = without(BASE, b"b.py") + b"b.py::t SKIP (https://nvbugs/2)\n"
    for ours, theirs in ((BASE, moved), (moved, BASE)):
        done, merged = merge(tmp_path, BASE, ours, theirs)
        assert (done, merged) == (Done(0, "", ""), ours)


def test_a_line_removed_on_main_is_removed_from_an_old_branch(tmp_path: Path) -> None:
    """Upstream's merge keeps it: the branch's own copy still has the line."""
    ours = BASE + b"full:H100/z.py SKIP (x)\n"
    done, merged = merge(tmp_path, BASE, ours, without(BASE, b"b.py"))
    assert (done.code, merged) == (0, without(ours, b"b.py"))


def test_a_bug_changed_on_main_is_one_line_and_not_two(tmp_path: Path) -> None:
    """Upstream's merge keeps both lines, and its parser then takes the last."""
    theirs = BASE.replace(b"nvbugs/2", b"nvbugs/22")
    done, merged = merge(tmp_path, BASE, BASE + b"full:H100/z.py SKIP (x)\n", theirs)
    assert (done.code, merged) == (0, theirs + b"full:H100/z.py SKIP (x)\n")


def test_lines_of_the_same_test_under_two_prefixes_are_two(tmp_path: Path) -> None:
    theirs = BASE.replace(
        b"full:H100/a.py::t SKIP (https://nvbugs/1)", b"full:H100/a.py::t SKIP (https://nvbugs/9)"
    )
    done, merged = merge(tmp_path, BASE, BASE.replace(b"(https://nvbugs/1)\nb", b"(https://nvbugs/8)\nb"), theirs)
    assert done.code == 0
    assert merged == theirs.replace(b"(https://nvbugs/1)\nb", b"(https://nvbugs/8)\nb")


def test_what_is_new_goes_to_its_sorted_place_with_its_comment_and_ours_line_ending(tmp_path: Path) -> None:
    theirs = BASE.replace(b"c.py", b"# new\nbb.py SKIP (x)\nc.py").replace(b"# nightly", b"# weekly")
    done, merged = merge(tmp_path, BASE, BASE.replace(b"\n", b"\r\n"), theirs)
    assert (done.code, merged) == (0, theirs.replace(b"\n", b"\r\n"))


def test_one_side_changes_the_line_and_the_other_its_comment(tmp_path: Path) -> None:
    ours, theirs = BASE.replace(b"nvbugs/1)\nb", b"nvbugs/4)\nb"), BASE.replace(b"# nightly", b"# weekly")
    done, merged = merge(tmp_path, BASE, ours, theirs)
    assert (done.code, merged) == (0, ours.replace(b"# nightly", b"# weekly"))


def test_a_real_conflict_is_shown_and_the_rest_is_merged(tmp_path: Path) -> None:
    ours = BASE.replace(b"nvbugs/2", b"nvbugs/20")
    theirs = without(BASE.replace(b"nvbugs/2", b"nvbugs/21"), b"c.py")
    done, merged = merge(tmp_path, BASE, ours, theirs)
    assert done.code == 1
    assert done.err == (
        "conflict: b.py::t: base SKIP (https://nvbugs/2), ours SKIP (https://nvbugs/20), "
        "theirs SKIP (https://nvbugs/21)\n"
    )
    sides = b"b.py::t SKIP (https://nvbugs/20)\n", b"b.py::t SKIP (https://nvbugs/21)\n"
    conflict = b"<<<<<<< ours\n%s=======\n%s>>>>>>> theirs\n" % sides
    assert merged == without(ours, b"c.py").replace(b"b.py::t SKIP (https://nvbugs/20)\n", conflict)
    again = run("merge", *(str(tmp_path / f"{name}.txt") for name in ("base", "ours", "theirs")))
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "marker of an unresolved merge" in again.err


def test_changed_here_and_removed_there_is_a_conflict_either_way(tmp_path: Path) -> None:
    changed, removed = BASE.replace(b"nvbugs/2", b"nvbugs/20"), without(BASE, b"b.py")
    for ours, theirs in ((changed, removed), (removed, changed)):
        done, merged = merge(tmp_path, BASE, ours, theirs)
        assert done.code == 1
        assert "none" in done.err
        assert merged.splitlines()[2] == b"<<<<<<< ours"
        assert merged.replace(b"<<<<<<< ours\n", b"").replace(b"=======\n", b"").replace(
            b">>>>>>> theirs\n", b""
        ) == (changed)


def test_spelling_alone_is_no_change(tmp_path: Path) -> None:
    ours = BASE.replace(b"b.py::t SKIP (", b"b.py::t   SKIP(")
    done, merged = merge(tmp_path, BASE, ours, BASE.replace(b"nvbugs/3", b"nvbugs/33"))
    assert (done.code, merged) == (0, ours.replace(b"nvbugs/3", b"nvbugs/33"))


def test_yaml_items_merge_too_whatever_the_indentation_and_the_name(tmp_path: Path) -> None:
    item = b"- test: %s\n  marker: SKIP\n  bug: https://nvbugs/%d\n"
    base = b"".join(item % (name, 1) for name in (b"a.py", b"c.py"))
    ours = b"".join(b"  " + line for line in base.splitlines(keepends=True))
    theirs = item % (b"a.py", 2) + b"# about b\n" + item % (b"b.py", 1)
    done, merged = merge(tmp_path, base, ours, theirs, suffix="_1a2b3c")
    assert done.code == 0
    assert merged == b"".join(b"  " + line for line in theirs.splitlines(keepends=True))


def test_the_result_goes_where_it_is_asked_to(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{name}.txt") for name in ("base", "ours", "theirs")]
    for name in names:
        Path(name).write_bytes(BASE)
    new = tmp_path / "new.txt"
    assert run("merge", *names, "-o", str(new)).code == 0
    assert new.read_bytes() == BASE
    assert run("merge", *names, "--output", "-") == (0, BASE.decode(), "")
    done = run("merge", *names, "-o", str(tmp_path / "no" / "new.txt"))
    assert (done.code, done.err.count("\n")) == (2, 1)


class _Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
        self.environment = os.environ | quiet
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.org")
        self.git("config", "merge.waives.driver", f'"{sys.executable}" -m harness waives merge %O %A %B')
        (folder / ".gitattributes").write_text("*waives.txt merge=waives\n*waives.yml merge=waives\n")

    def git(self, *arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) is fails, done.stderr
        return done.stdout + done.stderr

    def commit(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")


@pytest.fixture
def repository(tmp_path: Path) -> _Repository:
    return _Repository(tmp_path)


def test_git_merges_through_the_driver_what_it_would_call_a_conflict(repository: _Repository) -> None:
    yaml = b"- test: a.py\n  marker: SKIP\n  bug: https://nvbugs/%d\n"
    repository.commit({"waives.txt": BASE, "waives.yml": yaml % 1})
    repository.git("checkout", "-q", "-b", "branch")
    ours = BASE.replace(b"c.py", b"bb.py SKIP (x)\nc.py")
    repository.commit({"waives.txt": ours, "waives.yml": yaml % 1 + b"- test: b.py\n  marker: SKIP\n"})
    repository.git("checkout", "-q", "main")
    repository.commit({"waives.txt": BASE.replace(b"c.py::t", b"bc.py::t"), "waives.yml": yaml % 2})
    repository.git("checkout", "-q", "branch")
    repository.git("merge", "-q", "--no-edit", "main")
    assert (repository.folder / "waives.txt").read_bytes() == BASE.replace(b"c.py::t", b"bb.py SKIP (x)\nbc.py::t")
    assert (repository.folder / "waives.yml").read_bytes() == yaml % 2 + b"- test: b.py\n  marker: SKIP\n"


def test_git_stops_at_a_real_conflict_with_its_markers_in_the_file(repository: _Repository) -> None:
    repository.commit({"waives.txt": BASE})
    repository.git("checkout", "-q", "-b", "branch")
    repository.commit({"waives.txt": BASE.replace(b"nvbugs/2", b"nvbugs/20")})
    repository.git("checkout", "-q", "main")
    repository.commit({"waives.txt": without(BASE.replace(b"nvbugs/2", b"nvbugs/21"), b"c.py")})
    said = repository.git("merge", "branch", fails=True)
    assert "conflict: b.py::t: base SKIP (https://nvbugs/2), ours SKIP (https://nvbugs/21)" in said
    assert repository.git("status", "--short").strip() == "UU waives.txt"
    assert (
        b"<<<<<<< ours\nb.py::t SKIP (https://nvbugs/21)\n=======\n"
        in (repository.folder / "waives.txt").read_bytes()
    )
