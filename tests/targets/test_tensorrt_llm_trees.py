"""Trees that cannot be launched, and what is said of those that can."""

from __future__ import annotations

from pathlib import Path

import pytest
from laying import lay_tree, speculative

from harness.errors import ExitCode, LaunchError
from harness.launch import Launcher, Run
from harness.scenario import Admit, Config, Scenario, Step, Warmup
from harness.trace import Outcome, Trace

SCENARIO = Scenario(Config("dflash", 2, 2, ()), (Warmup(), Admit("r0", 4), Step()))


def launch(source: str, scenario: Scenario = SCENARIO) -> Trace:
    with Launcher("tensorrt_llm", source=source, isolation="none") as launcher:
        return launcher.run(Run(scenario))


def edit(folder: Path, module: str, old: str, new: str) -> None:
    file = speculative(folder) / f"{module}.py"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return lay_tree(tmp_path, "e", "d", "fixed")


@pytest.mark.parametrize(
    ("module", "old", "new", "said"),
    [
        ("dflash", "class DFlashWorker", "class class", "speculative/dflash.py:"),
        ("dflash", "class DFlashWorker", "import no_such_package\n\n\nclass DFlashWorker", "'no_such_package'"),
        ("dspark", "self._win_inited = False", "raise OSError('no such device')", "OSError: no such device"),
        ("dflash_base", "self._req_to_slot = {}", "pass", "not found: _req_to_slot"),
        ("utils", "def get_spec_worker", "def other_name", "has no get_spec_worker"),
    ],
)
def test_a_tree_that_cannot_be_launched_is_named_in_one_line(
    tree: Path, module: str, old: str, new: str, said: str
) -> None:
    edit(tree, module, old, new)
    scenario = SCENARIO if module != "dspark" else Scenario(Config("dspark", 2, 2, ()), SCENARIO.operations)
    with pytest.raises(LaunchError, match="target tensorrt_llm cannot be opened") as caught:
        launch(str(tree), scenario)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.UNSUPPORTED


def test_a_folder_without_workers_says_which_file_is_missing(tree: Path) -> None:
    (speculative(tree) / "dspark.py").unlink()
    with pytest.raises(LaunchError, match=r"no tensorrt_llm/_torch/speculative/dspark\.py"):
        launch(str(tree))
    with pytest.raises(LaunchError, match="no folder tensorrt_llm/"):
        launch(str(tree / "tensorrt_llm" / "_torch"))
    with pytest.raises(LaunchError, match="needs --source"):
        launch("")


def test_a_form_that_a_family_lacks_is_unsupported_with_the_reason(tree: Path) -> None:
    trace = launch(f"{tree}?layout=managed")
    assert trace.outcome is Outcome.UNSUPPORTED
    assert "DFlash E takes no draft cache manager" in trace.detail
    with pytest.raises(LaunchError, match=r"layout=dense\|paged\|managed\|mla"):
        launch(f"{tree}?layout=round")


def test_a_worker_that_raises_in_a_legal_step_is_an_error_with_its_operation(tree: Path) -> None:
    edit(tree, "dflash_base", "self._advance(slots, accepted)", "raise RuntimeError('lost a page')")
    trace = launch(str(tree))
    assert (trace.outcome, trace.at) == (Outcome.ERROR, 2)
    assert "RuntimeError: lost a page" in trace.detail
    assert "dflash_base.py" in trace.detail


def test_a_worker_that_raises_in_its_warm_up_is_an_error_too(tree: Path) -> None:
    edit(
        tree,
        "dflash_base",
        "tokens, counts = self",
        "raise RuntimeError('no warm-up')\n        tokens, counts = self",
    )
    assert (launch(str(tree)).outcome, launch(str(tree)).at) == (Outcome.ERROR, 0)


def test_a_use_of_something_fabricated_is_an_error_that_names_it(tree: Path) -> None:
    edit(
        tree,
        "dflash_base",
        "tokens, counts = self",
        "ResourceManagerType.NOTHING()\n        tokens, counts = self",
    )
    edit(
        tree,
        "dflash_base",
        "import torch",
        "import torch\nfrom ..pyexecutor.resource_manager import ResourceManagerType",
    )
    trace = launch(str(tree))
    assert trace.outcome is Outcome.ERROR
    assert (
        "FabricatedUseError: tensorrt_llm._torch.pyexecutor.resource_manager.ResourceManagerType.NOTHING"
        in trace.detail
    )


