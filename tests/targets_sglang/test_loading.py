"""How an unpacked SGLang is loaded: its own modules from their files, all others strict, errors in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.targets.common.names import NamesRead
from harness.targets.sglang.cache import PrefixCache
from harness.targets.sglang.given import OWN
from harness.targets.sglang.loader import ROOTS

DFLASH = ROOTS["dflash"].replace(".", "/") + ".py"
# A worker that names, calls and passes on what is not its own.
WORKER = """\
from sglang.srt.managers.scheduler import GenerationBatchResult, Scheduler
from sglang.srt.layers.sampler import multiply
import zmq

RESULT = GenerationBatchResult

class Worker:
    scheduler: Scheduler

def compute():
    return multiply(2, 3)
"""
FILES = {
    DFLASH: WORKER,
    "sglang/srt/managers/scheduler.py": (
        "from sglang.srt.managers.utils import GenerationBatchResult\n"
        "class Scheduler: ...\nraise SystemExit('ran')\n"
    ),
    "sglang/srt/managers/utils.py": "class GenerationBatchResult: ...\n",
    "sglang/srt/layers/sampler.py": "def multiply(a, b): ...\n",
    "triton/__init__.py": "",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree of our own: every module that the harness asks for, empty but for `FILES`."""
    folder = tmp_path / "tree"
    for name in ROOTS.values():
        write(folder / f"{name.replace('.', '/')}.py", "")
    for name, text in FILES.items():
        write(folder / name, text)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def loaded(tree: Path, program: str) -> Any:
    """Load the tree in a process of its own and return what `program` leaves in `told`."""
    whole = (
        f"import json, sys\nsys.path.append({str(tree)!r})\nfrom pathlib import Path\n"
        "from harness.errors import LaunchError\nfrom harness.targets.sglang.loader import load_tree\n"
        f"try:\n    tree = load_tree(Path({str(tree)!r}), 'cpu')\n"
        "except LaunchError as error:\n    print(json.dumps(str(error)))\n    raise SystemExit\n"
        f"{program}\nprint(json.dumps(told))"
    )
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_own_modules_come_from_their_files_and_all_others_are_never_run(tree: Path) -> None:
    told = loaded(tree, "told = [list(tree.own), tree.dflash.Worker.__module__]")
    assert told[1] == ROOTS["dflash"]
    assert "sglang.srt.managers.utils" in told[0]
    assert "sglang.srt.managers.scheduler" not in told[0]


def test_a_stand_in_can_be_named_and_not_used(tree: Path) -> None:
    program = (
        "try:\n    told = tree.dflash.compute()\n"
        "except Exception as error:\n    told = [type(error).__name__, str(error)]"
    )
    kind, message = loaded(tree, program)
    assert kind == "FabricatedUseError"
    assert message.startswith("sglang.srt.layers.sampler.multiply ")


def test_a_name_that_a_stand_in_only_passes_on_is_the_real_one(tree: Path) -> None:
    told = loaded(
        tree,
        "from sglang.srt.managers.utils import GenerationBatchResult as real\ntold = tree.dflash.RESULT is real",
    )
    assert told is True


def test_a_name_that_the_engine_does_not_define_stays_missing(tree: Path) -> None:
    write(tree / DFLASH, "from sglang.srt.layers.sampler import divide\n")
    assert loaded(tree, "told = None") == (
        f"{DFLASH}:1: ImportError: cannot import name 'divide' from 'sglang.srt.layers.sampler' (unknown location)"
    )


def test_a_tree_without_dspark_says_so_in_one_line(tree: Path) -> None:
    (tree / (ROOTS["dspark"].replace(".", "/") + ".py")).unlink()
    told = loaded(tree, "told = None")
    assert told.endswith("dspark_worker_v2.py there, so no dspark worker to launch")


def test_a_broken_module_is_named_with_its_line(tree: Path) -> None:
    write(tree / DFLASH, "x = 1\nraise ValueError('broken on purpose')\n")
    assert loaded(tree, "told = None") == f"{DFLASH}:2: ValueError: broken on purpose"


