"""Judgments as lines of JSON: those of judgments.jsonl, and those of a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from judge.json_text import dump_json, escape_fragile
from judge.records import Judgment
from judge.stored_records import StoredRecords, TemporaryLines, decode_line

#: How the line of a judgment ends that has no id of another snippet.
_NO_JUDGED_SNIPPET = ', "judged_snippet_id": null}'
#: Lines that are read together, and the most bytes from the first to the last one of them in the file.
_BLOCK, _LONGEST_RANGE = 1 << 10, 1 << 24
#: Indices of assignments, which are those of their judgments.
Indices = npt.NDArray[np.int64]
_judgment_decoder = msgspec.json.Decoder(Judgment)


def dump_judgments(judgments: Iterable[Judgment], start: str = "{") -> Iterator[str]:
    """Yield a line for each judgment, which begins with `start`, as `dump_json` writes it."""
    params: Mapping[str, object] | None = None
    is_same = False
    for judgment in judgments:
        try:
            # The encoders write small and large numbers in two ways, and only parameters can hold such.
            if params is not judgment.params:  # most judgments share one object
                is_same = _encode(judgment.params) == dump_json(judgment.params)
                params = judgment.params
            line = escape_fragile(_encode(judgment)) if is_same else dump_json(asdict(judgment))
        except (UnicodeEncodeError, msgspec.DecodeError):  # half a surrogate pair
            line = dump_json(asdict(judgment))
        # Most judgments have no such field in the file.
        line = f"{line.removesuffix(_NO_JUDGED_SNIPPET)}}}" if line.endswith(_NO_JUDGED_SNIPPET) else line
        yield f"{start}{line[1:]}\n"


def _encode(value: object) -> str:
    """Return a value on one line of JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


class JudgmentLog(StoredRecords[Judgment]):
    """Judgments in a temporary file in `folder`, each at an index below `size`; iteration is in this order.

    `graded` counts those with a grade. Judgments wait in memory until there is a block of them, or until they
    are read; then they are written, or StoreError is raised when the disk is full. The file is removed with
    the log, or with the process.
    """

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(lambda: self._load(self._list_indices()), 0)
        self.graded = 0
        self._lines = TemporaryLines(folder)
        #: The judgments that are not written yet, and their indices.
        self._waiting: list[Judgment] = []
        self._waiting_indices: list[int] = []
        self._starts = np.zeros(size, np.int64)
        #: The length of the line of each index, 0 without a judgment.
        self._sizes = np.zeros(size, np.int32)
        self._has_grade = np.zeros(size, bool)
        #: The number of the query of each index.
        self._query = np.full(size, -1, np.int32)
        self._query_numbers: dict[str, int] = {}

    def add(self, indices: Iterable[int], judgments: Collection[Judgment]) -> None:
        """Add the judgments at `indices`, which have none."""
        self._length += len(judgments)
        self._waiting += judgments
        self._waiting_indices += indices
        self.graded += sum(judgment.grade is not None for judgment in judgments)
        if len(self._waiting) >= _BLOCK:
            self._write()

    def _write(self) -> None:
        indices, judgments = self._waiting_indices, self._waiting
        lines = [line.encode() for line in dump_judgments(judgments)]
        sizes = np.array(list(map(len, lines)), np.int64)
        ends = self._lines.size + np.cumsum(sizes)
        self._lines.append(lines)
        self._starts[indices], self._sizes[indices] = ends - sizes, sizes
        self._has_grade[indices] = [judgment.grade is not None for judgment in judgments]
        numbers = self._query_numbers
        self._query[indices] = [numbers.setdefault(judgment.query_id, len(numbers)) for judgment in judgments]
        judgments.clear()
        indices.clear()

    def _list_indices(self) -> Indices:
        """Write what waits, and return the indices with a judgment."""
        if self._waiting:
            self._write()
        return np.flatnonzero(self._sizes)

    def find_missing_indices(self) -> Indices:
        """Return the indices without a judgment."""
        return np.delete(np.arange(len(self._sizes)), self._list_indices())

    def read_lines(self) -> Iterator[bytes]:
        """Yield the lines of all judgments in blocks, as judgments.jsonl has them."""
        return self._read_blocks(self._list_indices())

    def read_failures(self) -> Iterator[Judgment]:
        """Yield the judgments without a grade."""
        indices = self._list_indices()
        return self._load(indices[~self._has_grade[indices]])

    def read_query(self, query_id: str) -> list[Judgment]:
        """Return the judgments of a query; call it when all judgments are there."""
        order, starts = self._by_query
        number = self._query_numbers.get(query_id)
        return [] if number is None else list(self._load(order[starts[number] : starts[number + 1]]))

    @cached_property
    def _by_query(self) -> tuple[Indices, list[int]]:
        """The indices by the numbers of their queries, and where those of each query begin."""
        indices = self._list_indices()
        order = indices[np.argsort(self._query[indices], kind="stable")]
        starts = np.searchsorted(self._query[order], np.arange(len(self._query_numbers) + 1))
        return order, starts.tolist()

    def _load(self, indices: Indices) -> Iterator[Judgment]:
        # JSON escapes every line end inside a judgment.
        lines = chain.from_iterable(block.splitlines() for block in self._read_blocks(indices))
        return (decode_line(_judgment_decoder, line) for line in lines)

    def _read_blocks(self, indices: Indices) -> Iterator[bytes]:
        """Yield the lines at `indices`, in blocks."""
        for first in range(0, len(indices), _BLOCK):
            block = indices[first : first + _BLOCK]
            starts, ends = self._starts[block], self._starts[block] + self._sizes[block]
            low, high = int(starts.min()), int(ends.max())
            if high - low > _LONGEST_RANGE:  # they were added at very different times
                yield b"".join(map(self._lines.read, starts.tolist(), ends.tolist()))
                continue
            content = self._lines.read(low, high)
            if np.array_equal(starts[1:], ends[:-1]):
                yield content
            else:
                lines = zip((starts - low).tolist(), (ends - low).tolist(), strict=True)
                yield b"".join([content[start:end] for start, end in lines])


def store_judgments(judgments: Sequence[Judgment], folder: Path) -> JudgmentLog:
    """Return `judgments` as a log in `folder`."""
    if isinstance(judgments, JudgmentLog):
        return judgments
    log = JudgmentLog(len(judgments), folder)
    source = iter(judgments)
    for first in range(0, len(judgments), _BLOCK):
        block = list(islice(source, _BLOCK))
        log.add(range(first, first + len(block)), block)
    return log


def group_by_query(judgments: Sequence[Judgment]) -> Callable[[str], Sequence[Judgment]]:
    """Return a function that returns the judgments of a query."""
    if isinstance(judgments, JudgmentLog):
        return judgments.read_query
    by_query: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        by_query.setdefault(judgment.query_id, []).append(judgment)
    return lambda query_id: by_query.get(query_id, [])
