"""Running `harness waives ...` in the test's own process."""

from __future__ import annotations

import contextlib
import io
from typing import NamedTuple

from harness.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


def run(*arguments: str) -> Done:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", newline="") for _ in range(2))
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["waives", *arguments])
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else -1
    texts = []
    for stream in (out, err):
        stream.flush()
        assert isinstance(stream.buffer, io.BytesIO)
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return Done(code, *texts)