def test_a_guarded_import_of_what_the_tree_lacks_stays_a_missing_module(tree: Path) -> None:
    guarded = "try:\n    from .absent import it\nexcept ImportError:\n    it = None\nassert it is None"
    edit(tree, "dspark", "import torch\n", f"import torch\n{guarded}\n")
    assert launch(str(tree)).outcome is Outcome.OK


def test_a_name_that_a_module_of_the_tree_does_not_define_cannot_be_imported(tree: Path) -> None:
    package = tree / "tensorrt_llm" / "_torch" / "pyexecutor"
    package.mkdir()
    (package / "llm_request.py").write_text("OTHER_NAME = 1\n", encoding="utf-8")
    edit(
        tree,
        "dspark",
        "import ATTENTION_DP_DUMMY_REQUEST_ID",
        "import NEVER_DEFINED as ATTENTION_DP_DUMMY_REQUEST_ID",
    )
    with pytest.raises(LaunchError, match="cannot import name 'NEVER_DEFINED'"):
        launch(str(tree))


def test_a_description_names_the_trees_own_modules_and_the_stand_ins(tree: Path) -> None:
    with Launcher("tensorrt_llm", source=str(tree), isolation="none") as launcher:
        description = launcher.describe()
    assert description.version == "no commit known; DFlash E, DSpark d"
    assert "tensorrt_llm._torch.speculative.dflash" in description.own
    assert "tensorrt_llm.logger" in description.stand_ins
    assert "draft model" in description.stand_ins
    assert not description.keeps_absent


def test_a_description_says_which_worker_a_variant_leaves_out(tree: Path) -> None:
    with Launcher("tensorrt_llm", source=f"{tree}?layout=managed", isolation="none") as launcher:
        version = launcher.describe().version
    assert "no dflash in this form: DFlash E takes no draft cache manager" in version
    assert version.endswith("DSpark d")


def test_two_trees_never_meet_in_one_process(tmp_path: Path) -> None:
    first, second = lay_tree(tmp_path / "one", "e", "d", "fixed"), lay_tree(tmp_path / "two", "g", "e", "fixed")
    for source, families in (
        (first, "DFlash E, DSpark d"),
        (second, "DFlash G, DSpark e"),
        (first, "DFlash E, DSpark d"),
    ):
        with Launcher("tensorrt_llm", source=str(source), isolation="none") as launcher:
            assert launcher.describe().version.endswith(families)
            assert launcher.run(Run(SCENARIO)).outcome is Outcome.OK


def test_a_complete_package_is_imported_with_nothing_fabricated(tree: Path) -> None:
    package = tree / "tensorrt_llm"
    own = {
        "__init__": "", "_torch/__init__": "", "_torch/speculative/__init__": "", "bindings": "COMPILED = True\n",
        "logger": "import logging\nlogger = logging.getLogger('tensorrt_llm')\n",
        "_utils": "def prefer_pinned():\n    return False\n",
        "_torch/flashinfer_utils": "IS_FLASHINFER_AVAILABLE = False\n",
        "_torch/attention_backend/__init__": "",
        "_torch/attention_backend/interface": "class AttentionMetadata:\n    num_seqs = property()\n",
        "_torch/attention_backend/trtllm": "class TrtllmAttention: ...\n",
        "_torch/pyexecutor/__init__": "",
        "_torch/pyexecutor/resource_manager": "class ResourceManagerType: ...\n",
        "_torch/pyexecutor/guided_decoder": "class GuidedDecoder: ...\n",
        "_torch/pyexecutor/llm_request": "ATTENTION_DP_DUMMY_REQUEST_ID = 0\n",
        "_torch/pyexecutor/cuda_graph_runner": "CUDA_GRAPH_DUMMY_REQUEST_ID = (1 << 64) - 1\n",
        "_torch/speculative/eagle3": "class Eagle3SpecMetadata: ...\n",
    }  # fmt: skip
    for name, text in own.items():
        file = package / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tree / "flashinfer.py").write_text("__version__ = '0.6.4'\n", encoding="utf-8")
    assert launch(str(tree)).outcome is Outcome.OK
    with Launcher("tensorrt_llm", source=str(tree), isolation="none") as launcher:
        description = launcher.describe()
    assert "tensorrt_llm.logger" in description.own
    assert not [name for name in description.stand_ins if name.startswith("tensorrt_llm")]
    assert not list(tree.rglob("__pycache__")), "a tree that belongs to somebody gets no bytecode"
