"""Read a dataset query by query, and store it with its pool on the disk.

Rows of any format become queries and rankings. Invalid data ends the run with one message before anything is
paid. An unusual text of a single snippet does not: it is cleaned and flagged. The file has a line for each
query, then one for the dataset.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path

import msgspec

from judge.dataset import trec
from judge.dataset.clean import TextOptions
from judge.dataset.dataset_files import read_rows
from judge.dataset.dataset_warnings import DatasetWarnings, PoolWarnings
from judge.dataset.parsed_rows import RowsByQuery
from judge.dataset.pool import iter_pairs, name_documents
from judge.dataset.query_builder import QueryBuilder
from judge.dataset.rows import InputRecord, InputRow, RowFormat
from judge.errors import InputError
from judge.files.stored_records import (
    StoredLines,
    StoredRankings,
    StoredRecords,
    TemporaryLines,
    decode_line,
    encode_line,
)
from judge.flags import TEXT_MISSING
from judge.messages import Message, join_messages
from judge.records import Dataset, Pool, Query, Ranking


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


@dataclass(frozen=True, slots=True)
class PooledDataset:
    """A dataset, its pool, and `fingerprint`, a hash of the dataset as it was read.

    Only the queries are in memory: rankings and pairs are read from `lines` whenever they are used. By
    engine, `answers` are the numbers of lists with results and without, `no_snippet_shares` the shares of
    results without text besides a title, None where the text of no result is known.
    """

    dataset: Dataset
    pool: Pool
    fingerprint: str
    lines: StoredLines = field(compare=False, repr=False)
    answers: Mapping[str, tuple[int, int]] = field(default_factory=dict, compare=False)
    no_snippet_shares: Mapping[str, float | None] = field(default_factory=dict, compare=False)


class _StoredQuery(msgspec.Struct, array_like=True):
    """The line of a query."""

    query: Query
    rankings: tuple[Ranking, ...]

    def check(self, depth: int) -> None:
        """Raise ValueError where a list is of another query or engine, or its documents do not fit."""
        if len({ranking.engine for ranking in self.rankings}) < len(self.rankings):
            raise ValueError("an engine is there twice")
        for ranking in self.rankings:
            if ranking.query_id != self.query.id:
                raise ValueError("a list is of another query")
            if len(ranking.documents) != min(depth, len(ranking.snippets)):
                raise ValueError("a list has other documents")


@dataclass(frozen=True, slots=True)
class _Footer:
    """The last line: what concerns all queries."""

    fingerprint: str
    warnings: tuple[str, ...]
    dates: bool


#: How the last line begins; the others are arrays.
_FOOTER_START = b"{"
_query_decoder, _footer_decoder = msgspec.json.Decoder(_StoredQuery), msgspec.json.Decoder(_Footer)


def store_dataset(reader: QueryReader, depth: int, folder: Path | None) -> PooledDataset:
    """Return the dataset of `reader` with its pool down to `depth`, in a temporary file in `folder`."""
    lines = TemporaryLines(folder)
    pool_warnings = PoolWarnings(depth, dates=reader.options.dates)
    counts = _PoolCounts(depth)
    for query, rankings in reader.read(folder):
        stored = _StoredQuery(query, name_documents(rankings, depth))
        lines.append([encode_line(stored)])
        pool_warnings.add(rankings)
        counts.add(stored)
    queries = list(counts.queries.values())
    by_id = sorted(range(len(queries)), key=lambda number: queries[number].id)
    in_order = (decode_line(_query_decoder, line) for line in lines.read_lines(by_id))
    # As plain texts, because msgspec encodes no messages.
    warnings = tuple(map(str, (*reader.warnings, *pool_warnings.describe(reader.texts_file))))
    footer = _Footer(_hash_dataset(queries, in_order), warnings, reader.options.dates)
    lines.append([encode_line(footer)])
    return _make_pooled(lines, counts, footer)


def _hash_dataset(queries: Iterable[Query], stored: Iterable[_StoredQuery]) -> str:
    """Return a hash of the dataset as it was read; `stored` are sorted by the ids of the queries."""
    digest = hashlib.sha256()
    for query in queries:
        extra = sorted(query.extra.items())
        record: tuple[object, ...] = ("query", query.id, query.raw_text, query.lang, query.reference, extra)
        expected = () if query.expected is None else (query.expected,)
        digest.update(json.dumps((*record, *expected)).encode())
    for stored_query in stored:
        for ranking in sorted(stored_query.rankings, key=attrgetter("engine")):
            snippets = [
                (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)
                for snippet in ranking.snippets
            ]
            latency = [] if ranking.latency_ms is None else [ranking.latency_ms]
            record = ("ranking", stored_query.query.id, ranking.engine, ranking.error, snippets, *latency)
            digest.update(json.dumps(record).encode())
    return digest.hexdigest()[:16]


class _PoolCounts:
    """The queries of a dataset, and what its lines contain down to `depth`."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.queries: dict[str, Query] = {}
        self.engines: set[str] = set()
        #: The numbers of lists with results and without, by engine.
        self.filled: Counter[str] = Counter()
        self.empty: Counter[str] = Counter()
        #: The numbers of results with text and without, by engine; one whose text is missing is neither.
        self.with_text: Counter[str] = Counter()
        self.without_text: Counter[str] = Counter()
        self.rankings = self.results = self.pairs = 0

    def add(self, stored: _StoredQuery) -> None:
        """Add a query; raise ValueError where it is there twice."""
        if stored.query.id in self.queries:
            raise ValueError("a query is there twice")
        self.queries[stored.query.id] = stored.query
        pooled: set[str] = set()
        for ranking in stored.rankings:
            engine, snippets = ranking.engine, ranking.snippets[: self.depth]
            self.engines.add(engine)
            self.results += len(snippets)
            pooled.update(snippet.id for snippet in snippets)
            has_text = [bool(snippet.text) for snippet in snippets if TEXT_MISSING not in snippet.flags]
            self.with_text[engine] += has_text.count(True)
            self.without_text[engine] += has_text.count(False)
            if ranking.error is None:
                counts = self.filled if ranking.snippets else self.empty
                counts[engine] += 1
        self.rankings += len(stored.rankings)
        self.pairs += len(pooled)


