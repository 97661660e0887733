"""A fetched engine's Python: its own wheels, and of this environment torch and triton alone.

The environment sees folders through a `.pth` file: one a wheel, and one with links to the shared packages. No
other package of this environment can be imported there.
"""

from __future__ import annotations

import importlib.util
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import LaunchError

__all__ = ["has_triton", "lay_environment", "refresh_shared"]

# torch's packages, what its libraries are linked against, and the compiler of its kernels.
_SHARED = ("torch", "torchgen", "functorch", "triton", "nvidia")
_DESCRIBED = ("torch", "triton")


def has_triton() -> bool:
    """Say whether this environment has a triton to share."""
    return importlib.util.find_spec("triton") is not None


def lay_environment(folder: Path, wheels: Sequence[Path]) -> None:
    """Make the environment of an engine in `folder`, with its wheels on the path."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder / "env")
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    (packages / "engine.pth").write_text("".join(f"{wheel}\n" for wheel in wheels) + "../../../../shared\n")


def refresh_shared(folder: Path) -> None:
    """Let the engine's environment have this environment's torch and triton, wherever they are now."""
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    wanted = {place.name: place for name in _SHARED for place in _places(name)}
    if "torch" not in wanted:
        raise LaunchError("torch is not installed, so no worker can be launched: install 'specdec-harness[run]'")
    for link in shared.iterdir():
        if link.is_symlink() and wanted.get(link.name) != link.readlink():
            link.unlink()
    for name, place in wanted.items():
        if not (shared / name).is_symlink():
            (shared / name).symlink_to(place)


def _places(name: str) -> Iterator[Path]:
    """Yield the folder of a package, and that in which its distribution says what it is.

    Triton finds its own drivers by what the latter says.
    """
    spec = importlib.util.find_spec(name)
    for place in map(Path, list(spec.submodule_search_locations or [])[:1] if spec else []):
        yield place
        if name in _DESCRIBED:
            yield from place.parent.glob(f"*{name}-[0-9]*.dist-info")
