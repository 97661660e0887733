"""Random bytes and mutated lists through reading and checking: no traceback, no hang, little memory.

`HARNESS_FUZZ_SECONDS=600 pytest tests/lists/test_check_fuzz.py -s` is the long run of docs/evidence/lists-fuzz.md.
"""

from __future__ import annotations

import itertools
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from check_support import IDS

from harness.errors import Place, UsageError
from harness.lists import Source, parse_entry, parse_test_db, parse_test_list, parse_waives
from harness.lists.bugstates import BugState, BugStates, read_bug_states
from harness.lists.checks import Against, Finding, check_test_db, check_test_list, check_waivers
from harness.lists.checks.baseline import compare, read_baseline
from harness.lists.checks.output import github_lines, json_text
from harness.lists.checks.sarif import sarif_text
from harness.lists.known import IdTests, read_ids
from harness.lists.known.source import SourceTests
from harness.lists.stages import Stage, read_stages

LONGEST_SECONDS = 20  # of CPU
MOST_MEMORY = 200 * 1024 * 1024

WAIVES = b"""\
# the first comment
accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm] SKIP (https://nvbugs/6000001; owner=a; until=2026-12-31)
full:H100_PCIe/test_e2e.py::test_chat[model-a-fast] XFAIL (nested (text) here) # why
test_e2e.py::test_chat[model-b] UNSTABLE (https://nvbugs/2) TIMEOUT (90) ISOLATION
unittest/executor -k "async and not (slow or x)" -m 'gpu2' SKIP (https://nvbugs/3)
full:A10/unittest/a.py unittest/b/c unittest/executor/test_rpc.py::TestRpc SKIP
TestLlama::test_bf16 SKP (x)
"""
YAML_WAIVES = b"""\
- test: accuracy/test_llm.py::TestLlama::test_fp8[tp2-trtllm]
  prefix: H100_PCIe
  markers: [SKIP, TIMEOUT (90)]
  bug: https://nvbugs/6000001
  until: 2026-12-31
- {test: 'test_e2e.py', marker: XFAIL, reason: "a # b"}
"""
DB = b"""\
version: 0.0.1
l0_h100:
- condition:
    ranges: {system_gpu_count: {gte: 1, lte: 2}}
    wildcards:
      gpu: ['*h100*', "*a10*"]
    terms: {stage: pre_merge, on: true}
  tests:
  - accuracy/test_llm.py::TestLlama TIMEOUT(60) # slow
  - unittest/executor -k "async" ISOLATION,TIMEOUT (90)
  - 'test_e2e.py::test_chat[model-a-fast]'
- condition:
    wildcards: {gpu: '*h100*'}
  tests:
  - test_e2e.py::test_chat[model-a-fast]
"""
PYTHON = b"""\
import pytest
from shared import *
from .base import Base, V
X = [1, "a", None]
@pytest.mark.parametrize("x,y", [(1, X), pytest.param(2, {}, id="two")], ids=["a", None])
@pytest.mark.parametrize("z", X + [3])
def test_a(x, y, z, tmp_path): pass
class TestB(Base):
    pytestmark = [pytest.mark.parametrize("k", range(3))]
    def test_c(self, k=lambda: 1): pass
"""
BUGS = b"number,state,closed on\n6000001,closed,2026-01-02\n7,open,\n"
JSON_BUGS = b'[{"number": 1, "state": "closed", "closed_on": "2026-01-02"}, {"id": "x", "status": "y"}]'
STAGES = b"# stages\nH100_PCIe-PyTorch-1\nnightly gpu=H100,system_gpu_count=8\n"
BASELINE = b'{"version": 1, "findings": [{"file": "w.txt", "code": "no-reason", "subject": "a", "count": 2}]}\n'
WORDS = [
    *(
        b"SKIP XFAIL full: full:H100/ :: [ ] ( ) # ; until= owner= -k \" ' , - . / \\ .py unittest/ &a *a !!x "
    ).split(),
    *(
        b"<<<<<<< ",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\r",
        b"\r\n",
        b"\0",
        b"\x1b[31m",
        b"${x}",
        b"{" * 40,
        b"- " * 40,
    ),
    *(
        "\u2028\u0085\u202e\ud7ff\U0001f600".encode(),
        b"a/" * 3000,
        b"T::" * 3000,
        b"((" * 2000,
        b"9" * 5000,
        b"\n" * 50,
    ),
]
AGAINST = Against(
    tests=IdTests(IDS.splitlines()),
    stages=(Stage("H100_PCIe-PyTorch-1", {"gpu": "H100", "system_gpu_count": 1}), Stage("A10-1", {})),
    bugs=BugStates([BugState("6000001", "closed")]),
    listed=[entry for name in IDS.split()[::2] if (entry := parse_entry(name, Place("l", 1, 1))[0])],
    require_owner=True,
)


def _checked(findings: list[Finding]) -> None:
    for finding in findings:
        assert str(finding)
    list(github_lines(findings))
    json_text(findings, 0)
    sarif_text(findings)


def _read_waives(data: bytes, name: str) -> None:
    _checked(check_waivers(parse_waives(Source.of(data, name)), AGAINST))


