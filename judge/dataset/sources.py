"""Owns how a file becomes records: lines, JSON, CSV and Parquet, each record with its place."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from judge.dataset.fields import Record, shown
from judge.errors import InputError, SetupError

#: A record and where it was found, e.g. `results.jsonl:12`.
Placed = tuple[str, Record]

_FORMATS = ".jsonl, .json (an array), .csv or .parquet"


def records(path: Path) -> Iterator[Placed]:
    """The records of a dataset file, in order; JSONL is streamed.

    Raises InputError for a file that can't be read, naming the line, and SetupError when reading
    its format needs an extra.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    readers: dict[str, Callable[[Path], Iterator[Placed]]] = {
        ".jsonl": _jsonl,
        ".ndjson": _jsonl,
        ".json": _json_array,
        ".csv": _csv,
        ".parquet": _parquet,
    }
    if ending not in readers:
        raise InputError(f"{name(path)}: unknown kind of file {ending!r}; a dataset is {_FORMATS}")
    return readers[ending](path)


def records_in_memory(rows: Iterable[Record]) -> Iterator[Placed]:
    """Rows that are already in memory; NaN, which is how a data frame says absent, becomes None."""
    for number, row in enumerate(rows, start=1):
        place = f"row {number}"
        if not hasattr(row, "items"):
            raise InputError(
                f"{place}: {shown(row)} is not a mapping of fields; "
                "pass a list of dicts (of a data frame: frame.to_dict('records'))"
            )
        # A rank that is NaN is a mistake of the caller's, not an absent rank.
        yield place, {key: value for key, value in row.items() if key == "rank" or not _is_nan(value)}


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value  # noqa: PLR0124 - only NaN differs from itself


def lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""The lines of a UTF-8 file (`.gz` too) with their numbers, without the `\n`.

    Lines end at `\n` alone: other separators occur inside JSON strings. A byte order mark is
    dropped. Raises InputError for bytes that aren't UTF-8, naming the line, and for a file that
    can't be opened.
    """
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                text = _decoded(line, f"{name(path)}:{number}").removesuffix("\n")
                yield number, text.removeprefix("\ufeff") if number == 1 else text
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name(path)}: can't be read ({reason}); check the path and the file") from error


def name(path: Path) -> str:
    """The path as errors show it: on one line whatever it holds."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def parse_json(text: str, place: str) -> Any:  # noqa: ANN401 - what JSON holds is known by looking
    """The JSON value of `text`.

    Raises InputError when it doesn't parse, or when one object has a key twice: keeping the last
    one, as Python does, would choose a value silently.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = f"{place.rpartition(':')[0]}:{error.lineno}" if error.lineno > 1 else place
        raise InputError(
            f"{where}: not JSON at column {error.colno} ({error.msg}); "
            "a .jsonl file holds one object a line, a .json file one array of objects"
        ) from error
    except RecursionError as error:
        raise InputError(f"{place}: not a record: its JSON is nested too deeply") from error
    except ValueError as error:
        raise InputError(f"{place}: not JSON: {error}; correct the line") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} occurs twice in one object")
    return found


def _jsonl(path: Path) -> Iterator[Placed]:
    for number, line in lines(path):
        if line.strip():
            place = f"{name(path)}:{number}"
            yield place, _mapping(parse_json(line, place), place)


def _json_array(path: Path) -> Iterator[Placed]:
    text = "\n".join(line for _, line in lines(path))
    if not text.strip():
        return
    array = parse_json(text, f"{name(path)}:1")
    if not isinstance(array, list):
        raise InputError(f"{name(path)}: not an array; a .json file holds one array of objects")
    for number, item in enumerate(array, start=1):
        place = f"{name(path)}:item {number}"
        yield place, _mapping(item, place)


def _mapping(value: object, place: str) -> Record:
    if isinstance(value, dict):
        return value
    raise InputError(f"{place}: {shown(value)} is not an object; write one JSON object for each record")


def _csv(path: Path) -> Iterator[Placed]:
    table = _csv_rows(path)
    header = next(table, None)
    if header is None:
        return
    place, columns = header
    twice = {column for column in columns if column and columns.count(column) > 1}
    if twice:
        raise InputError(f"{place}: column {shown(min(twice))} occurs twice in the header; rename one")
    for place, cells in table:
        if len(cells) != len(columns):
            raise InputError(
                f"{place}: {len(cells)} cells where the header names {len(columns)}; "
                "quote the cells that hold a comma or a line break"
            )
        cell_of = zip(columns, cells, strict=True)
        # An empty cell is an absent value, but an empty snippet is a snippet.
        yield place, {column: cell for column, cell in cell_of if column and (cell or column == "snippet")}


def _csv_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    reader = csv.reader((line + "\n" for _, line in lines(path)), strict=True)
    with _long_cells():
        rows = []
        last = 0
        try:
            for cells in reader:
                if cells:
                    rows.append((f"{name(path)}:{last + 1}", cells))
                last = reader.line_num
        except csv.Error as error:
            raise InputError(f"{name(path)}:{last + 1}: not CSV ({error}); quote its cells") from error
    return iter(rows)


@contextlib.contextmanager
def _long_cells() -> Iterator[None]:
    """Lets a cell hold more than the csv module's 128 KiB, for as long as one file is read."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _parquet(path: Path) -> Iterator[Placed]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise SetupError(
            f"{name(path)}: reading Parquet needs pyarrow; run: pip install 'judge[parquet]'"
        ) from error
    number = 0
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            for row in batch.to_pylist():
                number += 1
                yield f"{name(path)}:row {number}", row
    except (OSError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name(path)}: can't be read ({reason}); check the path and the file") from error


def _opened(path: Path) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.open(path))
    return io.open(path, "rb")  # noqa: UP020, PTH123
