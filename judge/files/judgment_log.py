"""Judgments as lines of JSON: those of judgments.jsonl, and those of a run that has not ended."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from judge.files.json_text import dump_json, format_json
from judge.files.stored_records import StoredRecords, TemporaryLines, decode_line
from judge.records import Judgment, Params

#: How the line of a judgment ends that has no id of another snippet.
_NO_JUDGED_SNIPPET = ', "judged_snippet_id": null}'
#: Judgments that are written together: more would keep the answers of a server waiting.
_BLOCK = 1 << 10
#: Judgments in memory, at most: a few megabytes. Most runs have fewer.
_MAX_IN_MEMORY = 1 << 13
#: What replaces the number of a line without one.
_MISSING, _NOT_WRITTEN = -1, -2
#: Indices of assignments, which are those of their judgments.
Indices = npt.NDArray[np.int64]
_judgment_decoder = msgspec.json.Decoder(Judgment)


def dump_judgments(judgments: Iterable[Judgment], start: str = "{") -> Iterator[str]:
    """Yield a line for each judgment, which begins with `start`, as `dump_json` writes it."""
    params: Params | None = None
    text, is_same = "", False
    for judgment in judgments:
        try:
            # The encoders write small and large numbers in two ways, and only parameters can hold such.
            if judgment.params is not params:  # those of an assessor have one object
                params = judgment.params
                if text != (text := repr(params)):  # those that are read from a file have equal ones
                    is_same = format_json(msgspec.json.encode(params)) == dump_json(params)
            line = format_json(msgspec.json.encode(judgment)) if is_same else dump_json(asdict(judgment))
        except (UnicodeEncodeError, msgspec.DecodeError):  # half a surrogate pair
            line = dump_json(asdict(judgment))
        # Most judgments have no such field in the file.
        line = f"{line.removesuffix(_NO_JUDGED_SNIPPET)}}}" if line.endswith(_NO_JUDGED_SNIPPET) else line
        yield f"{start}{line[1:]}\n"


class JudgmentLog(StoredRecords[Judgment]):
    """Judgments, each at an index below `size`; iteration is in this order.

    Of more than fit in memory, the first are written to a temporary file in `folder`, or StoreError is raised
    when the disk is full. The file is removed with the log, or with the process.
    """

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(lambda: self._load(self._list_indices()), 0)
        self._lines = TemporaryLines(folder)
        #: The judgments that are not written, by index.
        self._in_memory: dict[int, Judgment] = {}
        #: The number of the line of each index, `_NOT_WRITTEN` or `_MISSING` without one.
        self._line = np.full(size, _MISSING, np.int32)
        self._has_grade = np.zeros(size, bool)
        #: The indices of each query, in the order in which they were added.
        self._of_query: defaultdict[str, array[int]] = defaultdict(partial(array, "i"))

    @property
    def graded(self) -> int:
        """The number of judgments with a grade."""
        return int(self._has_grade.sum())

    def add(self, indices: Iterable[int], judgments: Collection[Judgment]) -> None:
        """Add the judgments at `indices`, which have none."""
        for index, judgment in zip(indices, judgments, strict=True):
            self._in_memory[index] = judgment
            self._line[index] = _NOT_WRITTEN
            self._has_grade[index] = judgment.grade is not None
            self._of_query[judgment.query_id].append(index)
        self._length += len(judgments)
        if len(self._in_memory) >= _MAX_IN_MEMORY:
            block = dict(islice(self._in_memory.items(), _BLOCK))
            first = len(self._lines)
            self._lines.append(line.encode() for line in dump_judgments(block.values()))
            self._line[list(block)] = range(first, len(self._lines))
            # Another mapping: a reader continues with the one that it began with.
            self._in_memory = dict(islice(self._in_memory.items(), _BLOCK, None))

    def _list_indices(self) -> Indices:
        return np.flatnonzero(self._line != _MISSING)

    def find_missing_indices(self) -> Indices:
        """Return the indices without a judgment."""
        return np.flatnonzero(self._line == _MISSING)

    def read_lines(self) -> Iterator[bytes]:
        """Yield the lines of all judgments, as judgments.jsonl has them."""
        indices, in_memory = self._list_indices(), self._in_memory
        written = self._read_written(indices)
        others = dump_judgments(in_memory[index] for index in indices.tolist() if index in in_memory)
        return (next(others).encode() if index in in_memory else next(written) for index in indices.tolist())

    def read_failures(self) -> Iterator[Judgment]:
        """Yield the judgments without a grade."""
        return self._load(np.flatnonzero((self._line != _MISSING) & ~self._has_grade))

    def read_query(self, query_id: str) -> list[Judgment]:
        """Return the judgments of a query."""
        return list(self._load(np.sort(self._of_query.get(query_id, array("i")))))

    def _load(self, indices: Indices) -> Iterator[Judgment]:
        in_memory, written = self._in_memory, self._read_written(indices)
        return (
            in_memory[index] if index in in_memory else decode_line(_judgment_decoder, next(written))
            for index in indices.tolist()
        )

    def _read_written(self, indices: Indices) -> Iterator[bytes]:
        """Yield the lines of those of the `indices` that are written."""
        numbers = self._line[indices]
        return self._lines.read_lines(numbers[numbers >= 0].tolist())


def store_judgments(judgments: Sequence[Judgment], folder: Path) -> JudgmentLog:
    """Return `judgments` as a log in `folder`."""
    if isinstance(judgments, JudgmentLog):
        return judgments
    log = JudgmentLog(len(judgments), folder)
    for index, judgment in enumerate(judgments):
        log.add([index], [judgment])
    return log


def group_by_query(judgments: Sequence[Judgment]) -> Callable[[str], Sequence[Judgment]]:
    """Return a function that returns the judgments of a query."""
    if isinstance(judgments, JudgmentLog):
        return judgments.read_query
    by_query: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        by_query.setdefault(judgment.query_id, []).append(judgment)
    return lambda query_id: by_query.get(query_id, [])
