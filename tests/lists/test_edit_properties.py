"""Laws of editing: what an edit does not concern stays byte for byte; add and remove undo each other."""

from __future__ import annotations

from codecs import BOM_UTF8

from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.lists import Source, Waiver, parse_waives
from harness.lists.edits import Document, parse_document, remove
from harness.lists.edits.adding import add, clash, new_waiver
from harness.lists.edits.formatting import fmt
from harness.lists.edits.layout import is_sorted, place_key
from harness.lists.edits.removing import lines_of
from harness.lists.edits.renaming import Renaming, rename_in

tests = st.sampled_from(
    ["a.py::t", "a.py::t[x]", "a.py::t[x y]", "a.py::tt", "b/a.py", 'b -k "p  q"', "é.py::t", "b/c.py::C::t[p-q]"]
)
prefixes = st.sampled_from(["", "", "H100", "B200"])
outcomes = st.sampled_from(
    [
        "SKIP (https://nvbugs/1)",
        "SKIP (https://nvbugs/2)",
        "SKIP(https://nvbugs/3;  owner=me)",
        "XFAIL   (why (not))",
        "SKIP",
        "ISOLATION,TIMEOUT(5)",
        "UNSTABLE (x) # c",
    ]
)
blanks = st.sampled_from([" ", " ", "  ", "\t"])


@st.composite
def waiver_lines(draw: st.DrawFn) -> str:
    prefix = draw(prefixes)
    return (f"full:{prefix}/" if prefix else "") + draw(tests) + draw(blanks) + draw(outcomes)


others = st.sampled_from(["", "", "  ", "# c", "# d", " # e", "a.py::t SKP (x)", "full:/ x", "# SPDX-x", "\x00 z"])
endings = st.sampled_from(["\n", "\n", "\r\n"])


def joined(lines: list[tuple[str, str]], bom: bool, final: bool) -> bytes:
    text = "".join(body + ending for body, ending in lines)
    return ("\ufeff" if bom else "").encode() + (text if final else text.removesuffix(lines[-1][1])).encode()


def text_files(least: int = 0) -> st.SearchStrategy[bytes]:
    line = st.one_of(waiver_lines(), waiver_lines(), others)
    pairs = st.lists(st.tuples(line, endings), min_size=least or 1, max_size=9)
    return st.one_of(st.just(b""), st.builds(joined, pairs, st.booleans(), st.booleans()))


YAML_TESTS = ["a.py::t", "a.py::t[x]", "b/a.py", "  c.py  # why", "'d'"]


@st.composite
def yaml_files(draw: st.DrawFn) -> bytes:
    column = draw(st.sampled_from([0, 0, 2]))
    gap = draw(st.sampled_from(["", "", "\n", "# own\n", "\n# own\n", "# free\n\n"]))
    pieces = [draw(st.sampled_from(["", "---\n", "# head\n\n", "# SPDX-x\n"]))]
    for _ in range(draw(st.integers(1, 5))):
        fields = [f"test: {draw(st.sampled_from(YAML_TESTS))}"]
        if prefix := draw(prefixes):
            fields.append(f"prefix: {prefix}")
        fields += ["marker: " + draw(st.sampled_from(["SKIP", "XFAIL", "TIMEOUT(5)"])), "bug: https://nvbugs/1  "]
        shape = draw(st.sampled_from(["block", "block", "flow", "broken"]))
        if shape == "flow" and "[" not in fields[0] and "#" not in fields[0]:
            pieces.append(" " * column + "- {" + ", ".join(field.strip() for field in fields) + "}\n")
        else:
            fields += ["odd: 1"] if shape == "broken" else []
            pieces += [f"{' ' * column}{'  ' if i else '- '}{field}\n" for i, field in enumerate(fields)]
        pieces.append(draw(st.sampled_from([gap, gap, ""])))
    text = "".join(pieces)
    return (text if draw(st.booleans()) else text.removesuffix("\n")).encode()


def document(data: bytes, form: str = "text") -> Document:
    return parse_document(Source.of(data, "waives.yml" if form == "yaml" else "waives.txt"))


files = st.one_of(st.tuples(text_files(), st.just("text")), st.tuples(yaml_files(), st.just("yaml")))
NEW = [
    new_waiver("a.py::new[x]", "7"),
    new_waiver("z/z.py", "7", prefix="H100", owner="me"),
    new_waiver("0.py", "7"),
]


