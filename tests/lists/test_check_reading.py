"""What reading finds comes through the check commands, each code from a file that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_support import run

from harness.lists.checks import RULES

BUG = "SKIP (https://nvbugs/1)"
DB = "l0:\n- condition:\n  tests:\n"

# code -> file name and text
SHOWN: dict[str, tuple[str, str | bytes]] = {
    "bad-date": ("waives.txt", "a.py SKIP (https://nvbugs/1; until=2026-02-30)\n"),
    "bad-encoding": ("waives.txt", b"a.py::t[\xff] SKIP (https://nvbugs/1)\n"),
    "bad-prefix": ("waives.txt", f"full:H100 {BUG}\n"),
    "bad-timeout": ("waives.txt", f"a.py {BUG} TIMEOUT (soon)\n"),
    "bare-word": ("waives.txt", f"a.py -k a and b {BUG}\n"),
    "byte-order-mark": ("waives.txt", b"\xef\xbb\xbfa.py SKIP (https://nvbugs/1)\n"),
    "conflict-marker": ("waives.txt", "<<<<<<< ours\n"),
    "control-character": ("waives.txt", f"a.py::t[\x07] {BUG}\n"),
    "duplicate-key": ("l0.yml", "l0: []\nl0: []\n"),
    "empty-entry": ("l0.yml", DB + "  - ''\n"),
    "empty-field": ("waives.txt", "a.py SKIP (https://nvbugs/1; owner=)\n"),
    "field-twice": ("waives.txt", "a.py SKIP (https://nvbugs/1; owner=a; owner=b)\n"),
    "line-too-long": ("waives.txt", f"{'a' * 20_000}.py {BUG}\n"),
    "marker-twice": ("waives.txt", f"a.py {BUG} SKIP\n"),
    "missing-key": ("l0.yml", "l0:\n- tests: []\n"),
    "missing-value": ("waives.txt", f"a.py -k {BUG}\n"),
    "no-marker": ("waives.txt", "a.py\n"),
    "no-test": ("waives.txt", f"{BUG} a.py\n"),
    "open-bracket": ("waives.txt", f"a.py::t[x {BUG}\n"),
    "open-parenthesis": ("waives.txt", "a.py SKIP (https://nvbugs/1\n"),
    "open-quote": ("waives.txt", f'a.py -k "x {BUG}\n'),
    "option-twice": ("waives.txt", f'a.py -k "x" -k "y" {BUG}\n'),
    "prefix-in-list": ("l0.yml", DB + "  - full:H100/a.py\n"),
    "reason-without-parentheses": ("waives.txt", "a.py SKIP https://nvbugs/1\n"),
    "template-syntax": ("waives.txt", f"a.py::t[${{x}}] {BUG}\n"),
    "text-after-marker": ("waives.txt", f"a.py {BUG} text\n"),
    "unknown-field": ("waives.txt", "a.py SKIP (https://nvbugs/1; onwer=a)\n"),
    "unknown-key": ("l0.yml", "l0:\n- condition:\n  tests: []\n  test: []\n"),
    "unknown-marker": ("waives.txt", "a.py SKPI (https://nvbugs/1)\n"),
    "wrong-type": ("l0.yml", "l0:\n- condition:\n  tests: a.py\n"),
    "yaml-depth": ("l0.yml", f"l0: {'[' * 40}{']' * 40}\n"),
    "yaml-feature": ("l0.yml", "l0: &anchor []\n"),
    "yaml-syntax": ("l0.yml", DB + "  - a.py\n  - {b: c: d}\n  - e.py\n"),
}


@pytest.mark.parametrize("code", SHOWN)
def test_a_file_that_shows_it_is_a_finding_of_this_code_alone(tmp_path: Path, code: str) -> None:
    name, text = SHOWN[code]
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = run("waives" if name == "waives.txt" else "lists", "check", str(file))
    assert ran.code == 1
    assert set(ran.codes) - {"upstream-level", "upstream-reading"} == {code}
    assert RULES[code].severity == "error" or f": {code} (warning) " in ran.out


def test_every_code_of_reading_is_shown() -> None:
    reading = list(RULES)[: list(RULES).index("unknown-folder")]
    assert set(SHOWN) == set(reading) - {"too-many"}


def test_far_more_findings_than_a_person_can_read_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "waives.txt").write_text("a.py SKIP\n" * 12_000)
    ran = run("waives", "check", str(tmp_path / "waives.txt"))
    assert ran.out.count("too-many") == 1
    assert len(ran.out.splitlines()) < 11_000
