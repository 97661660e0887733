"""The facts that conditions are compared with: given by a person, or found on this machine."""

from __future__ import annotations

import re
from contextlib import suppress

from harness.errors import UsageError
from harness.lists.condition import Facts

__all__ = ["detect_facts", "parse_facts"]

_Value = str | int | float | bool
_KEY = re.compile(r"[A-Za-z_][\w.-]*")
_SECTIONS = ("ranges", "wildcards", "terms")
_NVIDIA_SMI_SECONDS = 5


def parse_facts(text: str) -> dict[str, _Value]:
    """Read `gpu=H100,stage=pre_merge`, or a JSON object, flat or with the sections of a condition.

    Raises UsageError when it is neither, or gives a key twice.
    """
    if text.lstrip().startswith("{"):
        return _from_json(text)
    facts: dict[str, _Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator or not _KEY.fullmatch(key):
            raise UsageError(f"'{part}' is no fact; expected key=value,... or a JSON object")
        if key in facts:
            raise UsageError(f"the fact '{key}' is given twice; keep one")
        # A YAML boolean in a list is True or False as text; a person types it in small letters.
        facts[key] = {"true": True, "false": False}.get(value, value)
    return facts


def _from_json(text: str) -> dict[str, _Value]:
    import json

    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'the facts are no JSON: {error}; expected e.g. {{"gpu": "H100"}}') from error
    pairs = [
        pair
        for key, value in given.items()
        for pair in (value.items() if key in _SECTIONS and isinstance(value, dict) else [(key, value)])
    ]
    facts: dict[str, _Value] = {}
    for key, value in pairs:
        if not isinstance(value, (str, int, float, bool)):
            raise UsageError(f"the fact '{key}' is no single value; expected text, a number, true or false")
        if key in facts:
            raise UsageError(f"the fact '{key}' is given twice; keep one")
        facts[key] = value
    return facts


def detect_facts() -> Facts:
    """What this machine says of itself.

    `cpu`, `linux_distribution_name`, `platform`, `system_gpu_count` (0 without nvidia-smi), and, with a GPU,
    `gpu` (the first one's name) and `compute_capability`.
    """
    import platform  # this and what it needs: 10 ms that only detecting pays

    facts: dict[str, _Value] = {"platform": platform.system().lower(), "cpu": platform.machine()}
    with suppress(OSError):  # no Linux, or one without that file: a fact not given removes no block
        facts["linux_distribution_name"] = platform.freedesktop_os_release().get("ID", "")
    gpus = _gpus()
    facts["system_gpu_count"] = len(gpus)
    if gpus:
        name, _, capability = gpus[0].rpartition(",")
        facts["gpu"] = name.strip()
        facts["compute_capability"] = capability.strip()
    return facts


def _gpus() -> list[str]:
    """One `name, compute capability` a GPU, as nvidia-smi lists them."""
    import shutil
    import subprocess

    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    query = [command, "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_NVIDIA_SMI_SECONDS, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return []  # a machine whose driver does not answer can run nothing on its GPUs
    return [line for line in done.stdout.splitlines() if line.strip()]
