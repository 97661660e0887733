"""The log: what is written is read again, whatever dies in between."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.results.log import Appender, LogWriter, read_log
from harness.results.records import FAILING, Header, Result, Started, Word, bounded, parse_line, to_line

TEXT = st.text(max_size=30)


def header(session: int = 1) -> Header:
    return Header("r1", session, 1.5, list="l.txt", list_sha256="ab", versions={"pytest": "9"})


def begun(path: Path, first: Header) -> LogWriter:
    writer = LogWriter(path)
    writer.write(first)
    return writer


def passed(name: str) -> Result:
    return Result(name, Word.PASSED, 2.0, 0.25)


@given(
    st.builds(
        Result,
        TEXT,
        st.sampled_from(Word),
        st.floats(0, 1e10),
        st.floats(0, 1e5),
        message=TEXT,
        bugs=st.lists(TEXT, max_size=3).map(tuple),
        attempt=st.integers(1, 5),
    )
)
def test_a_line_is_read_as_it_was_written_and_is_one_line_of_ascii(result: Result) -> None:
    line = to_line(result)
    assert line.isascii()
    assert line.count(b"\n") == 1
    assert parse_line(line) == result


@given(
    st.dictionaries(TEXT, st.sampled_from([Word.PASSED, Word.FAILED, Word.SKIPPED]), max_size=5),
    st.data(),
)
def test_wherever_a_run_dies_what_the_next_session_adds_makes_the_same_results(
    words: dict[str, Word], data: st.DataObject
) -> None:
    whole = to_line(header())
    for name, word in words.items():
        whole += to_line(Started(name, 1.0)) + to_line(Result(name, word, 2.0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.jsonl"
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        with closing(LogWriter(path)) as writer:
            before = writer.read()
            done = before.results if before else {}
            writer.write(header(2 if before else 1))
            for name in words.keys() - done.keys():
                writer.write(Result(name, words[name], 3.0))
        log = read_log(path)
    assert log is not None
    assert {name: result.outcome for name, result in log.results.items()} == words
    assert sum(len(session.results) for session in log.sessions) == len(words)
    assert not log.deaths()


@pytest.mark.parametrize("shared", [True, False])
def test_a_line_that_does_not_fit_leaves_nothing_of_itself(tmp_path: Path, shared: bool) -> None:
    path = tmp_path / "r.jsonl"
    begun(path, header()).end(0, {})
    size = path.stat().st_size
    program = (
        "import resource; from pathlib import Path; from harness.errors import UsageError\n"
        "from harness.results.log import Appender; from harness.results.records import Started\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 20}, {size + 20}))\n"
        f"log = Appender(Path({str(path)!r})); log.shared = {shared}\n"
        "try: log.write(Started('a' * 50, 1.0))\n"
        "except UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "cannot be written: No space left on device" in done.stdout
    assert path.stat().st_size == size


def test_words_that_differ_are_written_differently() -> None:
    assert len({word.value for word in Word}) == len(Word) == 17
    assert {word.value for word in FAILING} == {"failed", "error", "crashed", "hung", "fixed"}


def test_a_log_has_sessions_final_results_and_what_was_running(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert read_log(path) is None
    with closing(begun(path, header())) as writer:
        writer.write(Started("a", 1.0, "gw0", 17, 60.0))
        writer.write(Result("a", Word.FAILED, 2.0))
        writer.write(Started("b", 2.0))
    writer = begun(path, header(2))
    writer.write(Result("a", Word.FLAKY, 3.0, attempt=2))
    writer.end(1, {"flaky": 1})
    log = read_log(path)
    assert log is not None
    assert [session.header.session for session in log.sessions] == [1, 2]
    assert list(log.sessions[0].running) == ["b"]
    assert log.results["a"].outcome is Word.FLAKY
    assert log.ended
    assert log.deaths() == {"b": 1}


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_half_a_line_at_the_end_is_left_out_and_the_next_session_starts_a_new_one(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "r.jsonl"
    with closing(begun(path, header())) as writer:
        writer.write(passed("a"))
        writer.write(passed("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    log = read_log(path)
    assert log is not None
    kept = ["a", "b"] if cut == 1 else ["a"]  # without its newline it is a whole line still
    assert list(log.results) == kept
    with closing(begun(path, header(2))) as writer:
        writer.write(passed("c"))
    log = read_log(path)
    assert log is not None
    assert list(log.results) == [*kept, "c"]


def test_sessions_that_die_at_their_very_beginning_leave_halves_that_a_later_one_goes_on_from(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.jsonl"
    with closing(begun(path, header())) as writer:
        writer.write(passed("a"))
    half = to_line(header(2))[:30]
    path.write_bytes(path.read_bytes() + to_line(passed("b"))[:30] + b"\n" + half + b"\n" + half)
    begun(path, header(4)).end(0, {})
    log = read_log(path)
    assert log is not None
    assert list(log.results) == ["a"]
    assert log.ended


def test_a_file_whose_header_was_torn_has_nothing_in_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(to_line(header())[:20])
    assert read_log(path) is None
    begun(path, header()).end(0, {})
    log = read_log(path)
    assert log is not None
    assert log.ended


def test_half_a_started_of_a_dead_worker_spoils_no_line_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with closing(begun(path, header())) as writer:
        with path.open("ab") as file:
            file.write(to_line(Started("a", 1.0))[:25])
        writer.write(passed("b"))
    log = read_log(path)
    assert log is not None
    assert list(log.results) == ["b"]


def test_a_broken_line_in_the_middle_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    good = to_line(passed("a"))
    for broken in (b"garbage\n", good[:30] + b"\n", b"[1]\n", b'{"kind":"result","id":1}\n', b"\xff\xfe\n"):
        path.write_bytes(to_line(header()) + broken + good)
        with pytest.raises(UsageError, match=rf"{path}:2: is no line of a results log"):
            read_log(path)
    path.write_bytes(good)
    with pytest.raises(UsageError, match=rf"{path}:1: stands before any header"):
        read_log(path)
    path.write_bytes(to_line(header()) + good[:30])
    assert read_log(path) is not None


@pytest.mark.parametrize(
    "content", [b"def test_a(): pass", b"one\ntwo\n", b"{}", b'{"kind":"start"}', b'{"kind":1']
)
def test_a_file_of_something_else_is_never_taken_for_an_empty_log(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"{path}:1: is no line of a results log"):
        read_log(path)


def test_a_log_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(to_line(header()).replace(b'"format":1', b'"format":9'))
    with pytest.raises(UsageError, match="format 9; this version reads 1"):
        read_log(path)


def test_a_second_writer_is_refused_until_the_first_is_gone_even_by_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.results.log._PATIENCE", 0.0)
    path = tmp_path / "r.jsonl"
    program = (
        "import os, signal, sys; from pathlib import Path; from harness.results.log import LogWriter\n"
        f"writer = LogWriter(Path({str(path)!r}))\n"
        "print('open', flush=True); sys.stdin.read(1); os.kill(os.getpid(), signal.SIGKILL)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(UsageError, match="another process is writing it"):
            LogWriter(path)
        other.communicate(b"x")
    begun(path, header(2)).end(0, {})


def test_a_writer_keeps_its_lock_while_it_reads_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    begun(path, header()).end(0, {})
    with closing(LogWriter(path)) as writer:
        log = writer.read()
        assert log is not None
        assert log.ended
        program = f"import fcntl; fcntl.lockf(open({str(path)!r}, 'ab'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        assert b"BlockingIOError" in other.stderr


def test_a_worker_appends_while_the_writer_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with closing(begun(path, header())), closing(Appender(path)) as worker:
        worker.write(Started("a", 1.0, "gw0", os.getpid()))
    log = read_log(path)
    assert log is not None
    assert log.sessions[0].running["a"].worker == "gw0"


def test_a_place_that_cannot_be_written_or_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none/r.jsonl: cannot be written: No such file"):
        LogWriter(tmp_path / "none" / "r.jsonl")
    with pytest.raises(UsageError, match=r"cannot be read: Is a directory"):
        read_log(tmp_path)
    with pytest.raises(UsageError, match=r"/dev/full: cannot be written"):
        Appender(Path("/dev/full")).write(passed("a"))


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = bounded("a" * 500 + "b" * 500, 100)
    assert text.startswith("a" * 50)
    assert text.endswith("b" * 50)
    assert "900 characters left out" in text
    assert bounded("short", 100) == "short"
