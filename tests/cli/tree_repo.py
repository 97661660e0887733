"""A small git repository whose commits hold trees of TensorRT-LLM's workers, broken or fixed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "targets"))  # pytest adds it only for the tests in there

from laying import lay_tree, speculative

__all__ = ["SYNTAX_ERROR", "TreeRepo", "fingerprint"]

SYNTAX_ERROR = ("import torch", "import torch (")
_IDENTITY = ("-c", "user.name=An Author", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


class TreeRepo:
    """A repository in `folder`; every commit lays its tree anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), *_IDENTITY, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, form: str, subject: str, edit: tuple[str, str] | None = None) -> str:
        """Commit the tree in `form`, with a text of dflash_base.py replaced; return the commit's hash."""
        shutil.rmtree(self.folder / "tensorrt_llm", ignore_errors=True)
        lay_tree(self.folder, "e", "d", form)
        if edit:
            file = speculative(self.folder) / "dflash_base.py"
            text = file.read_text(encoding="utf-8")
            assert edit[0] in text
            file.write_text(text.replace(*edit, 1), encoding="utf-8")
        (self.folder / "notes.txt").write_text(subject, encoding="utf-8")  # no launch reads it
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")


def fingerprint(folder: Path) -> str:
    """Return a hash of every name, content and time of change under `folder`, `.git` included."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        seen.update(f"{path.relative_to(folder)} {path.lstat().st_mtime_ns}".encode())
        if path.is_file():
            seen.update(path.read_bytes())
    return seen.hexdigest()