def load_pooled(lines: StoredLines, depth: int, cache_key: str = "") -> PooledDataset:
    """Return the dataset in `lines`, and its pool with `cache_key`; raise ValueError for other lines.

    Rankings and pairs are read from the lines whenever they are used.
    """
    counts = _PoolCounts(depth)
    for line in lines:
        if line.startswith(_FOOTER_START):
            return _make_pooled(lines, counts, decode_line(_footer_decoder, line), cache_key)
        stored = decode_line(_query_decoder, line)
        stored.check(depth)
        counts.add(stored)
    raise ValueError("no line ends the dataset")


def _make_pooled(
    lines: StoredLines, counts: _PoolCounts, footer: _Footer, cache_key: str = ""
) -> PooledDataset:
    queries, depth = counts.queries, counts.depth

    def read_rankings() -> Iterator[Ranking]:
        for line in islice(lines, len(queries)):
            yield from decode_line(_query_decoder, line).rankings

    rankings = StoredRankings(read_rankings, counts.rankings)
    dataset = Dataset(queries, rankings, tuple(sorted(counts.engines)), footer.warnings, footer.dates)
    pairs = StoredRecords(partial(iter_pairs, dataset, depth), counts.pairs)
    pool = Pool(depth, counts.results, pairs, cache_key)
    answers = {engine: (counts.filled[engine], counts.empty[engine]) for engine in dataset.engines}
    without = counts.without_text
    counts_by_engine = {engine: counts.with_text[engine] + without[engine] for engine in dataset.engines}
    shares = {
        engine: without[engine] / count if count else None for engine, count in counts_by_engine.items()
    }
    return PooledDataset(dataset, pool, footer.fingerprint, lines, answers, shares)