def _known(folder: Path, data: bytes) -> None:
    (folder / "test_m.py").write_bytes(data)
    known = SourceTests(folder)
    text = f"test_m.py::test_a[x] SKIP (nvbugs/1)\ntest_m.py::TestB::test_c SKIP\n{data[:300].decode('latin-1')}"
    _checked(check_waivers(parse_waives(Source.of(text.encode(), "w.txt")), Against(tests=known)))


def _from_file(folder: Path, data: bytes, read: Callable[[Path], object]) -> None:
    file = folder / "input"
    file.write_bytes(data)
    read(file)


def targets(folder: Path) -> list[tuple[str, bytes, Callable[[bytes], object]]]:
    """Name, a valid input, and what reads it."""

    def baseline(file: Path) -> object:
        return compare([], read_baseline(str(file)), str(file))

    return [
        ("waives.txt", WAIVES, lambda data: _read_waives(data, "w.txt")),
        ("waives.yml", YAML_WAIVES, lambda data: _read_waives(data, "w.yml")),
        (
            "test-db",
            DB,
            lambda data: _checked(check_test_db(parse_test_db(Source.of(data, "l0_h100.yml")), AGAINST)),
        ),
        (
            "flat list",
            WAIVES,
            lambda data: _checked(check_test_list(parse_test_list(Source.of(data, "l")), AGAINST)),
        ),
        ("source", PYTHON, lambda data: _known(folder, data)),
        ("ids", IDS.encode(), lambda data: _from_file(folder, data, read_ids)),
        ("bugs, CSV", BUGS, lambda data: _from_file(folder, data, read_bug_states)),
        ("bugs, JSON", JSON_BUGS, lambda data: _from_file(folder, data, read_bug_states)),
        ("stages", STAGES, lambda data: _from_file(folder, data, read_stages)),
        ("baseline", BASELINE, lambda data: _from_file(folder, data, baseline)),
    ]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The input after some edits of bytes, words and lines; now and then random bytes, or very much of it."""
    kind = chance.random()
    if kind < 0.1:
        return chance.randbytes(chance.randrange(2000))
    if kind < 0.11:
        return data * chance.choice((50, 500, 5000))
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(data) + 1)
        end = min(at + chance.randrange(1, 30), len(data))
        edit = chance.randrange(6)
        if edit == 0:
            data = data[:at] + chance.choice(WORDS) + data[at:]
        elif edit == 1:
            data = data[:at] + chance.choice(WORDS) + data[end:]
        elif edit == 2:
            data = data[:at] + data[end:]
        elif edit == 3:
            data = data[:at] + chance.randbytes(chance.randrange(1, 4)) + data[at:]
        elif edit == 4:
            data = data[:at] + data[at:end] * chance.randrange(2, 40) + data[end:]
        else:
            lines = data.splitlines(keepends=True)
            chance.shuffle(lines)
            data = b"".join(lines)
    return data


def _hangs(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"signal {signum}: over {LONGEST_SECONDS} s in {frame}")


def fuzz(folder: Path, seed: int, more: Callable[[int], bool]) -> Iterator[tuple[str, float]]:
    """Give every reader its input in turn, as long as `more` says. Yields its name and seconds of CPU."""
    chance = random.Random(seed)
    signal.signal(signal.SIGPROF, _hangs)
    for count, (name, data, read) in enumerate(itertools.cycle(targets(folder))):
        if not more(count):
            return
        given = mutated(data, chance)
        message = ""
        started = time.process_time()  # of this process alone: a busy machine is no hang
        signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)
        try:
            read(given)
        except UsageError as error:
            message = str(error)
        except BaseException:
            (folder / "failing").write_bytes(given)
            print(f"\nseed {seed}, input {count}, {name}: kept as {folder / 'failing'}")  # noqa: T201
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        assert len(message.splitlines()) < 2
        yield name, time.process_time() - started


def test_random_and_mutated_files_never_raise_or_hang(tmp_path: Path) -> None:
    worst = max(seconds for _, seconds in fuzz(tmp_path, 17, lambda count: count < 400))
    assert worst < LONGEST_SECONDS


@pytest.mark.skipif("HARNESS_FUZZ_SECONDS" not in os.environ, reason="set HARNESS_FUZZ_SECONDS for the long run")
@pytest.mark.slow
def test_a_long_run_stays_within_time_and_memory(tmp_path: Path) -> None:
    until = time.monotonic() + float(os.environ["HARNESS_FUZZ_SECONDS"])
    counts: dict[str, int] = {}
    worst: dict[str, float] = {}
    for name, seconds in fuzz(
        tmp_path, random.SystemRandom().randrange(2**32), lambda _: time.monotonic() < until
    ):
        counts[name] = counts.get(name, 0) + 1
        worst[name] = max(worst.get(name, 0.0), seconds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for name, count in counts.items():
        print(f"\n{name}: {count} inputs, longest {worst[name]:.2f} s", end="")  # noqa: T201
    print(f"\n{sum(counts.values())} inputs, peak memory {memory / 2**20:.0f} MiB")  # noqa: T201
    assert memory < MOST_MEMORY
