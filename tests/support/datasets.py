"""Datasets in memory, read as a run reads them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from judge.dataset.clean import TextOptions
from judge.dataset.dataset_warnings import PoolWarnings
from judge.dataset.rows import FIELDS, RowFormat
from judge.dataset.stored_dataset import QueryReader, open_dataset, open_trec_dataset
from judge.records import Dataset


def read_dataset(
    source: Path | Iterable[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    expected: bool = False,
    is_complete: bool = False,
    **options: Any,
) -> Dataset:
    row_format = RowFormat(columns or {}, FIELDS | {"expected"} if expected else FIELDS)
    reader = open_dataset(source, row_format, TextOptions(**options))
    return collect(replace(reader, is_complete=is_complete))


def read_trec_dataset(topics: Path, docs: Path, runs: list[Path], **options: Any) -> Dataset:
    return collect(open_trec_dataset(topics, docs, runs, TextOptions(**options)))


def collect(reader: QueryReader) -> Dataset:
    content = list(reader.read())
    queries = {query.id: query for query, _ in content}
    rankings = tuple(ranking for _, of_query in content for ranking in of_query)
    return Dataset(queries, rankings, reader.engines, tuple(reader.warnings), reader.options.dates)


def describe_results(dataset: Dataset, depth: int, source: str = "d.jsonl") -> list[str]:
    """What is unusual in the results down to `depth`."""
    pool_warnings = PoolWarnings(depth, dates=dataset.dates)
    for _, rankings in groupby(dataset.rankings, attrgetter("query_id")):
        pool_warnings.add(rankings)
    return list(pool_warnings.describe(source))
