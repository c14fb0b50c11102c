"""Sequences of records that stay on the disk: each use reads them anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

Record = TypeVar("Record")
Columns = TypeVar("Columns")


class StoredRecords(Sequence[Record], Generic[Record, Columns]):
    """Records that `read` yields anew for each use.

    `columns` are those that were made of the records, None as long as there are none.
    """

    def __init__(
        self, read: Callable[[], Iterator[Record]], length: int, columns: Columns | None = None
    ) -> None:
        self._read = read
        self._length = length
        self.columns = columns

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
        place = range(len(self))[index]
        return next(islice(self, place, None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"