def test_torch_compile_is_not_asked_while_the_engine_is_imported_and_back_afterwards(tree: Path) -> None:
    write(tree / DFLASH, f"{WORKER}\nimport torch\n\n@torch.compile(dynamic=True)\ndef double(x): return 2 * x\n")
    program = (
        "import torch\ntold = [tree.dflash.double(4), 'torch._dynamo' in sys.modules, torch.compile.__module__]"
    )
    assert loaded(tree, program) == [8, False, "torch"]


def test_no_bytecode_is_written_into_a_folder_that_belongs_to_somebody(tree: Path) -> None:
    loaded(tree, "told = None")
    assert not [path for path in tree.rglob("*.pyc") if "triton" not in str(path)]


def test_a_process_holds_one_engine_and_its_kernels_for_one_device(tree: Path, tmp_path: Path) -> None:
    program = (
        f"told = [load_tree(Path({str(tree)!r}), 'cpu') is tree]\n"
        f"for folder, device in (({str(tmp_path)!r}, ''), ({str(tree)!r}, 'cuda:0')):\n"
        "    try:\n        load_tree(Path(folder), device)\n"
        "    except LaunchError as error:\n        told.append(str(error))"
    )
    assert loaded(tree, program) == [
        True,
        f"{tmp_path}: this process holds {tree} already",
        f"{tree}: this process holds its kernels for another device than cuda:0",
    ]


def test_names_read_are_kept_beside_a_fetched_engine_and_read_no_second_time(tmp_path: Path) -> None:
    module, kept = tmp_path / "sampler.py", tmp_path / "names.json"
    module.write_text("from sglang.srt.other import passed\ndef made(): ...\n")
    names = NamesRead(kept)
    first = names.read(module, "sglang.srt.layers.sampler")
    assert first.defined == frozenset({"passed", "made"})
    assert first.passed_on == {"passed": ("sglang.srt.other", "passed")}
    names.keep()
    module.write_text("this is no Python\n")
    assert NamesRead(kept).read(module, "sglang.srt.layers.sampler") == first


def test_names_read_after_loading_are_kept_for_the_processes_beside_and_after(tmp_path: Path) -> None:
    modules, kept = [tmp_path / "first.py", tmp_path / "late.py"], tmp_path / "names.json"
    for module in modules:
        module.write_text("def made(): ...\n")
    one, beside = NamesRead(kept), NamesRead(kept)
    for names in (one, beside):
        names.read(modules[0], "sglang.first")
        names.keep()
    late = one.read(modules[1], "sglang.late")
    for module in modules:
        module.write_text("this is no Python\n")
    assert late.defined == frozenset({"made"})
    assert beside.read(modules[1], "sglang.late") == late
    after = NamesRead(kept)
    assert [after.read(module, f"sglang.{module.stem}") for module in modules] == [late, late]


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    module = tmp_path / "late.py"
    module.write_text("def made(): ...\n")
    names = NamesRead(tmp_path / "no" / "names.json")
    names.keep()
    assert names.read(module, "sglang.late").defined == frozenset({"made"})


def test_what_is_own_is_listed_once_and_in_order() -> None:
    assert list(OWN) == sorted(set(OWN), key=OWN.index)
    assert not [name for name in OWN for other in OWN if name.startswith(f"{other}.")]


class Allocator:
    def __init__(self) -> None:
        self.freed: list[Any] = []

    def free(self, places: Any) -> None:
        self.freed.append(places)


def test_a_prefix_is_kept_for_who_comes_with_the_same_prompt_until_others_need_its_place() -> None:
    allocator = Allocator()
    cache = PrefixCache(1, allocator)
    places: Mapping[str, Any] = {"a": [1, 2, 3], "b": [4]}
    others: Any = [9]
    assert cache.keep("a", places["a"])
    assert not cache.keep("a", others), "kept already: the caller frees his own"
    assert cache.take("a", 4) is None
    assert cache.take("a", 2) == [1, 2]
    assert not cache.keep("b", places["b"]), "a's are in use, and there is one place"
    assert not cache.keep("a", places["a"])
    assert cache.keep("b", places["b"])
    assert allocator.freed == [places["a"]]
