"""The end of a command with a closed pipe or a full disk as its output, over real pipes."""

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
from tests.support.factories import make_rows, read_results, write_rows

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")


@contextmanager
def open_unread_pipe() -> Iterator[int]:
    """Yield the write end of a pipe whose read end is closed."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        yield theirs
    finally:
        os.close(theirs)


def run_on_streams(*words: object, stdout: int, stderr: int | None = None) -> tuple[int, str]:
    """Run `judge` in this process on these files; return its exit code and its standard error."""
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


def run_process_on_stream(*words: object, stdout: int) -> tuple[int, str]:
    """Run `python -m judge` with `stdout` as its output; return its exit code and its standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "judge", *map(str, words)],
        stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False,
    )  # fmt: skip
    return result.returncode, result.stderr


def fill_words(words: Iterable[str], run: Path) -> list[object]:
    """Return the words of a command with the run for RUN and one of its queries for `?`."""
    query = read_results(run)["queries"][0]["query_id"]
    return [{"RUN": run, "?": query}.get(word, word) for word in words]


@check_each("words", [("--help",), ("show", "RUN", "--query", "?"), ("compare", "RUN", "--json")])
def test_a_command_whose_reader_closes_the_pipe_succeeds(demo: Path, words: tuple[str, ...]) -> None:
    with open_unread_pipe() as pipe:
        assert run_on_streams(*fill_words(words, demo), stdout=pipe) == (0, "")


def test_a_process_whose_reader_closes_the_pipe_succeeds(demo: Path) -> None:
    with open_unread_pipe() as pipe:
        assert run_process_on_stream("compare", demo, "--json", stdout=pipe) == (0, "")


def test_a_run_with_a_closed_output_finishes(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 2, 3))
    out = tmp_path / "runs" / "x"
    with open_unread_pipe() as pipe:
        assert run_on_streams("run", data, "-m", "lexical", "--out", out, stdout=pipe, stderr=pipe)[0] == 0
    assert (out / "report.html").exists()


def test_an_error_keeps_its_exit_code_with_a_closed_output(tmp_path: Path) -> None:
    with open_unread_pipe() as pipe:
        assert run_on_streams("run", tmp_path / "absent", "-m", "lexical", stdout=pipe, stderr=pipe)[0] == 2
        assert run_on_streams("no-such-command", stdout=pipe, stderr=pipe)[0] == 2


@needs_full
@check_each(
    ("run", "words"),
    [
        (run_on_streams, ("compare", "RUN", "--json")),
        (run_on_streams, ("show", "RUN", "--query", "?")),
        (run_process_on_stream, ("show", "RUN", "--query", "?")),
    ],
)
def test_a_full_disk_behind_the_output_is_one_line_and_code_3(
    demo: Path, run: Callable[..., tuple[int, str]], words: tuple[str, ...]
) -> None:
    with FULL.open("wb") as full:
        result = run(*fill_words(words, demo), stdout=full.fileno())
    assert result == (3, "judge: standard output: No space left on device\n")


@needs_full
def test_a_run_is_complete_when_its_output_cannot_be_written(tmp_path: Path) -> None:
    words = ("run", example.find_dataset(), "-m", "lexical", "--out", tmp_path / "runs" / "x")
    print_encoded = tmp_path / "printed"
    with FULL.open("wb") as full, print_encoded.open("w") as file:
        assert run_on_streams(*words, stdout=full.fileno())[0] == 3
        assert (tmp_path / "runs" / "x" / "report.html").exists()
        assert run_on_streams(*words, stdout=file.fileno(), stderr=full.fileno())[0] == 0
    assert "MAP@10" in print_encoded.read_text(encoding="utf-8")


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_stream_that_was_never_open_is_like_a_closed_pipe(demo: Path, closed: str) -> None:
    result = subprocess.run(
        ["sh", "-c", f'exec "$0" -m judge compare "$1" {closed}>&-', sys.executable, str(demo)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk", "ascii:strict"])
def test_letters_that_the_output_does_not_have_are_escaped(encoding: str, tmp_path: Path) -> None:
    rows = [{**row, "engine": "bing🙂", "query_id": "🙂"} for row in make_rows(1, 1, 2)]
    data = write_rows(tmp_path / "d.jsonl", rows)

    def print_encoded(*words: object) -> tuple[int, str, str]:
        """Run the command line on streams as Python opens them for PYTHONIOENCODING."""
        name, _, errors = encoding.partition(":")
        out = io.TextIOWrapper(io.BytesIO(), name, errors or "strict")
        err = io.TextIOWrapper(io.BytesIO(), name, errors or "backslashreplace")
        code = main(list(map(str, words)), stdout=out, stderr=err)
        for stream in (out, err):
            stream.seek(0)
        return code, out.read(), err.read()

    code, stdout, stderr = print_encoded("run", data, "-m", "lexical", "--out", tmp_path / "r" / "x")
    assert (code, "\\U0001f642" in stdout) == (0, True), stderr
    code, stdout, stderr = print_encoded("show", tmp_path / "r" / "x", "--query", "🙂")
    assert (code, "\\U0001f642" in stdout) == (0, True), stderr
    code, stdout, stderr = print_encoded("show", tmp_path / "r" / "x", "--query", "🙂🙂")
    assert code == 2
    assert "has no query '\\U0001f642\\U0001f642'" in stderr
