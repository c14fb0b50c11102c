"""Sequences of records that stay on the disk: each use reads them again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from typing import Generic, Self, TypeVar, overload

from judge.records import ListKey, Query, Ranking

Record = TypeVar("Record")
Columns = TypeVar("Columns")
#: The documents of the pool in rank order, by (engine, query_id).
Documents = Mapping[ListKey, tuple[str, ...]]


class StoredRecords(Sequence[Record]):
    """Records that `read` yields again for each use.

    They are pickled as a tuple, since another process has none of the files. A copy shares the files.
    """

    def __init__(self, read: Callable[[], Iterator[Record]], length: int) -> None:
        self._read = read
        self._length = length

    def __iter__(self) -> Iterator[Record]:
        return self._read()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        position = range(len(self))[index]
        return next(islice(self, position, None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    def __reduce__(self) -> tuple[type, tuple[tuple[Record, ...]]]:
        return tuple, (tuple(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self


def select_records(
    records: Sequence[Record], is_chosen: Callable[[Record], bool], length: int
) -> StoredRecords[Record]:
    """Return the `length` chosen records of a sequence, which each use reads again."""
    return StoredRecords(lambda: filter(is_chosen, records), length)


def chain_records(parts: Sequence[Collection[Record]]) -> StoredRecords[Record]:
    """Return the records of several sequences, one after the other, which each use reads again."""
    return StoredRecords(lambda: chain.from_iterable(parts), sum(map(len, parts)))


@dataclass(frozen=True, slots=True)
class QueryResults:
    """The rankings of one query, and their documents in the pool."""

    query: Query
    rankings: tuple[Ranking, ...]
    documents: Documents


#: Yields the results of the queries, in the order of the dataset.
ReadResults = Callable[[], Iterator[QueryResults]]


class StoredRankings(StoredRecords[Ranking], Generic[Columns]):
    """The rankings of a dataset, `length` in all, which are stored query by query.

    `columns` are those that were made of the rankings, None as long as there are none.
    """

    def __init__(self, read_query_results: ReadResults, length: int, columns: Columns | None = None) -> None:
        super().__init__(
            lambda: (ranking for each in read_query_results() for ranking in each.rankings), length
        )
        self.read_query_results = read_query_results
        self.columns = columns


class StoredDocuments(Documents):
    """The documents of all queries, which are read when they are used first. They are pickled as a dict."""

    def __init__(self, read_query_results: ReadResults) -> None:
        self._read_query_results = read_query_results

    @cached_property
    def _names(self) -> Documents:
        return {key: names for each in self._read_query_results() for key, names in each.documents.items()}

    def __getitem__(self, key: ListKey) -> tuple[str, ...]:
        return self._names[key]

    def __iter__(self) -> Iterator[ListKey]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __reduce__(self) -> tuple[type, tuple[Documents]]:
        return dict, (dict(self),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self
