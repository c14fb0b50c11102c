"""Stored lines: several readers at once, and a disk that takes no more."""

import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from judge.errors import StoreError
from judge.files.stored_records import TemporaryLines

#: More than is read at once, and more than stays in memory.
LINES = [f"{number} {'x' * 100}\n".encode() for number in range(30_000)]


def test_readers_in_several_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    lines = TemporaryLines(tmp_path)
    lines.append(LINES)
    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(lambda _: list(lines) == LINES, range(20)))


def test_a_long_line_is_read_in_growing_parts(tmp_path: Path) -> None:
    class CountedLines(TemporaryLines):
        reads = 0

        def read(self, start: int, end: int) -> bytes:
            self.reads += 1
            return super().read(start, end)

    lines = CountedLines(tmp_path)
    content = [b"short\n", b"x" * (1 << 25) + b"\n", b"short\n"]
    lines.append(content)
    assert list(lines) == content
    assert lines.reads <= 8  # of parts of 1 MB there are 33


def test_long_lines_are_written_and_read_a_few_at_a_time(tmp_path: Path) -> None:
    size, count = 1 << 20, 64
    lines = TemporaryLines(tmp_path)
    tracemalloc.start()
    try:
        lines.append(b"x" * size + b"\n" for _ in range(count))
        assert sum(map(len, lines.read_lines(range(count)))) == count * (size + 1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * size  # all lines are 64 times as much


@contextmanager
def limit_file_size(size: int) -> Iterator[None]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for the size of files")
def test_lines_that_the_disk_does_not_take_are_an_error_at_once(tmp_path: Path) -> None:
    lines = TemporaryLines(tmp_path)
    lines.append(LINES)
    size = lines.size
    with limit_file_size(size + 10):
        with pytest.raises(StoreError, match="cannot be written: "):
            lines.append([b"a short line\n"])
        del lines  # which closes the file, and is not a second error
