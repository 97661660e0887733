"""`harness waives add`, `remove` and `fmt` as a person runs them: what is said, written, refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from edit_runner import run

SORTED = b"""\
a.py::t SKIP (https://nvbugs/1)
# why b is here
b.py::t[x] SKIP (https://nvbugs/2; owner=me)
full:H100/a.py::t SKIP (https://nvbugs/1)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test_lists").mkdir()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "test_lists" / "waives.txt"
    path.write_bytes(SORTED)
    return path


def added(before: bytes, after: bytes) -> list[bytes]:
    new = after.splitlines(keepends=True)
    for line in before.splitlines(keepends=True):
        new.remove(line)
    return new


# --- add ------------------------------------------------------------------------------------------------


def test_add_inserts_one_line_at_the_sorted_place_of_the_default_file(file: Path) -> None:
    done = run("add", "b.py::t[a]", "--bug", "6535874", "--until", "2026-12-31", "--owner", "spec-dec")
    line = "b.py::t[a] SKIP (https://nvbugs/6535874; owner=spec-dec; until=2026-12-31)"
    assert done == (0, f"test_lists/waives.txt:2: + {line}\n", "")
    before, after = SORTED.splitlines(), file.read_bytes().splitlines()
    assert after == [before[0], line.encode(), *before[1:]]  # above the comment, which is b.py::t[x]'s


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--gpu", "B200"], "full:B200/z.py::t SKIP (https://nvbugs/7)"),
        (["--prefix", "B200", "--marker", "XFAIL"], "full:B200/z.py::t XFAIL (https://nvbugs/7)"),
        (["--reason", "hangs at start"], "z.py::t SKIP (https://nvbugs/7; hangs at start)"),
    ],
)
def test_add_writes_prefix_marker_and_reason(file: Path, options: list[str], line: str) -> None:
    assert run("add", "z.py::t", "--bug", "nvbugs/7", *options).code == 0
    assert added(SORTED, file.read_bytes()) == [line.encode() + b"\n"]


def test_add_keeps_the_bug_url_that_is_given(file: Path) -> None:
    assert run("add", "z.py", "--bug", "https://github.com/o/r/issues/5").code == 0
    assert b"\nz.py SKIP (https://github.com/o/r/issues/5)\n" in file.read_bytes()


def test_add_refuses_a_line_that_is_there_and_points_at_one_for_another_bug(file: Path) -> None:
    same = run("add", "a.py::t", "--bug", "https://nvbugspro.nvidia.com/bug/1")
    assert (same.code, same.out) == (1, "")
    assert same.err == (
        "test_lists/waives.txt:1:1: already there: a.py::t SKIP (https://nvbugs/1); nothing to add\n"
    )
    other = run("add", "full:H100/a.py::t", "--bug", "9")
    assert (other.code, other.out) == (1, "")
    assert other.err.startswith(
        "test_lists/waives.txt:4:1: already there: full:H100/a.py::t SKIP (https://nvbugs/1)"
    )
    assert other.err.endswith("; change that line, or remove it first\n")
    assert file.read_bytes() == SORTED


@pytest.mark.usefixtures("file")
def test_add_says_which_wider_line_waives_the_test_already() -> None:
    done = run("add", "a.py::t[x]", "--bug", "1")
    assert done.code == 0
    assert "test_lists/waives.txt:1:1: waives it already: a.py::t SKIP" in done.err


def test_in_an_unsorted_file_a_line_goes_behind_its_predecessor(file: Path) -> None:
    file.write_bytes(b"m.py SKIP (x)\nz.py SKIP (x)\na.py SKIP (x)\nk.py SKIP (x)\n")
    assert run("add", "l.py", "--bug", "1").code == 0
    assert file.read_bytes().splitlines()[3:] == [b"k.py SKIP (x)", b"l.py SKIP (https://nvbugs/1)"]
    assert run("add", "0.py", "--bug", "1").code == 0  # none is smaller: before the smallest
    assert file.read_bytes().splitlines()[2:4] == [b"0.py SKIP (https://nvbugs/1)", b"a.py SKIP (x)"]


def test_a_new_line_ends_as_its_neighbour_and_keeps_bom_encoding_and_missing_final_newline(file: Path) -> None:
    before = b"\xef\xbb\xbfb.py SKIP (caf\xe9)\r\nd.py SKIP (x)\nf.py SKIP (x)"
    file.write_bytes(before)
    for test in ("a.py", "c.py", "g.py"):
        assert run("add", test, "--bug", "1").code == 0
    new = b" SKIP (https://nvbugs/1)"
    assert file.read_bytes() == (
        b"\xef\xbb\xbfa.py"
        + new
        + b"\r\nb.py SKIP (caf\xe9)\r\nc.py"
        + new
        + b"\r\nd.py SKIP (x)\nf.py SKIP (x)\ng.py"
        + new
    )


def test_a_notice_at_the_top_stays_at_the_top(file: Path) -> None:
    file.write_bytes(b"# SPDX-License-Identifier: Apache-2.0\nb.py SKIP (x)\n")
    assert run("add", "a.py", "--bug", "1").code == 0
    assert file.read_bytes().startswith(b"# SPDX-License-Identifier: Apache-2.0\na.py SKIP")
    assert run("remove", "a.py").code == 0
    assert run("remove", "b.py").code == 0
    assert file.read_bytes() == b"# SPDX-License-Identifier: Apache-2.0\n"


def test_add_and_remove_know_the_yaml_form(tmp_path: Path) -> None:
    path = tmp_path / "waives.yml"
    before = b"- test: a.py::t\n  marker: SKIP # yes\n\n# about z\n- {test: z.py, marker: XFAIL, bug: nvbugs/1}\n"
    path.write_bytes(before)
    arguments = ["k.py::t[a: b]", "--bug", "5", "--gpu", "H100", "--owner", "me", "--until", "2027-01-01"]
    assert run("add", *arguments, "--reason", "it's: slow", "--file", str(path)).code == 0
    item = (
        b"- test: 'k.py::t[a: b]'\n  prefix: H100\n  marker: SKIP\n  bug: https://nvbugs/5\n"
        b"  reason: 'it''s: slow'\n  owner: me\n  until: 2027-01-01\n"
    )
    # 'full:H100/k.py' is between 'a.py' and 'z.py'; the others are parted by blank lines, so this one is.
    assert path.read_bytes() == before.replace(b"\n\n", b"\n\n" + item + b"\n")
    assert run("remove", "k.py::t[a: b]", "--file", str(path)).code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a b SKP", "--bug", "1"], "SKP"),
        (["", "--bug", "1"], "would be broken"),
        (["x.py", "--bug", "#16767"], "a number of which tracker?"),
        (["x.py", "--bug", "soon"], "is no bug"),
        (["x.py", "--bug", "1", "--reason", "a ) b"], "would"),
        (["x.py", "--bug", "1", "--reason", "a; owner=x"], "would not say this"),
        (["x.py", "--bug", "1", "--reason", "see #5"], "leave '#' out"),
        (["full:H100/x.py", "--bug", "1", "--gpu", "B200"], "has a prefix already"),
        (["x.py", "--bug", "1", "--gpu", "H 100"], "would"),
        (["x.py", "--bug", "1", "--until", "tomorrow"], "tomorrow"),
        (["x.py", "--bug", "1", "--marker", "SKP"], "SKP"),
        (["x.py"], "--bug"),
        (["x.py", "--bug", "1", "--file", "gone.txt"], "gone.txt: cannot be read"),
    ],
)
def test_add_refuses_in_one_line_what_would_be_no_waiver(file: Path, arguments: list[str], said: str) -> None:
    done = run("add", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert file.read_bytes() == SORTED


# --- remove ---------------------------------------------------------------------------------------------


def test_remove_takes_every_prefix_of_a_test_or_the_one_that_is_named(file: Path) -> None:
    done = run("remove", "a.py::t", "--prefix", "H100")
    assert done == (0, "test_lists/waives.txt:4: - full:H100/a.py::t SKIP (https://nvbugs/1)\n", "")
    assert file.read_bytes() == SORTED.removesuffix(b"full:H100/a.py::t SKIP (https://nvbugs/1)\n")
    file.write_bytes(SORTED)
    assert run("remove", "a.py::t").out.count("\n") == 2
    assert file.read_bytes() == b"# why b is here\nb.py::t[x] SKIP (https://nvbugs/2; owner=me)\n"


@pytest.mark.parametrize("bug", ["1", "nvbugs/1", "https://nvbugs/1", "https://nvbugspro.nvidia.com/bug/1"])
def test_remove_finds_all_lines_of_a_bug_in_any_spelling(file: Path, bug: str) -> None:
    assert run("remove", "--bug", bug).out.count("\n") == 2
    assert b"nvbugs/1)" not in file.read_bytes()


def test_remove_finds_an_issue_by_its_number(file: Path) -> None:
    file.write_bytes(SORTED + b"z.py SKIP (https://github.com/o/r/pull/16767)\n")
    assert run("remove", "--bug", "#16767").code == 0
    assert file.read_bytes() == SORTED


def test_the_comment_directly_above_a_line_goes_with_it_and_one_above_a_blank_line_stays(file: Path) -> None:
    file.write_bytes(b"# heading\n\n# own\n# too\nb.py SKIP (x)\n\n# next\nc.py SKIP (x)\n")
    assert run("remove", "b.py").code == 0
    assert file.read_bytes() == b"# heading\n\n# next\nc.py SKIP (x)\n"


def test_the_comments_of_a_yaml_item_go_with_it(tmp_path: Path) -> None:
    path = tmp_path / "waives.yml"
    path.write_bytes(
        b"---\n# heading\n\n- test: a.py\n  marker: SKIP\n# own\n- test: b.py # in\n  # inside\n  marker: SKIP\n"
        b"  # of b\n# of c\n- test: c.py\n  marker: SKIP\n"
    )
    assert run("remove", "b.py", "--file", str(path)).code == 0
    assert path.read_bytes() == (
        b"---\n# heading\n\n- test: a.py\n  marker: SKIP\n# of c\n- test: c.py\n  marker: SKIP\n"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["b.py::t[y]"], "no waiver is for b.py::t[y]; did you mean b.py::t[x]"),
        (["b.py::t[x]", "--prefix", "H100"], "no waiver with prefix 'H100' is for b.py::t[x]"),
        (["a.py::t", "b.py"], "no waiver is for b.py"),
        (["--bug", "3"], "no waiver is for bug 3"),
        ([], "nothing to remove"),
    ],
)
def test_remove_writes_nothing_when_something_is_not_there(file: Path, arguments: list[str], said: str) -> None:
    done = run("remove", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert file.read_bytes() == SORTED


# --- fmt ------------------------------------------------------------------------------------------------


def test_fmt_leaves_a_file_in_normal_form_alone_to_the_byte_and_to_the_inode(file: Path) -> None:
    before = file.stat()
    assert run("fmt", str(file)) == (0, "", "")
    assert run("fmt", "--check", str(file)) == (0, "", "")
    assert (file.read_bytes(), file.stat()) == (SORTED, before)


MESSY = b"""\
z.py::t[a  b]   -k "x  y"\tTIMEOUT(90)  SKIP (two  blanks)   #  as  is\x20\x20
# own
a.py ISOLATION , TIMEOUT(5) # c
full:H100/a.py  SKIP(x)

a.py SKIP (x)

a.py SKIP  (x)
b.py SKP (x)\x20
# heading\x20

c.py SKIP (x)
a.py SKIP (x)"""
NORMAL = b"""\
# own
a.py ISOLATION,TIMEOUT (5) # c
a.py SKIP (x)
full:H100/a.py SKIP (x)
z.py::t[a  b] -k "x  y" TIMEOUT (90) SKIP (two blanks) #  as  is
b.py SKP (x)\x20
# heading

a.py SKIP (x)
c.py SKIP (x)
"""


def test_fmt_sorts_between_headings_and_leaves_parameters_quotes_and_broken_lines(file: Path) -> None:
    file.write_bytes(MESSY)
    check = run("fmt", "--check")
    assert check.code == 1
    assert check.out == "test_lists/waives.txt: not in normal form; run harness waives fmt\n"
    assert check.err == "test_lists/waives.txt:9:6: unknown-marker unknown marker 'SKP'; did you mean SKIP?\n"
    assert file.read_bytes() == MESSY
    done = run("fmt")
    assert (done.code, done.out) == (1, "test_lists/waives.txt: formatted\n")  # 1: a line could not be read
    assert file.read_bytes() == NORMAL


def test_fmt_sorts_yaml_items_by_the_line_they_stand_for(tmp_path: Path) -> None:
    path = tmp_path / "waives.yml"
    path.write_bytes(
        b"# heading\n\n- test: z.py\n  marker: TIMEOUT(5)  \n\n# of a\n- test: a.py  -k 'x'\n"
        b"  marker: SKIP\n\n- {test: b.py,  marker: SKIP}\n\n- test: b.py\n  reason: |\n    two \n  marker: SKIP\n"
    )
    assert run("fmt", str(path)).code == 0
    assert path.read_bytes() == (
        b"# heading\n\n# of a\n- test: a.py -k 'x'\n  marker: SKIP\n\n- {test: b.py,  marker: SKIP}\n\n"
        b"- test: b.py\n  reason: |\n    two \n  marker: SKIP\n\n- test: z.py\n  marker: TIMEOUT (5)\n"
    )


def test_fmt_writes_no_file_when_one_of_them_cannot_be_read(file: Path) -> None:
    file.write_bytes(MESSY)
    done = run("fmt", str(file), "gone.txt")
    assert (done.code, done.out) == (2, "")
    assert file.read_bytes() == MESSY


def test_nothing_moves_across_the_markers_of_an_unresolved_merge(file: Path) -> None:
    text = b"c.py SKIP (x)\n<<<<<<< ours\nb.py SKIP (x)\n=======\na.py SKIP (x)\n>>>>>>> theirs\n"
    file.write_bytes(text)
    assert run("fmt").code == 1
    assert file.read_bytes() == text


def test_yaml_in_no_shape_for_line_edits_is_refused(tmp_path: Path) -> None:
    for text, said in (
        (b"[{test: a.py, marker: SKIP}]", "block style"),
        (b"a: 1\n", "no list of waivers"),
        (b"- test: 'a\n", "repair it"),
        (b"- " * 40, "nested"),
    ):
        path = tmp_path / "waives.yml"
        path.write_bytes(text)
        done = run("add", "b.py", "--bug", "1", "--file", str(path))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert said in done.err
        assert path.read_bytes() == text
