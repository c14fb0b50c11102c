"""A reader that goes away, a disk that is full behind `>`: what becomes of a command, over real pipes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from judge import example
from judge.cli.main import main
from tests.support.cases import check_each
from tests.support.command_line import command
from tests.support.factories import make_rows, read_results, write_rows

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped example, judged by the lexical floor."""
    out = tmp_path_factory.mktemp("demo") / "runs" / "demo"
    assert command("demo", "--out", out).returncode == 0
    return out


@contextmanager
def unread() -> Iterator[int]:
    """The end to write to of a pipe that nobody reads any more."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        yield theirs
    finally:
        os.close(theirs)


def judge(*words: object, stdout: int, stderr: int | None = None) -> tuple[int, str]:
    """Run `judge` in this process on these files; return its exit code and what went to stderr."""
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8") if stderr is None else open_for_text(stderr)
    out = open_for_text(stdout)
    code = main(list(map(str, words)), stdout=out, stderr=errors)
    text = ""
    if stderr is None:
        errors.seek(0)
        text = errors.read()
    for stream in (out, errors):
        with suppress(OSError):  # what is left to write
            stream.close()
    return code, text


def open_for_text(descriptor: int) -> io.TextIOWrapper:
    """Return a stream of a process on a copy of its file descriptor."""
    return os.fdopen(os.dup(descriptor), "w", encoding="utf-8")


def start(*words: object, stdout: int) -> tuple[int, str]:
    """Run `python -m judge` with `stdout` as its output; return its exit code and what went to stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "judge", *map(str, words)],
        stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def filled(words: Iterable[str], run: Path) -> list[object]:
    """The words of a command, with a run for RUN and one of its queries for `?`."""
    query = read_results(run)["queries"][0]["query_id"]
    return [{"RUN": run, "?": query}.get(word, word) for word in words]


@check_each("words", [("--help",), ("show", "RUN", "--query", "?"), ("compare", "RUN", "--json")])
def test_a_command_that_nobody_reads_to_the_end_is_fine(demo: Path, words: tuple[str, ...]) -> None:
    with unread() as pipe:
        assert judge(*filled(words, demo), stdout=pipe) == (0, "")


def test_a_process_that_nobody_reads_to_the_end_is_fine(demo: Path) -> None:
    with unread() as pipe:
        assert start("compare", demo, "--json", stdout=pipe) == (0, "")


def test_a_run_that_nobody_listens_to_is_done_to_its_end(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 3))
    out = tmp_path / "runs" / "x"
    with unread() as pipe:
        assert judge("run", data, "-m", "lexical", "--out", out, stdout=pipe, stderr=pipe)[0] == 0
    assert (out / "report.html").exists()


def test_what_went_wrong_keeps_its_code_when_nobody_listens(tmp_path: Path) -> None:
    with unread() as pipe:
        assert judge("run", tmp_path / "absent", "-m", "lexical", stdout=pipe, stderr=pipe)[0] == 2
        assert judge("no-such-command", stdout=pipe, stderr=pipe)[0] == 2


@needs_full
@check_each(
    ("run", "words"),
    [
        (judge, ("compare", "RUN", "--json")),
        (judge, ("show", "RUN", "--query", "?")),
        (start, ("show", "RUN", "--query", "?")),
    ],
)
def test_a_full_disk_behind_the_output_is_one_line_and_code_3(
    demo: Path, run: Callable[..., tuple[int, str]], words: tuple[str, ...]
) -> None:
    with FULL.open("wb") as full:
        done = run(*filled(words, demo), stdout=full.fileno())
    assert done == (3, "judge: standard output: No space left on device\n")


@needs_full
def test_a_run_is_whole_when_its_words_find_no_place(tmp_path: Path) -> None:
    words = ("run", example.path(), "-m", "lexical", "--out", tmp_path / "runs" / "x")
    printed = tmp_path / "printed"
    with FULL.open("wb") as full, printed.open("w") as file:
        assert judge(*words, stdout=full.fileno())[0] == 3
        assert (tmp_path / "runs" / "x" / "report.html").exists()
        assert judge(*words, stdout=file.fileno(), stderr=full.fileno())[0] == 0
    assert "MAP@10" in printed.read_text(encoding="utf-8")


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_was_never_open_is_like_one_that_nobody_reads(demo: Path, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m judge compare "$1" {closed}>&-', sys.executable, str(demo)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "ascii:strict"])
def test_letters_that_the_output_does_not_have_are_escaped(encoding: str, tmp_path: Path) -> None:
    rows = [{**row, "engine": "bing🙂", "query_id": "🙂"} for row in make_rows(1, 1, 2)]
    data = write_rows(tmp_path / "d.jsonl", rows)

    def printed(*words: object) -> tuple[int, str, str]:
        """Run the command line on streams as Python opens them for PYTHONIOENCODING."""
        name, _, errors = encoding.partition(":")
        out = io.TextIOWrapper(io.BytesIO(), name, errors or "strict")
        err = io.TextIOWrapper(io.BytesIO(), name, errors or "backslashreplace")
        code = main(list(map(str, words)), stdout=out, stderr=err)
        for stream in (out, err):
            stream.seek(0)
        return code, out.read(), err.read()

    code, stdout, stderr = printed("run", data, "-m", "lexical", "--out", tmp_path / "r" / "x")
    assert (code, "\\U0001f642" in stdout) == (0, True), stderr
    code, stdout, stderr = printed("show", tmp_path / "r" / "x", "--query", "🙂")
    assert (code, "\\U0001f642" in stdout) == (0, True), stderr
    code, stdout, stderr = printed("show", tmp_path / "r" / "x", "--query", "🙂🙂")
    assert code == 2
    assert "has no query '\\U0001f642\\U0001f642'" in stderr
