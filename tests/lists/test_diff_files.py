"""`harness waives diff`: added, removed, changed, moved; for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from edit_runner import run
from hypothesis import given
from hypothesis import strategies as st

from harness.lists import Source
from harness.lists.edits import parse_document
from harness.lists.edits.comparing import diff

A = """\
a.py::t SKIP (https://nvbugs/1)
# why
b.py::t SKIP (https://nvbugs/2)
full:H100/b.py::t SKIP (https://nvbugs/2)
d.py SKIP (x)
"""


def difference(tmp_path: Path, a: str, b: str, *options: str) -> tuple[int, str]:
    (tmp_path / "a.txt").write_text(a)
    (tmp_path / "b.txt").write_text(b)
    done = run("diff", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), *options)
    assert done.err == ""
    return done.code, done.out


def test_each_kind_of_difference_is_one_line(tmp_path: Path) -> None:
    b = """\
d.py SKIP (x)
b.py::t XFAIL (https://nvbugs/22; slow; owner=me)
full:H100/b.py::t SKIP (https://nvbugs/2)
full:B200/b.py::t SKIP (https://nvbugs/2)
e.py SKP (x)
"""
    assert difference(tmp_path, A, b) == (
        1,
        "+ full:B200/b.py::t SKIP (https://nvbugs/2)\n"
        "+ e.py SKP (x)\n"
        "- a.py::t SKIP (https://nvbugs/1)\n"
        "~ b.py::t: marker SKIP -> XFAIL; bug https://nvbugs/2 -> https://nvbugs/22; owner none -> me; "
        "reason none -> slow; comment # why -> none\n"
        "> d.py: line 5 -> 1\n",
    )


def test_the_same_as_json(tmp_path: Path) -> None:
    code, out = difference(tmp_path, A, A.replace("nvbugs/1", "nvbugs/9") + "z.py SKIP\n", "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert report["added"] == [{"line": 6, "text": "z.py SKIP", "test": "z.py", "prefix": ""}]
    assert report["changed"][0]["fields"] == {"bug": {"from": "https://nvbugs/1", "to": "https://nvbugs/9"}}
    assert (report["removed"], report["moved"]) == ([], [])


@pytest.mark.parametrize(
    "b", [A, A.replace(" SKIP (", "   SKIP("), A.replace("d.py", "\n# heading\n\nd.py"), A[:-1]]
)
def test_spelling_blank_lines_and_headings_are_no_difference(tmp_path: Path, b: str) -> None:
    assert difference(tmp_path, A, b) == (0, "")


def test_the_two_forms_are_compared_by_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("full:H100/b.py::t SKIP (https://nvbugs/2; owner=me)\n")
    (tmp_path / "b.yml").write_text(
        "- {test: b.py::t, prefix: H100, marker: SKIP, bug: https://nvbugs/2, owner: me}\n"
    )
    assert run("diff", str(tmp_path / "a.txt"), str(tmp_path / "b.yml")) == (0, "", "")


def test_an_unreadable_file_is_trouble(tmp_path: Path) -> None:
    done = run("diff", str(tmp_path / "gone"), str(tmp_path / "gone"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


lines = st.sampled_from(["a SKIP", "b SKIP", "c/d SKIP", "full:X/a SKIP", "a XFAIL", "# c", "", "e SKP (x)"])
texts = st.lists(lines, max_size=7).map("\n".join)


@given(texts, texts)
def test_what_is_added_one_way_is_removed_the_other_way(a: str, b: str) -> None:
    first, second = (parse_document(Source.of(text.encode(), "waives.txt")) for text in (a, b))
    there, back = diff(first, second), diff(second, first)
    assert (there.added, there.removed) == (back.removed, back.added)
    assert len(there.changed) == len(back.changed)
    assert len(there.moved) == len(back.moved)
    assert not diff(first, first)


@given(st.permutations(["a", "b", "c", "d", "e", "f"]), st.permutations(["a", "b", "c", "d", "e", "f"]))
def test_what_did_not_move_is_in_the_same_order(a: list[str], b: list[str]) -> None:
    first, second = (
        parse_document(Source.of("".join(f"{name}.py SKIP\n" for name in names).encode(), "waives.txt"))
        for names in (a, b)
    )
    moved = {after.waiver.test.text.removesuffix(".py") for _, after in diff(first, second).moved if after.waiver}
    assert [name for name in a if name not in moved] == [name for name in b if name not in moved]
