"""Judgments as lines of JSON: those of judgments.jsonl, and those of a run while it goes on."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from judge.files.json_text import dump_json, format_json
from judge.files.stored_records import StoredRecords, TemporaryLines, decode_line
from judge.records import Judgment, Params

#: How the line of a judgment ends that has no id of another snippet.
_NO_JUDGED_SNIPPET = ', "judged_snippet_id": null}'
#: Judgments that are stored together.
_BLOCK = 1 << 10
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
    """Judgments in a temporary file in `folder`, each at an index below `size`; iteration is in this order.

    Judgments wait in memory until there is a block of them, or until they are read; then they are written, or
    StoreError is raised when the disk is full. The file is removed with the log, or with the process.
    """

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(lambda: self._load(self._list_indices()), 0)
        self._lines = TemporaryLines(folder)
        #: The judgments that are not written yet, by index.
        self._waiting: dict[int, Judgment] = {}
        #: The number of the line of each index, -1 without a judgment.
        self._line = np.full(size, -1, np.int32)
        self._has_grade = np.zeros(size, bool)
        #: The indices of each query, in the order in which they were added.
        self._of_query: defaultdict[str, array[int]] = defaultdict(partial(array, "i"))

    @property
    def graded(self) -> int:
        """The number of judgments with a grade."""
        self._write()
        return int(self._has_grade.sum())

    def add(self, indices: Iterable[int], judgments: Collection[Judgment]) -> None:
        """Add the judgments at `indices`, which have none."""
        self._waiting.update(zip(indices, judgments, strict=True))
        self._length += len(judgments)
        if len(self._waiting) >= _BLOCK:
            self._write()

    def _write(self) -> None:
        if not self._waiting:
            return
        indices, judgments = list(self._waiting), self._waiting.values()
        first = len(self._lines)
        self._lines.append(line.encode() for line in dump_judgments(judgments))
        self._line[indices] = range(first, len(self._lines))
        self._has_grade[indices] = [judgment.grade is not None for judgment in judgments]
        for index, judgment in self._waiting.items():
            self._of_query[judgment.query_id].append(index)
        self._waiting = {}

    def _list_indices(self) -> Indices:
        self._write()
        return np.flatnonzero(self._line >= 0)

    def find_missing_indices(self) -> Indices:
        """Return the indices without a judgment."""
        self._write()
        return np.flatnonzero(self._line < 0)

    def read_lines(self) -> Iterator[bytes]:
        """Yield the lines of all judgments, as judgments.jsonl has them."""
        return self._lines.read_lines(self._line[self._list_indices()].tolist())

    def read_failures(self) -> Iterator[Judgment]:
        """Yield the judgments without a grade."""
        self._write()
        return self._load(np.flatnonzero((self._line >= 0) & ~self._has_grade))

    def read_query(self, query_id: str) -> list[Judgment]:
        """Return the judgments of a query."""
        self._write()
        return list(self._load(np.sort(self._of_query.get(query_id, array("i")))))

    def _load(self, indices: Indices) -> Iterator[Judgment]:
        lines = self._lines.read_lines(self._line[indices].tolist())
        return (decode_line(_judgment_decoder, line) for line in lines)


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
