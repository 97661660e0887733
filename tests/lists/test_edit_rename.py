"""`harness waives rename`: lists and waiver files together, whole names only, all files or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_runner import run

DB = b"""\
l0:\r
- condition:\r
    terms: {stage: pre_merge}\r
  tests:\r
  - a/test_x.py::test_t[one-two] TIMEOUT(90)   # a/test_x.py::test_t\r
  - "a/test_x.py::test_t[three]"\r
  - a/test_x.py::test_t2\r
  - unittest/a/test_x.py -k "test_t"
  - a/test_x.py::Case::test_t
"""
FLAT = b"a/test_x.py\na/test_x.py::test_t ISOLATION\nb/a/test_x.py::test_t"
WAIVES = b"""\
# a/test_x.py::test_t hangs
a/test_x.py::test_t SKIP (https://nvbugs/1)
a/test_x.py::test_t[one-two]  SKIP (a/test_x.py::test_t)
a/test_x.py::test_t_more SKIP (https://nvbugs/1)
full:H100/a/test_x.py::test_t[three] SKIP (https://nvbugs/2)
"""


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "test_lists"
    (folder / "test-db").mkdir(parents=True)
    (folder / "test-db" / "l0.yml").write_bytes(DB)
    (folder / "qa.txt").write_bytes(FLAT)
    (folder / "waives.txt").write_bytes(WAIVES)
    (folder / "notes.md").write_bytes(b"a/test_x.py::test_t\n")
    monkeypatch.chdir(tmp_path)
    return folder


def contents(folder: Path) -> tuple[bytes, bytes, bytes]:
    db, flat, waives = (folder / name for name in ("test-db/l0.yml", "qa.txt", "waives.txt"))
    return db.read_bytes(), flat.read_bytes(), waives.read_bytes()


def test_a_function_takes_its_parametrized_ids_along_and_nothing_that_only_begins_alike(lists: Path) -> None:
    done = run("rename", "a/test_x.py::test_t", "a/test_x.py::test_u")
    assert done.code == 0
    assert "test_lists/waives.txt:5: a/test_x.py::test_t[three] -> a/test_x.py::test_u[three]\n" in done.out
    db, flat, waives = contents(lists)
    old, new = b"a/test_x.py::test_t", b"a/test_x.py::test_u"
    assert db == DB.replace(old + b"[", new + b"[")
    assert flat == FLAT.replace(b"\n" + old + b" ", b"\n" + new + b" ")
    # A sorted waiver file stays sorted: test_t_more is first now. Comments and reasons stay.
    assert waives == (
        b"a/test_x.py::test_t_more SKIP (https://nvbugs/1)\n"
        b"# a/test_x.py::test_t hangs\na/test_x.py::test_u SKIP (https://nvbugs/1)\n"
        b"a/test_x.py::test_u[one-two]  SKIP (a/test_x.py::test_t)\n"
        b"full:H100/a/test_x.py::test_u[three] SKIP (https://nvbugs/2)\n"
    )
    assert (lists / "notes.md").read_bytes() == b"a/test_x.py::test_t\n"


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("a/test_x.py", "a/test_z.py", 10),
        ("a", "c/d", 10),
        ("./a/", "c", 10),
        ("a/test_x.py::test_t[one-two]", "a/test_x.py::test_t[1-2]", 2),
        ("a/test_x.py::test_t[three]", "a/test_x.py::test_t", 2),
        ("a/test_x.py::Case", "a/test_x.py::Group", 1),
        ("a/test_x.py::test_t2", "a/test_x.py::Case::test_t2", 1),
    ],
)
def test_ids_classes_files_and_folders_are_renamed(lists: Path, old: str, new: str, count: int) -> None:
    if new == "a/test_x.py::test_t":
        (lists / "waives.txt").write_bytes(
            WAIVES.replace(b"\na/test_x.py::test_t SKIP", b"\na/test_x.py::other SKIP")
        )
    done = run("rename", old, new)
    assert (done.code, done.out.count("\n")) == (0, count)
    assert run("rename", old, new).code == 2  # there is nothing left of it


def test_renaming_there_and_back_gives_every_byte_back(lists: Path) -> None:
    assert run("rename", "a/test_x.py", "a/test_xx.py").code == 0
    assert contents(lists) != (DB, FLAT, WAIVES)
    assert run("rename", "a/test_xx.py", "a/test_x.py").code == 0
    assert contents(lists) == (DB, FLAT, WAIVES)


def test_yaml_waivers_are_renamed_quotes_and_all(lists: Path) -> None:
    path = lists / "waives.yml"
    path.write_bytes(b"- marker: SKIP\n  test: 'a/test_x.py::test_t[three]' # why\n")
    assert run("rename", "a/test_x.py::test_t", "a/test_x.py::test_u", "--lists", str(path)).code == 0
    assert path.read_bytes() == b"- marker: SKIP\n  test: 'a/test_x.py::test_u[three]' # why\n"
    assert contents(lists) == (DB, FLAT, WAIVES)


def test_an_unreadable_line_with_the_old_name_stays_and_is_reported(lists: Path) -> None:
    (lists / "waives.txt").write_bytes(WAIVES + b"a/test_x.py::test_t SKP (x)\n")
    done = run("rename", "a/test_x.py::test_t", "a/test_x.py::test_u")
    assert done.code == 1
    assert done.err == "test_lists/waives.txt:6:21: unknown-marker unknown marker 'SKP'; did you mean SKIP?\n"
    assert contents(lists)[2].endswith(b"\na/test_x.py::test_t SKP (x)\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("test_t", "test_u", "no list in test_lists has 'test_t'"),
        ("a/test_x.py::test_t", "a/test_y.py", "are of two kinds"),
        ("a/test_x.py", "a/test_y", "are of two kinds"),
        ("a/test_x.py::test_t", "a/test_x.py::test_t[x]", "has parameters"),
        ("a/test_x.py::test_t", "a/test_x.py::test u", "is no name"),
        ("a/test_x.py::test_t", "a/test_x.py::test_u#", "upstream would read"),
        ("a/test_x.py::test_t", "", "is no name"),
        ("a/test_x.py::test_t", "a/test_x.py::test_t_more", "two waivers of 'a/test_x.py::test_t_more'"),
        ("a/test_x.py::test_t[one-two]", "a/test_x.py::test_t[a: b]", "would be read otherwise there"),
    ],
)
def test_a_rename_that_cannot_be_right_changes_no_file(lists: Path, old: str, new: str, said: str) -> None:
    done = run("rename", old, new)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert contents(lists) == (DB, FLAT, WAIVES)


def test_a_name_that_is_written_with_escapes_is_left_to_a_person(lists: Path) -> None:
    (lists / "test-db" / "l0.yml").write_bytes(
        DB.replace(b'"a/test_x.py::test_t[three]"', rb'"a/test\x5fx.py::test_t"')
    )
    done = run("rename", "a/test_x.py::test_t", "a/test_x.py::test_u")
    assert done.code == 2
    assert "test_lists/test-db/l0.yml:6:6: the name is written with escapes or over lines" in done.err
    assert contents(lists)[2] == WAIVES
