"""Reading of a dataset: rows of any format become queries and rankings.

Invalid data ends the run with one message before anything is paid. An unusual text of a single snippet does
not: it is cleaned and flagged.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from judge.dataset import trec
from judge.dataset.clean import TextOptions
from judge.dataset.dataset_files import read_rows
from judge.dataset.dataset_warnings import DatasetWarnings
from judge.dataset.parsed_rows import RowsByQuery
from judge.dataset.query_builder import QueryBuilder
from judge.dataset.rows import InputRecord, InputRow, RowFormat
from judge.errors import InputError
from judge.messages import Message, join_messages
from judge.records import Query, Ranking


@dataclass(slots=True)
class QueryReader:
    """The queries of a dataset with their rankings, which an iteration reads once.

    `source` is its name in messages, `texts_file` the name of the file with its texts. With `is_complete`, a
    query that an engine has no row for is an empty list. After the iteration, `warnings` say what is unusual,
    and `engines` are all names.
    """

    source: str
    texts_file: str
    rows: Iterable[InputRow]
    options: TextOptions
    is_complete: bool = False
    warnings: list[str] = field(default_factory=list)
    engines: tuple[str, ...] = ()

    def read(self, folder: Path | None = None) -> Iterator[tuple[Query, tuple[Ranking, ...]]]:
        """Yield each query with its rankings; many rows go to a temporary file in `folder` meanwhile.

        Raise InputError for the first wrong row; queries before it may be yielded first.
        """
        dataset_warnings = DatasetWarnings(is_complete=self.is_complete)
        stored = RowsByQuery(self.rows, folder)
        error, last = stored.error, math.inf
        for rows in stored.read_queries():
            builder = None
            for row in rows:
                if row.number >= last:
                    break
                try:
                    builder = builder or QueryBuilder(row, self.options)
                    builder.add(row)
                except InputError as row_error:
                    error, last = row_error, row.number
            if builder and error is None:
                dataset_warnings.add(builder)
                if self.is_complete:
                    builder.add_empty_lists(stored.engines)
                yield builder.make_query(), builder.make_rankings()
        if error is None and not dataset_warnings.queries:
            error = InputError("{source}: holds no rows; write one row for each result", source=self.source)
        if error is not None:
            error.message = join_messages([error.message, *self.warnings])
            raise error
        self.engines = dataset_warnings.engines
        self.warnings += dataset_warnings.describe()


def open_dataset(
    source: Path | Iterable[InputRecord], row_format: RowFormat, options: TextOptions
) -> QueryReader:
    """Return the reader of the dataset in a file, or in an iterable of rows.

    Reading raises InputError with file, line, field and value.
    """
    warnings: list[str] = []
    if isinstance(source, Path):
        rows = read_rows(source, row_format, warnings.append)
        return QueryReader(str(source), source.name, rows, options, warnings=warnings)
    name = Message("the dataset")
    return QueryReader(name, name, row_format.read_mappings(source), options)


def open_trec_dataset(topics: Path, docs: Path, runs: Sequence[Path], options: TextOptions) -> QueryReader:
    """Return the reader of TREC files: a topics file, a documents file and a run file for each engine.

    A result with a document that is not in `docs` has a missing text.
    """
    warnings: list[str] = []
    rows = trec.read_trec_rows(topics, docs, runs, warnings.append)
    return QueryReader(", ".join(map(str, runs)), docs.name, rows, options, warnings=warnings)
