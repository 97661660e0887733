"""Running the check commands as a person does, and reading what they print."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import NamedTuple

from harness.cli import main

__all__ = ["IDS", "Ran", "check_lists", "check_waives", "run"]

# The known tests of most tests here.
IDS = """\
accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm]
accuracy/test_llm.py::TestLlama::test_fp8[tp4-trtllm]
accuracy/test_llm.py::TestLlama::test_bf16
accuracy/test_llm.py::TestQwen::test_bf16[latency]
cpp/test_unit_tests.py::test_unit_tests[kernels-90]
stress_test/stress_test.py::test_run_stress[stage_alert]
test_e2e.py::test_chat[model-a-fast]
unittest/executor/test_rpc.py::TestRpc::test_async
unittest/executor/test_worker.py::test_worker[1]
"""


class Ran(NamedTuple):
    """What a command did. `findings` are (line, code), in the order in which they were printed."""

    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[tuple[int, str]]:
        found = re.findall(r"^[^\n:]+:(\d+)(?::\d+)?: ([a-z-]+)", self.out, re.MULTILINE)
        return [(int(line), code) for line, code in found]

    @property
    def codes(self) -> list[str]:
        return [code for _, code in self.findings]

    def says(self, *parts: str) -> bool:
        """Whether one printed line has all of these parts."""
        return any(all(part in line for part in parts) for line in self.out.splitlines())


def run(*arguments: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as left:
            code = int(left.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def check_waives(folder: Path, text: str, *options: str, ids: str | None = IDS, name: str = "waives.txt") -> Ran:
    return _check("waives", folder, text, options, ids, name)


def check_lists(folder: Path, text: str, *options: str, ids: str | None = None, name: str = "l0_h100.yml") -> Ran:
    return _check("lists", folder, text, options, ids, name)


def _check(group: str, folder: Path, text: str, options: tuple[str, ...], ids: str | None, name: str) -> Ran:
    (folder / name).write_text(text)
    if ids is not None:
        (folder / "ids.txt").write_text(ids)
        options = (*options, "--tests", str(folder / "ids.txt"))
    return run(group, "check", str(folder / name), *options)
