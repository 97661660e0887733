"""An index of our own, a cache of our own, and the command line as a person types it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from index_server import Index

from harness.fetching.engines import ENGINES

Command = Callable[..., subprocess.CompletedProcess[str]]

_WORKERS = {
    "sglang/__init__.py": "",
    "sglang/srt/speculative/dflash_worker_v2.py": "raise ImportError('not a real one')\n",
    "sglang/srt/speculative/dspark_components/dspark_worker_v2.py": "",
}


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()
    served.add("sglang", "9.9.1", _WORKERS)
    engine = ENGINES["sglang"]
    for pinned in (*engine.beside, engine.triton):
        name, _, version = pinned.partition("==")
        served.add(name, version, {f"{name}/__init__.py": f"VERSION = {version!r}\n"})
    yield served
    served.close()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def harness(index: Index, cache: Path) -> Command:
    """Run the command line against the index; `program` runs before it in the same process."""

    def run(*words: str, program: str = "") -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        environment |= {
            "HARNESS_CACHE": str(cache), "PIP_INDEX_URL": index.url, "PIP_RETRIES": "0", "PIP_TIMEOUT": "10",
            "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_TRUSTED_HOST": "127.0.0.1",
            "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        command = f"{program}\nfrom harness.cli import main\nmain({list(words)!r})"
        return subprocess.run(
            [sys.executable, "-c", command], capture_output=True, text=True, check=False, env=environment
        )

    return run
