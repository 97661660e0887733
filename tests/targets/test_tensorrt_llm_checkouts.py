"""What a whole checkout has beside the workers: modules that are not to run, and modules that cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from laying import lay_tree, speculative

from harness.errors import LaunchError
from harness.launch import Launcher, Run
from harness.protocol import Description
from harness.scenario import Admit, Config, Scenario, Step, Warmup
from harness.trace import Outcome, Trace

SCENARIO = Scenario(Config("dflash", 2, 2, ()), (Warmup(), Admit("r0", 4), Step()))
NEEDS_A_BUILD = {
    "a module of somebody else's": ("import no_such_mpi", "No module named 'no_such_mpi'"),
    "a compiled name": (
        "from tensorrt_llm.bindings import DataType\nBYTES = DataType.FLOAT + 1",
        "FabricatedUseError: tensorrt_llm.bindings.DataType.FLOAT",
    ),
    "an operator": ("import torch\ntorch.ops.trtllm.append", "'_OpNamespace' 'trtllm' object has no attribute"),
    "a registered operator": (
        "import torch\ntorch.library.register_fake('trtllm::append')(lambda: None)",
        "trtllm::append does not exist",
    ),
    "a library": ("import ctypes\nctypes.CDLL('libth_none.so')", "libth_none.so"),
}


def launch(source: Path) -> Trace:
    with Launcher("tensorrt_llm", source=str(source), isolation="none") as launcher:
        return launcher.run(Run(SCENARIO))


def describe(source: Path) -> Description:
    with Launcher("tensorrt_llm", source=str(source), isolation="none") as launcher:
        return launcher.describe()


def begin(folder: Path, module: str, line: str) -> None:
    """Put a line before everything that a module of the tree imports."""
    file = speculative(folder) / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    assert "import torch\n" in text
    file.write_text(text.replace("import torch\n", f"import torch\n{line}\n", 1), encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return lay_tree(tmp_path, "f", "d", "fixed")


def lay_rest(tree: Path) -> None:
    """Lay the files that a checkout has around the workers; each ends at once if it is run."""
    names = {
        "__init__": "", "_torch/__init__": "", "_torch/speculative/__init__": "", "_torch/pyexecutor/__init__": "",
        "_torch/attention_backend/__init__": "", "logger": "logger = 1", "llmapi/__init__": "",
        "_utils": "def prefer_pinned(): ...", "mapping": "class Mapping: ...",
        "_torch/flashinfer_utils": "IS_FLASHINFER_AVAILABLE = False",
        "_torch/cute_dsl_utils": "IS_CUTLASS_DSL_AVAILABLE = True",
        "_torch/attention_backend/interface": "class AttentionMetadata: ...",
        "_torch/attention_backend/trtllm": "class TrtllmAttention: ...",
        "_torch/pyexecutor/resource_manager": "class ResourceManagerType: ...",
        "_torch/pyexecutor/guided_decoder": "class GuidedDecoder: ...",
        "_torch/pyexecutor/llm_request": "ATTENTION_DP_DUMMY_REQUEST_ID = 0",
        "_torch/pyexecutor/cuda_graph_runner": "CUDA_GRAPH_DUMMY_REQUEST_ID = (1 << 64) - 1",
        "_torch/speculative/eagle3": "class Eagle3SpecMetadata: ...",
    }  # fmt: skip
    for name, text in names.items():
        file = tree / "tensorrt_llm" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"raise SystemExit('{name} was run')\n{text}\n", encoding="utf-8")


def test_nothing_beside_the_workers_is_run(tree: Path) -> None:
    alone = launch(tree)
    lay_rest(tree)
    whole = launch(tree)
    assert whole.outcome is Outcome.OK
    assert [s.requests for s in whole.snapshots] == [s.requests for s in alone.snapshots]
    assert not list(tree.rglob("__pycache__"))


def test_a_name_that_the_checkout_does_not_define_is_none_even_if_a_value_stands_ready(tree: Path) -> None:
    lay_rest(tree)
    (tree / "tensorrt_llm" / "_utils.py").write_text("def other_name(): ...\n", encoding="utf-8")
    with pytest.raises(LaunchError, match="cannot import name 'prefer_pinned'"):
        launch(tree)


@pytest.mark.parametrize("kind", NEEDS_A_BUILD)
def test_a_module_that_needs_a_build_gets_a_stand_in_and_the_report_says_so(tree: Path, kind: str) -> None:
    text, reason = NEEDS_A_BUILD[kind]
    (speculative(tree) / "schedule.py").write_text(f"{text}\nWINDOW = 1\n", encoding="utf-8")
    begin(tree, "dflash_base", "from .schedule import WINDOW")
    assert launch(tree).outcome is Outcome.OK
    description = describe(tree)
    (said,) = [name for name in description.stand_ins if "speculative.schedule" in name]
    assert said.startswith("tensorrt_llm._torch.speculative.schedule (needs a build: ")
    assert reason in said
    assert "tensorrt_llm._torch.speculative.schedule" not in description.own


def test_a_use_of_such_a_stand_in_is_one_line_that_says_why_it_is_one(tree: Path) -> None:
    (speculative(tree) / "schedule.py").write_text("import no_such_mpi\nWINDOW = 1\n", encoding="utf-8")
    begin(tree, "dflash_base", "from .schedule import WINDOW\nSLACK = WINDOW + 1")
    with pytest.raises(LaunchError) as caught:
        launch(tree)
    why = (
        "speculative.schedule.WINDOW, whose module cannot run unbuilt (ModuleNotFoundError: No module named "
        "'no_such_mpi'), is a stand-in's and was used (add)"
    )
    assert why in str(caught.value)
    assert "speculative/dflash.py:" in str(caught.value)
    assert "and was used (subclass)" in str(caught.value), "no worker is built on what could not run"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("WINDOW = undefined", "schedule.py:1: NameError"),
        ("WINDOW = (", "schedule.py:1: the tree has a syntax error"),
        ("from .interface import NO_SUCH_NAME as WINDOW", "cannot import name 'NO_SUCH_NAME'"),
        ("raise RuntimeError('a mistake')\nWINDOW = 1", "RuntimeError: a mistake"),
    ],
)
def test_a_module_that_is_wrong_in_itself_gets_no_stand_in(tree: Path, text: str, said: str) -> None:
    (speculative(tree) / "schedule.py").write_text(f"{text}\n", encoding="utf-8")
    begin(tree, "dflash_base", "from .schedule import WINDOW")
    with pytest.raises(LaunchError) as caught:
        launch(tree)
    assert said in str(caught.value)


def test_a_worker_file_itself_gets_no_stand_in(tree: Path) -> None:
    begin(tree, "dspark", "import no_such_mpi")
    with pytest.raises(LaunchError, match=r"dspark\.py:.*No module named 'no_such_mpi'"):
        launch(tree)


def test_bindings_that_this_interpreter_cannot_load_are_no_build(tree: Path) -> None:
    for name in ("bindings.pyi", "bindings.cpython-27m-x86_64-linux-gnu.so"):
        (tree / "tensorrt_llm" / name).write_bytes(b"")
    assert "tensorrt_llm.logger" in describe(tree).stand_ins


def test_a_module_imported_from_its_package_is_the_trees_own(tree: Path) -> None:
    begin(tree, "interface", "from . import context_store\nassert context_store.__file__")
    assert launch(tree).outcome is Outcome.OK


def test_ranges_for_a_profiler_are_no_use_of_a_stand_in(tree: Path) -> None:
    text = "from ..._utils import nvtx_range\n@nvtx_range('step')\ndef twice(x):\n    return 2 * x"
    begin(tree, "dspark", f"{text}\nassert twice(2) == 4")
    assert launch(tree).outcome is Outcome.OK
