"""Which tests are known: from ids and collection output, and from source that is parsed, never imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.lists.known import IdTests, Kind, KnownTests, Status, Suggester, merged, read_ids, resolve
from harness.lists.known.source import SourceTests

COLLECTED = """\
a/test_x.py::test_one[p-1]
a/test_x.py::test_one[has space]
a/test_x.py::TestC::TestInner::test_two

=============================== warnings summary ===============================
a/test_x.py:3
  /home/u/a/test_x.py:3: PytestUnknownMarkWarning: Unknown mark std::vector
-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html
=========================== short test summary info ============================
ERROR a/test_broken.py - ModuleNotFoundError: No module named 'torch'
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
3 tests collected, 1 error in 0.10s
"""

# Every way of making tests that can be read, beside some that cannot.
SOURCE = {
    "conftest.py": """
import pytest
@pytest.fixture
def tree(tmp_path): return tmp_path
""",
    "shared/__init__.py": "",
    "shared/base.py": """
import pytest
MODES = ["eager", "graph"]
slow = pytest.mark.skipif(False, reason="")
class Base:
    def test_inherited(self): pass
    @pytest.mark.parametrize("mode", MODES)
    def test_modes(self, mode): pass
def test_imported(): pass
""",
    "test_forms.py": """
import pytest
from shared.base import MODES, Base, slow, test_imported
from shared import base

NUMBERS = [1, -2, 1.5]

@pytest.mark.parametrize("x", [0, True, None, "\\u00e9", "a b"])
@pytest.mark.parametrize(("y", "z"), [(1, [2]), pytest.param(3, {}, id="named")])
@slow
def test_stacked(x, y, z, tree, monkeypatch): pass

@pytest.mark.parametrize("n", NUMBERS + [7], ids=["one", None, 3, "seven"])
def test_ids(n): pass

@pytest.mark.parametrize(argnames="m", argvalues=MODES)
def test_imported_constant(m): pass

@pytest.mark.parametrize("r", range(1, 4))
async def test_range(r): pass

class TestChild(Base):
    def test_own(self): pass
    class TestNested:
        def test_deep(self): pass

@pytest.mark.parametrize("k", ["k1"])
class TestMarked(base.Base):
    @pytest.mark.parametrize("own", ["o1", "o2"])
    def test_both(self, own, k): pass
    def test_inherited(self, k): pass
    def test_modes(self, k): pass

if True:
    def test_in_branch(): pass

@pytest.mark.parametrize(["single"], [("v1",), (2,)])
def test_list_of_one_name(single): pass

test_values = ["no", "tests"]

class FalseTestCase:
    def test_not_collected_either(self): pass
class Derived(FalseTestCase):
    pass

def helper(): pass
class Helper:
    def test_not_collected(self): pass
""",
    "test_module_mark.py": """
import pytest
pytestmark = [pytest.mark.parametrize("g", ["g1", "g2"])]
def test_marked(g): pass
""",
    "test_unittest.py": """
import unittest
class Plain(unittest.TestCase):
    def test_method(self): pass