def said_lines(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line.strip()]


@given(st.one_of(files, st.tuples(st.binary(max_size=200), st.just("text"))))
def test_the_items_of_any_file_joined_are_the_file(file: tuple[bytes, str]) -> None:
    try:
        read = document(*file)
    except UsageError:  # UTF-16
        return
    assert read.data == file[0]
    assert list(read.waivers) == list(parse_waives(read.source).waivers)[: len(read.waivers)]


@given(files, st.sampled_from(NEW))
@example((b"a.py::t SKIP\r\n\r\n# c\r\nz/zz.py SKIP", "text"), NEW[1])
@example((b"- test: a\n  marker: SKIP\n\n- test: z\n  marker: SKIP\n", "yaml"), NEW[0])
@example((b"- test: a\n  marker: SKIP\n- odd: 1\n\n- test: z\n  marker: SKIP\n", "yaml"), NEW[0])
def test_removing_what_was_added_gives_the_file_back(file: tuple[bytes, str], waiver: Waiver) -> None:
    before = document(*file)
    assume(before.waivers or not before.items)
    added = add(before, waiver).reread()
    indices = lines_of(added, [waiver.test.text], prefix=waiver.head)
    assert len(added.waivers) == len(before.waivers) + 1
    assert remove(added, indices).data == before.data


@given(files, st.sampled_from(NEW))
def test_adding_changes_no_line_and_no_order_of_the_others(file: tuple[bytes, str], waiver: Waiver) -> None:
    before = document(*file)
    after = add(before, waiver).reread()
    old, new = (d.data.removeprefix(d.bom).splitlines() for d in (before, after))
    rest = list(new)
    for line in old:
        assert line in rest
        del rest[: rest.index(line) + 1]
    assert clash(after, waiver)
    if is_sorted(before):
        assert is_sorted(after)


@given(files, st.data())
def test_removing_one_leaves_all_other_items_as_they_are(file: tuple[bytes, str], data: st.DataObject) -> None:
    before = document(*file)
    waivers = [i for i, item in enumerate(before.items) if item.waiver]
    assume(waivers)
    index = data.draw(st.sampled_from(waivers))
    after = remove(before, {index}).reread()
    kept = b"".join(item.data for i, item in enumerate(before.items) if i != index)
    assert said_lines(after.data.removeprefix(after.bom)) == said_lines(kept)
    assert len(after.waivers) == len(waivers) - 1
    if after.items and after.items[-1].kind != "blank":
        assert after.final_newline == before.final_newline


@given(files)
@example((b"b SKIP\n\n# head\n\n\na SKIP\n# own\nA SKIP\n\n", "text"))
@example((b"- test: b\n  marker: SKIP\n\n- test: a\n  marker: SKIP\n", "yaml"))
def test_formatting_twice_is_formatting_once(file: tuple[bytes, str]) -> None:
    once = fmt(document(*file))
    assert fmt(once.reread()).data == once.data


@given(files)
def test_formatting_neither_loses_nor_changes_a_waiver_or_a_comment(file: tuple[bytes, str]) -> None:
    before = document(*file)
    after = fmt(before).reread()

    def meant(read: Document) -> set[object]:
        return {
            (place_key(item), tuple((m.name, " ".join(str(m.value).split())) for m in item.waiver.markers))
            for item in read.items
            if item.waiver
        }

    def comments(data: bytes) -> set[bytes]:
        return {line.strip() for line in data.removeprefix(BOM_UTF8).splitlines() if line.strip().startswith(b"#")}

    assert meant(after) == meant(before)
    assert comments(after.data) == comments(before.data)
    broken, still_broken = ([i.lines for i in d.items if i.kind == "other"] for d in (before, after))
    assert still_broken == broken


@given(text_files())
def test_renaming_there_and_back_gives_the_file_back(data: bytes) -> None:
    before = document(data)
    there = rename_in(before.source, Renaming.of("a.py", "a_.py"))
    back = rename_in(Source.of(there.rewrite.data, "waives.txt"), Renaming.of("a_.py", "a.py"))
    assert sorted(back.rewrite.data.split()) == sorted(data.split())
    assert b"a.py" not in there.rewrite.data.replace(b"b/a.py", b"").replace(b"a.py::t SKP", b"")
    if not is_sorted(before):
        assert back.rewrite.data == data
