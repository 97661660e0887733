"""Tests that end, block or spoil their process: every other test has its right result."""

from __future__ import annotations

from pathlib import Path

import pytest
from torn import MODES, run

HEAD = """
import ctypes, os, pytest, resource, signal, subprocess, sys, time
"""
GOOD = """
def test_good_{n}(): pass
def test_bad_{n}(): assert False, "as it should"
"""
# name -> (body, the word it must have, what its message must hold)
NASTY = {
    "segfaults": ("ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "leaves_as_if_all_were_well": ("os._exit(0)", "crashed", "status 0"),
    "leaves": ("os._exit(3)", "crashed", "status 3"),
    "is_killed_as_the_kernel_does": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed", "SIGKILL"),
    "kills_its_group": ("os.killpg(os.getpgrp(), signal.SIGKILL)", "crashed", "SIGKILL"),
    "calls_pytest_exit": ("pytest.exit('enough')", "crashed", "pytest.exit: enough"),
    "raises_system_exit": ("sys.exit(3)", "failed", "SystemExit"),
    "falls_out_of_a_fork": ("os.fork()", "passed", ""),
    "raises_in_a_fork": ("if os.fork() == 0: raise ValueError", "passed", ""),
    "leaves_a_daemon": ("if os.fork() == 0: os.setsid(); time.sleep(600)", "passed", ""),
    "hangs_in_python": ("while True: time.sleep(0.01)", "hung", ""),
    "hangs_with_its_signals_blocked": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\n    while True: time.sleep(1)",
        "hung",
        "",
    ),
    "sleeps_in_c_until_a_signal_wakes_it": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); ctypes.CDLL(None).usleep(10**9)",
        "hung",
        "",
    ),
    "forks_and_hangs": ("os.fork(); time.sleep(600)", "hung", ""),
    "eats_memory": (
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, resource.RLIM_INFINITY)); bytearray(8 << 30)",
        "failed",
        "MemoryError",
    ),
    "closes_stdout": ("sys.stdout.close(); print('gone')", "failed", "closed file"),
    "closes_descriptors": ("os.close(1); os.close(2)", "passed", ""),
    "overflows_the_stack": (
        "sys.setrecursionlimit(10**7); f = lambda: repr(type('A', (), {'__repr__': lambda _: f()})()); f()",
        "crashed",
        "SIGSEGV",
    ),
}
# What xdist's controller can say of a worker is less than what a parent knows.
AS_WELL = {"closes_stdout": "crashed"}


def project(names: list[str]) -> dict[str, str]:
    parts = [HEAD]
    for n, name in enumerate(names):
        body, word, _ = NASTY[name]
        limit = "@pytest.mark.timeout(0.3)\n" if word == "hung" else ""
        parts += [GOOD.format(n=n), f"{limit}def test_{name}():\n    {body}\n"]
    return {"test_nasty.py": "\n".join([*parts, GOOD.format(n="last")])}


def check(folder: Path, names: list[str], mode: tuple[str, ...]) -> None:
    torn = run(folder, project(names), "--no-confirm", *mode, *(("--max-worker-restart=40",) if mode else ()))
    words, messages = torn.words, torn.messages
    for name, word in words.items():
        if name.startswith("test_good"):
            assert word == "passed", (name, torn.output)
        elif name.startswith("test_bad"):
            assert (word, messages[name]) == ("failed", "AssertionError: as it should"), name
    assert len(words) == 2 * (len(names) + 1) + len(names)
    for name in names:
        _, word, told = NASTY[name]
        allowed = {word, AS_WELL.get(name, word)} if mode else {word}
        assert words[f"test_{name}"] in allowed, (name, words[f"test_{name}"], torn.output)
        assert mode or told in messages[f"test_{name}"], name
    assert torn.status == pytest.ExitCode.TESTS_FAILED


@MODES
def test_crashes_exits_and_hangs_cost_one_test_each(tmp_path: Path, mode: tuple[str, ...]) -> None:
    check(tmp_path, list(NASTY), mode)


@pytest.mark.slow
@MODES
@pytest.mark.parametrize("name", NASTY)
def test_each_by_itself(tmp_path: Path, name: str, mode: tuple[str, ...]) -> None:
    check(tmp_path, [name], mode)