""",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def known_ids(known: KnownTests) -> set[str]:
    found = set()
    for path in known.paths():
        file = known.file(path)
        assert file is not None
        for name, parameters in file.functions.items():
            assert parameters is not None, name
            found |= {f"{path}::{name}[{one}]" for one in parameters} or {f"{path}::{name}"}
    return found


def test_collection_output_gives_its_ids_and_remembers_what_broke(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(COLLECTED)
    known = read_ids(tmp_path / "out.txt")
    assert list(known.ids()) == COLLECTED.splitlines()[:3]
    assert resolve(known, "a/test_x.py::TestC::TestInner")[:2] == (Status.FOUND, Kind.CLASS)
    assert resolve(known, "a").status is Status.FOUND
    broken = resolve(known, "a/test_broken.py::test_any")
    assert (broken.status, broken.why) == (Status.OPEN, "pytest could not collect it")


@pytest.mark.parametrize("text", ["", "no tests ran in 0.1s\n", "a/test_x.py: 12\n", "  a.py::indented\n"])
def test_a_file_without_an_id_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ids").write_text(text)
    with pytest.raises(UsageError, match="holds no test id; expected ids as 'pytest --collect-only -q'"):
        read_ids(tmp_path / "ids")


def test_source_gives_exactly_the_ids_that_pytest_collects(tmp_path: Path) -> None:
    write(tmp_path, SOURCE)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--rootdir=."]
    done = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True, check=True)
    (tmp_path / "ids").write_text(done.stdout)
    collected = set(read_ids(tmp_path / "ids").ids())
    source = SourceTests(tmp_path)
    found = {name for name in known_ids(source) if not name.startswith("shared/")}
    assert found == collected


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("@pytest.mark.parametrize('x', make())\ndef test_a(x): pass", "test_a[1]"),
        ("@pytest.mark.parametrize('x', [torch.float16])\ndef test_a(x): pass", "test_a[1]"),
        ("@pytest.mark.parametrize('x', [1, 2], ids=lambda x: x)\ndef test_a(x): pass", "test_a[x1]"),
        ("@pytest.mark.parametrize('x', [1, 1])\ndef test_a(x): pass", "test_a[1_0]"),
        ("@pytest.mark.parametrize('x', [*many])\ndef test_a(x): pass", "test_a[1]"),
        ("@other.decorator\ndef test_a(): pass", "test_a[1]"),
        ("def test_a(fixture_of_a_plugin): pass", "test_a[1]"),
        ("@pytest.fixture(params=[1])\ndef f(request): pass\ndef test_a(f): pass", "test_a[1]"),
        ("@pytest.fixture(params=[1], autouse=True)\ndef f(request): pass\ndef test_a(): pass", "test_a[1]"),
        ("@pytest.mark.usefixtures('gone')\ndef test_a(): pass", "test_a[1]"),
        (f"@pytest.mark.parametrize('x', ['{'a' * 101}'])\ndef test_a(x): pass", "test_a[x0]"),
        (
            "def pytest_make_parametrize_id(): pass\n@pytest.mark.parametrize('x', [1])\ndef test_a(x): pass",
            "test_a[2]",
        ),
        ("def pytest_generate_tests(metafunc): pass\ndef test_a(): pass", "test_a[1]"),
        ("X = [1]\nX.append(2)\n@pytest.mark.parametrize('x', X)\ndef test_a(x): pass", "test_a[3]"),
        ("X = [1]\nX += [2]\n@pytest.mark.parametrize('x', X)\ndef test_a(x): pass", "test_a[3]"),
        ("from elsewhere import *", "test_any"),
        ("class TestA(outside.Base): pass", "TestA::test_any"),
        ("for n in (1, 2):\n    def test_a(): pass", "test_any"),
        ("globals()['test_x'] = len", "test_x"),
        ("test_made = make()", "test_made[1]"),
        ("class TestA:\n    test_made = make()", "TestA::test_made[1]"),
        ("from outside import TestThing", "TestThing::test_any"),
        ("@parameterized.expand([1])\ndef test_a(): pass", "test_a_0"),
        ("def broken(:", "test_any"),
        ("\0", "test_any"),
        ("x = " + "(" * 500 + ")" * 500, "test_any"),
    ],
)
def test_what_only_running_the_code_can_tell_stays_open(tmp_path: Path, body: str, target: str) -> None:
    write(tmp_path, {"test_m.py": f"import pytest\n{body}\n"})
    result = resolve(SourceTests(tmp_path), f"test_m.py::{target}")
    assert result.status is Status.OPEN
    assert result.why


@pytest.mark.parametrize(
    ("body", "target", "kind"),
    [
        ("@pytest.mark.parametrize('x', [1])\ndef test_a(x): pass", "test_a[2]", Kind.PARAMETER),
        ("def test_a(tmp_path): pass", "test_a[1]", Kind.PARAMETER),
        ("def test_a(): pass", "test_b", Kind.TEST),
        ("test_cases = [1]", "test_cases", Kind.TEST),
        ("class TestA: pass", "TestA::test_x", Kind.TEST),
        ("class TestA: pass", "TestB::test_x", Kind.CLASS),
    ],
)
def test_what_the_source_shows_to_be_missing_is_missing(
    tmp_path: Path, body: str, target: str, kind: Kind
) -> None:
    write(tmp_path, {"test_m.py": f"import pytest\n{body}\n"})
    assert resolve(SourceTests(tmp_path), f"test_m.py::{target}")[:2] == (Status.MISSING, kind)


def test_source_is_never_imported(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"test_m.py": "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\ndef test_a(): pass\n"},
    )
    assert resolve(SourceTests(tmp_path), "test_m.py::test_a").status is Status.FOUND
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd.py", "a/../../x.py", "x" * 5000 + ".py", "\0.py"])
def test_no_list_can_make_the_check_look_outside_its_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outside.py").write_text("def test_a(): pass\n")
    assert resolve(SourceTests(tmp_path / "inner"), f"{path}::test_a").status is Status.MISSING


def test_a_test_that_moved_is_found_in_the_source_that_defines_it(tmp_path: Path) -> None:
    text = "def test_moved(): pass\n"
    write(
        tmp_path,
        {"a/test_new.py": text, "b/test_other.py": "def test_else(): pass\n", ".hidden/test_old.py": text},
    )
    known = SourceTests(tmp_path)
    assert known.paths() == ["a/test_new.py", "b/test_other.py"]
    assert known.holders("test_moved") == ["a/test_new.py"]
    assert Suggester(known).suggest("b/test_other.py::test_moved") == ["a/test_new.py::test_moved"]
    assert Suggester(known).suggest_homeless("test_moved") == ["a/test_new.py::test_moved"]


def test_a_cycle_of_bases_and_imports_ends(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "test_a.py": "from test_b import *\nfrom test_b import TestX\nclass TestA(TestX): pass\n",
            "test_b.py": "from test_a import *\nfrom test_a import TestX\nclass TestB(TestB): pass\n",
        },
    )
    assert resolve(SourceTests(tmp_path), "test_a.py::TestA::test_y").status is Status.OPEN


def test_two_sources_know_together_what_either_knows() -> None:
    one = IdTests(["a.py::t[1]", "a.py::u"], broken=["b.py"])
    both = merged([one, IdTests(["a.py::t[2]", "b.py::t", "c/d.py::T::t"])])
    assert both is not None
    for target in ("a.py::t[1]", "a.py::t[2]", "a.py::u", "b.py::t", "c", "c/d.py::T"):
        assert resolve(both, target).status is Status.FOUND, target
    assert resolve(both, "b.py::gone").status is Status.MISSING  # the second could collect it
    assert both.paths() == ["a.py", "b.py", "c/d.py"]


def test_among_very_many_names_one_mistake_anywhere_is_still_found() -> None:
    names = [f"tp{i % 7}-layers{i}-mode{i % 3}-{i * 7919 % 100_000}-end{i % 11}" for i in range(20_000)]
    suggester = Suggester(IdTests(f"a.py::test_x[{name}]" for name in names))
    for name in names[::1500]:
        for wrong in (f"z{name[1:]}", f"{name[:-1]}x", name.replace("layers", "layrs")):
            assert suggester.suggest(f"a.py::test_x[{wrong}]")[0] == f"a.py::test_x[{name}]"


def test_a_suggestion_always_exists_and_never_repeats() -> None:
    known = IdTests(
        ["a/t.py::T::test_one[x]", "a/t.py::T::test_two", "b/t.py::T::test_one[y]", "b/t.py::test_one"]
    )
    wrong = [
        "t.py::T::test_one[x]",
        "a/t.py::T::test_on[x]",
        "a/t.py::U::test_one",
        "b/t.py::T::test_one[z]",
        "c",
        "a/u.py",
    ]
    for target in wrong:
        found = Suggester(known).suggest(target)
        assert len(found) == len(set(found)) <= 3
        assert all(resolve(known, name).status is Status.FOUND for name in found)
