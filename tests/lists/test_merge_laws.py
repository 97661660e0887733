"""Laws of the three-way merge, on random files of both forms and on random edits of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.lists import Source
from harness.lists.edits import Document, parse_document
from harness.lists.edits.content import by_key, said
from harness.lists.edits.merging import merge

# Every line in both forms, by its column.
FORMS = ("waives.txt", "waives.yml")


def waiver(prefix: str, test: str, bug: str, comment: str) -> tuple[str, str]:
    text = f"{f'full:{prefix}/' if prefix else ''}{test} SKIP (https://nvbugs/{bug})\n"
    limited = f"  prefix: {prefix}\n" if prefix else ""
    return comment + text, f"{comment}- test: {test}\n{limited}  marker: SKIP\n  bug: https://nvbugs/{bug}\n"


lines = st.one_of(
    st.builds(
        waiver,
        st.sampled_from(["", "", "H100"]),
        st.sampled_from(["a.py::t", "a.py::t[x]", "b.py", "c/d.py::C::t", "e.py::t"]),
        st.sampled_from("12"),
        st.sampled_from(["", "", "", "# own\n", "# other\n"]),
    ),
    st.sampled_from([("\n", "\n"), ("# heading\n\n", "# heading\n\n"), ("a.py SKP (x)\n", "- odd: x\n")]),
)
# Sides that share most of their lines, so that the merge has something to keep; or nothing but by chance.
sides = st.sampled_from(["bot", "bot", "bot", "bo", "bt", "b", "o", "t", "ot"])


@st.composite
def triples(draw: st.DrawFn) -> tuple[Document, Document, Document]:
    form = draw(st.sampled_from([0, 0, 1]))
    shared = draw(st.lists(st.tuples(lines, sides), max_size=8))
    alone = [draw(st.lists(lines, max_size=2)) for _ in "bot"]
    base, ours, theirs = (
        document(
            "".join(line[form] for line in [*(s[0] for s in shared if name in s[1]), *more]).encode(), FORMS[form]
        )
        for name, more in zip("bot", alone, strict=True)
    )
    return base, ours, theirs


Triple = tuple[Document, Document, Document]


def document(data: bytes, name: str) -> Document:
    return parse_document(Source.of(data, name))


def as_set(read: Document) -> dict[object, frozenset[object]]:
    """What a file says, without regard to order and blank lines."""
    return {key: frozenset(said(item, read) for item in items) for key, items in by_key(read.items).items()}


@given(triples())
def test_what_only_ours_changed_is_ours_byte_for_byte(triple: Triple) -> None:
    base, ours, _ = triple
    assert merge(base, ours, base) == (ours.data, ())


@given(triples())
def test_what_only_theirs_changed_is_theirs_as_a_set(triple: Triple) -> None:
    base, _, theirs = triple
    merged = merge(base, base, theirs)
    assert not merged.conflicts
    assert as_set(document(merged.data, base.source.file)) == as_set(theirs)


@given(triples())
def test_merging_either_way_gives_the_same_set_and_the_same_conflicts(triple: Triple) -> None:
    base, ours, theirs = triple
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert {conflict[:2] for conflict in one.conflicts} == {conflict[:2] for conflict in other.conflicts}
    if not one.conflicts:
        assert as_set(document(one.data, base.source.file)) == as_set(document(other.data, base.source.file))


@given(triples())
def test_merging_the_same_side_again_changes_nothing(triple: Triple) -> None:
    base, ours, theirs = triple
    merged = merge(base, ours, theirs)
    if not merged.conflicts:
        assert merge(base, document(merged.data, base.source.file), theirs) == merged


@given(triples())
def test_both_sides_alike_are_no_conflict(triple: Triple) -> None:
    base, ours, _ = triple
    assert merge(base, ours, ours) == (ours.data, ())


@given(triples())
def test_no_waiver_is_lost_that_no_side_removed_and_none_comes_back_that_one_did(triple: Triple) -> None:
    base, ours, theirs = triple
    merged = merge(base, ours, theirs)
    clashing = {("waiver", *conflict[:2]) for conflict in merged.conflicts}
    b, o, t = ({key for key in by_key(side.items) if key[0] == "waiver"} for side in triple)
    kept = ((o | t) - (b - o) - (b - t)) - clashing
    if not merged.conflicts or base.form == "text":
        read = document(merged.data, base.source.file)
        assert {key for key in by_key(read.items) if key[0] == "waiver"} - clashing == kept
