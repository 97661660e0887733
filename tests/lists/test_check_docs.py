"""What the documentation, the rules and the hooks promise is what the code does."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import yaml
from check_support import run

from harness.errors import Place
from harness.lists import parse_waiver
from harness.lists.checks import RULES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "waivers.md").read_text()
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def sections() -> dict[str, str]:
    parts = re.split(r"^### `([a-z-]+)`$", PAGE.partition("## Every finding")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_finding_has_a_section_that_says_what_its_rule_says() -> None:
    found = sections()
    assert set(found) == set(RULES)
    for code, text in found.items():
        rule, words = RULES[code], " ".join(text.split())
        assert words.startswith(f"{rule.severity.capitalize()}: {rule.title}. {rule.help}"), code


def test_every_code_that_the_package_reports_is_a_rule_and_the_other_way_round() -> None:
    reported: set[object] = set()
    written: set[object] = set()
    for file in (ROOT / "harness" / "lists").rglob("*.py"):
        if file.name.startswith("rules"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant):
                written.add(node.value)
            elif isinstance(node, ast.Call):
                called = getattr(node.func, "id", "") or (
                    "report" if ast.unparse(node.func) == "self.report" else ""
                )
                if called in ("Problem", "find", "report"):
                    reported.update(a.value for a in node.args[:1] if isinstance(a, ast.Constant))
    assert len(reported) > 50
    assert reported <= set(RULES)
    assert set(RULES) <= written


def test_every_test_of_the_table_exists_and_every_problem_has_one() -> None:
    named = re.findall(r"^\| (\d+) \|.*\| `(test_\w+)` \|$", PAGE, re.MULTILINE)
    source = (ROOT / "tests" / "lists" / "test_check_thirty_problems.py").read_text()
    assert [int(number) for number, _ in named] == list(range(1, 31))
    assert [name for _, name in named] == re.findall(r"^def (test_\w+)", source, re.MULTILINE)


def test_every_link_inside_the_page_has_its_heading() -> None:
    found = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    headings = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings


def test_the_examples_of_the_page_are_what_they_say() -> None:
    corrected = [line[2:] for line in re.findall(r"^\+ .+$", PAGE, re.MULTILINE)]
    assert len(corrected) > 10
    for line in corrected:
        waiver, problems = parse_waiver(line, Place("docs", 1, 1))
        assert waiver is not None, line
        assert not problems, line


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_every_hook_takes_the_right_files_and_runs(tmp_path: Path, hook: dict[str, str]) -> None:
    waiver, db = "test_lists/waives.txt", "test_lists/test-db/l0_a.yml"
    wanted, other = (waiver, db) if "waives" in hook["id"] else (db, waiver)
    assert re.search(hook["files"], wanted)
    assert not re.search(hook["files"], other)
    assert not re.search(hook["files"], f"{wanted}.orig")
    command = shlex.split(hook["entry"])
    assert command[0] == "harness"
    text = {waiver: "a.py::t SKIP (https://nvbugs/1)\n", db: "l0_a:\n- condition:\n  tests: [a.py]\n"}[wanted]
    file = tmp_path / Path(wanted).name
    file.write_text(text)
    assert run(*command[1:], str(file)).code == 0
    file.write_text("<<<<<<< HEAD\n" + text)
    assert run(*command[1:], str(file)).codes == ["conflict-marker"]
