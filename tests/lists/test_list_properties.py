"""Laws that hold for any text: nothing raises, nothing is lost, printing is the inverse of parsing."""

from __future__ import annotations

import dataclasses

from hypothesis import example, given
from hypothesis import strategies as st

from harness.errors import Place, UsageError
from harness.lists import (
    MARKERS,
    Line,
    Source,
    Token,
    coverage,
    explain_waivers,
    format_line,
    match_entries,
    parse_entry,
    parse_test_db,
    parse_test_list,
    parse_waiver,
    parse_waives,
)

PLACE = Place("f", 1, 1)

# What lines are made of, so that random joins of it reach every rule.
_PIECES = st.sampled_from(
    [
        *MARKERS,
        *(
            "SKP",
            "skip",
            "(",
            ")",
            "(x)",
            "(90)",
            "(a (b) c)",
            "[",
            "]",
            "[x y]",
            '"',
            "'",
            "#",
            "# c",
            ",",
            ";",
            "=",
        ),
        *(
            " ",
            "  ",
            "\t",
            "a.py",
            "::",
            "t",
            "/",
            "unit/b",
            "full:",
            "full:H100/",
            "-k",
            "-m",
            '-k "a b"',
            "--x",
        ),
        *(
            "https://nvbugs/1",
            "owner=me",
            "until=2026-01-01",
            "until=x",
            "\ufeff",
            "\ud83d",
            "é",
            "\\",
            "\x00",
        ),
    ]
)
lines = st.one_of(
    st.text(max_size=80), st.lists(_PIECES, max_size=14).map("".join), st.lists(_PIECES).map(" ".join)
)
one_line = lines.map(lambda text: " ".join(text.splitlines()))

_YAML = st.sampled_from(
    [
        *(
            "l0:\n",
            "- condition:\n",
            "    terms:\n",
            "      stage: x\n",
            "    ranges:\n",
            "  tests:\n",
            "  - a.py::t\n",
        ),
        *(
            "    wildcards: {gpu: ['*']}\n",
            "  - 'a\n",
            "\t",
            "[",
            "]",
            "{",
            "}",
            "&a ",
            "*a",
            "!!x ",
            "? ",
            ": ",
            "- ",
        ),
        *(
            "|\n",
            ">\n",
            "---\n",
            "...\n",
            "%YAML 9\n",
            "<<: *a\n",
            "test: a\n",
            "marker: SKIP\n",
            "\u2028",
            "\x85",
        ),
    ]
)
yaml_texts = st.lists(_YAML, max_size=25).map("".join)


def without_places(line: Line) -> object:
    def strip(value: object) -> object:
        if isinstance(value, Token):
            return value.text
        if isinstance(value, tuple):
            return tuple(strip(item) for item in value)
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value) if field.name not in ("place", "text")]
            return tuple(strip(getattr(value, name)) for name in names)
        return value

    return strip(line)


@given(one_line)
@example("a.py::t[x y] -k 'a b' XFAIL (a (b)) ISOLATION,TIMEOUT(9) # c")
def test_parsing_printing_and_parsing_again_gives_the_same_waiver(text: str) -> None:
    waiver, _ = parse_waiver(text, PLACE)
    if waiver:
        printed = format_line(waiver)
        again, _ = parse_waiver(printed, PLACE)
        assert again is not None
        assert without_places(again) == without_places(waiver)
        assert format_line(again) == printed


@given(one_line)
def test_a_line_is_read_or_reported_or_says_nothing(text: str) -> None:
    for parse in (parse_entry, parse_waiver):
        line, problems = parse(text, PLACE)
        silent = not text.strip() or text.lstrip().startswith("#")
        assert (line is None and not problems) <= silent
        assert all(1 <= problem.place.column <= len(text) + 1 for problem in problems)


@given(one_line)
def test_every_token_stands_where_it_says(text: str) -> None:
    waiver, _ = parse_waiver(text, PLACE)
    if waiver:
        tokens = [waiver.test, *waiver.targets, *waiver.options, *(m.token for m in waiver.markers)]
        tokens += [t for t in (waiver.prefix, waiver.comment, *(m.value for m in waiver.markers)) if t]
        assert all(text[token.place.column - 1 :].startswith(token.text) for token in tokens)


@given(st.one_of(st.binary(max_size=300), lines.map(lambda t: t.encode("utf-8", "surrogatepass"))))
def test_reading_never_raises_on_random_bytes_and_keeps_every_byte(data: bytes) -> None:
    for name, parse in (
        ("f.txt", parse_waives),
        ("f.yml", parse_waives),
        ("f", parse_test_list),
        ("f", parse_test_db),
    ):
        try:
            file = parse(Source.of(data, name))
        except UsageError:  # UTF-16, which is no list
            continue
        assert b"".join(line.body + line.ending for line in file.source.lines) == data
        assert all("\n" not in str(problem) for problem in file.problems)


@given(yaml_texts)
def test_reading_never_raises_on_random_yaml(text: str) -> None:
    data = text.encode()
    db = parse_test_db(Source.of(data, "f.yml"))
    for block in db.blocks:
        for entry in block.entries:
            entry.text.encode()
            assert "\n" not in entry.text
    parse_waives(Source.of(data, "f.yml"))


@given(one_line, one_line)
def test_the_index_and_the_single_look_up_agree(text: str, nodeid: str) -> None:
    entry, _ = parse_entry(text, PLACE)
    if entry:
        (selected,) = match_entries([entry], [nodeid])
        assert bool(selected.ids) is (coverage(entry, nodeid) is not None)


@given(st.lists(one_line, max_size=6), one_line, st.sampled_from(["", "H100-PyTorch-1", "t"]))
def test_explaining_never_raises_and_at_most_one_waiver_decides(texts: list[str], test: str, stage: str) -> None:
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    verdicts = explain_waivers(parse_waives(Source.of(data, "f.txt")), test, stage)
    assert [verdict.decides for verdict in verdicts[1:]].count(True) == 0


@given(st.text("aSKIPful:/.[]=-_", max_size=12) | st.sampled_from(MARKERS) | st.just("full:a/b"))
def test_a_plain_line_is_read_as_one_that_the_parser_takes_apart(text: str) -> None:
    """A blank behind it is no part of a line, and makes it one that is not plain."""
    assert parse_entry(text, PLACE) == parse_entry(f"{text} ", PLACE)
