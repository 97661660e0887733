"""`harness targets fetch` and `remove`, against an index, a cache and a command line of our own: no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from index_server import Index

from harness.fetching.engines import ENGINES
from harness.fetching.environment import lay_environment
from harness.fetching.folders import python_tag

Command = Callable[..., subprocess.CompletedProcess[str]]

_VLLM = {
    "vllm/__init__.py": "",
    "vllm/v1/worker/gpu/spec_decode/dflash/speculator.py": "",
    "vllm/v1/worker/gpu/spec_decode/dspark/speculator.py": "",
    "vllm/_C.abi3.so": "compiled",
    "vllm/third_party/cutlass/mma.h": "a header",
}
_WORKERS = {
    "sglang/__init__.py": "",
    "sglang/srt/speculative/dflash_worker_v2.py": "raise ImportError('not a real one')\n",
    "sglang/srt/speculative/dspark_components/dspark_worker_v2.py": "",
}

# A program that leaves out what a release needs beside itself, where that is not looked at: pip takes its time.
BARE = (
    "import sys, harness.fetching\n"
    "sys.modules['harness.fetching.fetch']._requirements = lambda release: (str(release),)"
)
RELEASE = "sglang==9.9.1"
WHEEL = "sglang-9.9.1-py3-none-any.whl"


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()
    served.add("sglang", "9.9.1", _WORKERS)
    served.add("vllm", "9.9.1", _VLLM)
    for pinned in {*ENGINES["sglang"].beside, *ENGINES["vllm"].beside, ENGINES["vllm"].triton}:
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


def fetched(cache: Path) -> Path:
    return cache / "engines" / f"sglang-9.9.1-{python_tag()}"


def left_over(cache: Path) -> list[str]:
    """Return what lies about half done."""
    return sorted(str(path.relative_to(cache)) for path in cache.rglob(".*") if path.name != ".lock")


def test_a_release_is_fetched_with_its_size_said_first_and_works_offline_from_then_on(
    harness: Command, index: Index, cache: Path
) -> None:
    first = harness("targets", "fetch", RELEASE)
    assert first.returncode == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0].startswith(f"{RELEASE}: 7 packages to download, 0.0 MB, into ")
    assert lines[1].startswith("downloading sglang==9.9.1")
    assert lines[-1] == f"{RELEASE}: fetched into {fetched(cache)}"
    asked = list(index.asked)
    index.close()
    again = harness("targets", "fetch", RELEASE, "--full")
    assert (again.returncode, again.stdout) == (0, f"{RELEASE}: here already, and as it was fetched\n")
    assert index.asked == asked
    assert left_over(cache) == []


def test_the_environment_has_its_own_packages_and_of_this_one_torch_alone(harness: Command, cache: Path) -> None:
    harness("targets", "fetch", RELEASE)
    program = (
        "import importlib.util as u, json, sys\n"
        "print(json.dumps({name: bool(u.find_spec(name)) for name in ('torch', 'msgspec', 'click', 'yaml')}))"
    )
    import subprocess

    done = subprocess.run(
        [str(fetched(cache) / "env" / "bin" / "python"), "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"torch": True, "msgspec": True, "click": False, "yaml": False}


def test_a_shared_triton_finds_its_own_drivers_and_another_one_takes_its_place(tmp_path: Path) -> None:
    lay_environment(tmp_path, [])

    def drivers_of(version: str) -> str:
        installed = tmp_path / version
        for name, text in {
            "triton/__init__.py": "",
            f"triton-{version}.dist-info/METADATA": f"Name: triton\nVersion: {version}\n",
            f"triton-{version}.dist-info/entry_points.txt": f"[triton.backends]\nnvidia = of_{version[0]}\n",
        }.items():
            (installed / name).parent.mkdir(parents=True, exist_ok=True)
            (installed / name).write_text(text)
        sharing = "import pathlib, sys; from harness.fetching.environment import refresh_shared as refresh\n"
        sharing += f"sys.path.insert(0, {str(installed)!r}); refresh(pathlib.Path({str(tmp_path)!r}))"
        asked = (
            "from importlib.metadata import entry_points\n"
            "print(*(found.value for found in entry_points(group='triton.backends')))"
        )
        subprocess.run([sys.executable, "-c", sharing], check=True)
        python = str(tmp_path / "env" / "bin" / "python")
        return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout

    assert drivers_of("8.8") == "of_8\n"
    assert drivers_of("9.9") == "of_9\n"


@pytest.mark.slow
def test_a_second_release_downloads_only_what_the_first_did_not_bring(
    harness: Command, index: Index, cache: Path
) -> None:
    harness("targets", "fetch", RELEASE)
    index.asked.clear()
    index.add("sglang", "9.9.2", {"sglang/__init__.py": "", **dict.fromkeys(needed(), "")})
    done = harness("targets", "fetch", "sglang==9.9.2")
    assert done.stdout.startswith("sglang==9.9.2: 1 packages to download")
    assert index.asked == ["sglang-9.9.2-py3-none-any.whl"]
    assert len(list((cache / "engines").glob("sglang-*"))) == 2


def needed() -> tuple[str, ...]:
    from harness.fetching.engines import ENGINES

    return tuple(ENGINES["sglang"].needs.values())


def test_a_network_that_fails_half_way_costs_one_line_and_only_what_was_under_way(
    harness: Command, index: Index, cache: Path
) -> None:
    broken = next(name for name in index.wheels if name.startswith("psutil"))
    index.cut.add(broken)
    failed = harness("targets", "fetch", RELEASE)
    assert failed.returncode == 3
    (line,) = failed.stderr.splitlines()
    assert line.startswith("harness: psutil==7.2.2 was not downloaded: ")
    assert "the network failed" in line or "it came cut short" in line  # older releases of pip see the hash alone
    assert not fetched(cache).exists()
    assert left_over(cache) == []
    index.cut.clear()
    index.asked.clear()
    resumed = harness("targets", "fetch", RELEASE)
    assert resumed.returncode == 0, resumed.stderr
    assert WHEEL not in index.asked
    assert broken in index.asked


def test_a_hash_that_differs_from_the_index_is_refused_and_nothing_of_it_stays(
    harness: Command, index: Index, cache: Path
) -> None:
    index.lies.add(WHEEL)
    failed = harness("targets", "fetch", RELEASE)
    assert failed.returncode == 3
    (line,) = failed.stderr.splitlines()
    assert "its hash differs" in line
    assert not fetched(cache).exists()
    assert not list((cache / "engines").rglob("*9.9.1*"))


@pytest.mark.parametrize("error", ["ENOSPC", pytest.param("EDQUOT", marks=pytest.mark.slow)])
def test_a_full_disk_leaves_nothing_half_unpacked_and_keeps_the_download(
    harness: Command, index: Index, cache: Path, error: str
) -> None:
    program = (
        "import errno, shutil\n"
        "def full(source, target, *_):\n"
        f"    raise OSError(errno.{error}, 'no room', getattr(target, 'name', ''))\n"
        "shutil.copyfileobj = full\n"
    )
    failed = harness("targets", "fetch", RELEASE, program=program)
    assert failed.returncode == 3
    (line,) = failed.stderr.splitlines()
    assert line.startswith("harness: the disk is full: ")
    assert not fetched(cache).exists()
    assert left_over(cache) == []
    index.asked.clear()
    assert harness("targets", "fetch", RELEASE).returncode == 0
    assert WHEEL not in index.asked


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_without_dspark_is_refused_by_name_and_not_kept(
    harness: Command, index: Index, cache: Path, engine: str
) -> None:
    index.add(engine, "9.9.0", {f"{engine}/__init__.py": "", ENGINES[engine].needs["DFlash"]: ""})
    failed = harness("targets", "fetch", f"{engine}==9.9.0", program=BARE)
    assert failed.returncode == 3
    (line,) = failed.stderr.splitlines()
    assert line.startswith(f"harness: {engine}==9.9.0 has no DSpark worker (")
    assert not list((cache / "engines").rglob(f"{engine}*"))


def test_of_a_wheel_with_compiled_code_that_no_worker_loads_only_the_rest_is_unpacked(
    harness: Command, cache: Path
) -> None:
    done = harness("targets", "fetch", "vllm==9.9.1", program=BARE)
    assert done.returncode == 0, done.stderr
    site = (cache / "engines" / f"vllm-9.9.1-{python_tag()}" / "site").resolve()
    kept = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert kept == {name for name in _VLLM if name.endswith(".py")} | {
        f"vllm-9.9.1.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD")
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_python_that_the_engine_does_not_support_is_said_before_anything_is_downloaded(
    harness: Command, index: Index, engine: str
) -> None:
    index.requires[engine] = ">=3.99"
    failed = harness("targets", "fetch", f"{engine}==9.9.1")
    assert failed.returncode == 3
    (line,) = failed.stderr.splitlines()
    assert "has no wheel for Python 3." in line
    assert line.endswith("it wants Python >=3.99")
    assert index.asked == []


def test_a_version_that_there_is_not_is_a_matter_of_usage(harness: Command) -> None:
    failed = harness("targets", "fetch", "sglang==8.8.8")
    assert failed.returncode == 2
    assert failed.stderr.splitlines() == [
        "harness: sglang==8.8.8: the package index has no such version, or no wheel of it"
    ]


@pytest.mark.parametrize("word", ["sglang", "sglang==", "torch==2.0", "sglang==../x"])
def test_what_is_no_release_is_a_matter_of_usage(harness: Command, word: str) -> None:
    failed = harness("targets", "fetch", word)
    assert failed.returncode == 2
    assert "expected NAME==VERSION" in failed.stderr


def test_a_file_that_was_changed_is_named_before_anything_is_launched(harness: Command, cache: Path) -> None:
    harness("targets", "fetch", RELEASE)
    changed = fetched(cache) / "site" / "sglang" / "__init__.py"
    changed.write_text("import os\n")
    launch = ("repro", "6535874", "--target", "sglang", "--source", "9.9.1")
    for words in (("targets", "fetch", RELEASE), launch, (*launch, "--fetch")):
        failed = harness(*words)
        assert failed.returncode == 3
        (line,) = failed.stderr.splitlines()
        assert "sglang/__init__.py: was changed since it was unpacked" in line
        assert line.endswith(f"harness targets remove {RELEASE}, then harness targets fetch {RELEASE}")


@pytest.mark.slow
def test_a_change_that_keeps_size_and_time_shows_when_every_byte_is_looked_at(
    harness: Command, cache: Path
) -> None:
    import os

    harness("targets", "fetch", RELEASE)
    path = fetched(cache) / "site" / "sglang" / "srt" / "speculative" / "dflash_worker_v2.py"
    before = path.stat()
    path.write_text(path.read_text().replace("real", "fake"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert harness("targets", "fetch", RELEASE).returncode == 0
    failed = harness("targets", "fetch", RELEASE, "--full")
    assert failed.returncode == 3
    assert "its hash differs from what was recorded" in failed.stderr


def test_removing_a_release_takes_what_no_other_one_needs(harness: Command, index: Index, cache: Path) -> None:
    index.add("sglang", "9.9.2", {"sglang/__init__.py": "", **dict.fromkeys(needed(), "")})
    harness("targets", "fetch", RELEASE)
    harness("targets", "fetch", "sglang==9.9.2")
    assert harness("targets", "remove", RELEASE).returncode == 0
    kept = {
        path.name.split("-")[0] + "-" + path.name.split("-")[1] for path in (cache / "engines/wheels").glob("*-*/")
    }
    assert "sglang-9.9.1" not in kept
    assert {"sglang-9.9.2", "numpy-2.3.5"} <= kept
    assert harness("targets", "remove", "sglang==9.9.2").returncode == 0
    assert not list((cache / "engines" / "wheels").iterdir())
    failed = harness("targets", "remove", RELEASE)
    assert (failed.returncode, failed.stderr) == (2, f"harness: {RELEASE} is not fetched for this Python\n")


def test_a_source_that_is_not_fetched_says_how_to_fetch_it(harness: Command) -> None:
    failed = harness("repro", "6535874", "--target", "sglang", "--source", "9.9.1")
    assert failed.returncode == 2
    assert failed.stderr == (
        "harness: --source 9.9.1: neither a folder nor a fetched version: harness targets fetch sglang==9.9.1, "
        "or say --fetch, too\n"
    )


def test_one_command_fetches_what_it_needs_and_goes_on_and_the_next_needs_no_network(
    harness: Command, index: Index
) -> None:
    program = f"{BARE}\nimport harness.cli.matrix as m\nm.version_matrix = lambda _, starts: print(*starts) or []"
    index.add("sglang", "9.9.2", {"sglang/__init__.py": "", **dict.fromkeys(needed(), "")})
    words = ("matrix", "--target", "sglang", "--fetch", "--source")
    assert harness(*words, "9.9.1", program=program).returncode == 0
    both = harness(*words, "9.9.1,9.9.2", program=program)
    assert (both.returncode, both.stdout.splitlines()[0]) == (0, "9.9.1 9.9.2"), both.stderr
    lines = both.stderr.splitlines()
    assert lines[0].startswith("sglang==9.9.2: 1 packages to download, 0.0 MB, into ")
    assert lines[-1].startswith("sglang==9.9.2: fetched into ")
    assert index.asked == [WHEEL, "sglang-9.9.2-py3-none-any.whl"]
    index.close()
    again = harness(*words, "9.9.1,9.9.2", program=program)
    assert (again.returncode, again.stdout, again.stderr) == (0, both.stdout, "")


def test_planted_faults_are_those_of_the_newest_version_that_is_fetched(cache: Path, harness: Command) -> None:
    program = "import harness.cli.matrix as m\nm.run_matrix = lambda *_: []"
    none = harness("matrix", "--target", "vllm", program=program)
    assert none.returncode == 2
    assert none.stderr == (
        "harness: --target vllm: no version of it is fetched: harness targets fetch vllm==VERSION, "
        "or say --source VERSION --fault all --fetch\n"
    )
    for version in ("0.9.0", "0.33.0"):
        folder = cache / "engines" / f"vllm-{version}-{python_tag()}"
        folder.mkdir(parents=True)
        (folder / "engine.json").write_text('{"release": "vllm", "wheels": {}}')
    done = harness("matrix", "--target", "vllm", program=program)
    assert done.stdout.splitlines()[0] == "vllm 0.33.0", done.stderr


def test_a_fetched_engine_cannot_run_inside_this_process(harness: Command) -> None:
    harness("targets", "fetch", RELEASE)
    failed = harness("repro", "6535874", "--target", "sglang", "--source", "9.9.1", "--isolation", "none")
    assert failed.returncode == 2
    assert "a fetched engine has an interpreter of its own" in failed.stderr


def test_a_wheel_that_reaches_out_of_its_folder_is_refused(harness: Command, index: Index, cache: Path) -> None:
    index.add("sglang", "9.9.3", {"../outside.py": "", **dict.fromkeys(needed(), "")})
    failed = harness("targets", "fetch", "sglang==9.9.3")
    assert failed.returncode == 3
    assert "would lie outside of it" in failed.stderr
    assert not list(cache.rglob("outside.py"))
