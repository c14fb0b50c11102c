"""Rows of a dataset whose fields are parsed, and a temporary file that groups them by query.

The rows of one query can be anywhere in a dataset. So each is parsed alone and stored, and the queries are
made from the stored rows, one at a time.
"""

import datetime
import json
import re
import unicodedata
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping
from numbers import Number
from pathlib import Path
from sys import float_info

import msgspec

from judge.dataset import clean, field_values
from judge.dataset.clean import RawSnippet
from judge.dataset.rows import InputRow, LocatedRow
from judge.dataset.text_files import parse_json
from judge.errors import InputError, explain_error
from judge.files.stored_records import TemporaryLines, decode_line, encode_line
from judge.messages import cut_value

#: The engine of rows that name none.
ONLY_ENGINE = "engine"
#: A larger rank is taken as a mistake.
_MAX_RANK = 1_000_000


class ParsedRow(LocatedRow, frozen=True, array_like=True):
    """One result of the input, or one answer of an engine without results.

    `number` is its number among the rows, `query` its text as given. `snippet` is None for a row without one;
    `has_text` is False where its text is missing. `rank` is None where the row has none. `is_cut` is True
    when prompts cut the query or its reference.
    """

    number: int
    query_id: str
    query: str
    reference: str | None
    expected: tuple[str, ...] | None
    extra: dict[str, str]
    engine: str
    rank: int | None
    snippet: RawSnippet | None
    has_text: bool
    error: str
    latency_ms: float | None
    is_cut: bool

    @property
    def location_of_list(self) -> str:
        """The location without the engine at its end, which nested rows have."""
        return self.location.removesuffix(f": engine {self.engine!r}")


_row_decoder = msgspec.json.Decoder(ParsedRow)


class RowsByQuery:
    """The rows of a dataset in a temporary file in `folder`, grouped by query.

    `error` is the first problem of a row, None without one; rows after it are not read. `engines` are the
    names in all rows.
    """

    def __init__(self, rows: Iterable[InputRow], folder: Path | None) -> None:
        self.error: InputError | None = None
        self.engines: set[str] = set()
        self._lines = TemporaryLines(folder)
        #: The numbers of the rows of each query, which are those of their lines.
        self._numbers: dict[str, array[int]] = {}
        self._lines.append(self._encode_rows(rows))

    def _encode_rows(self, rows: Iterable[InputRow]) -> Iterator[bytes]:
        checks = _BlankChecks()
        try:
            for number, row in enumerate(rows):
                parsed = parse_row(number, row)
                checks.check_blanks(row)
                if parsed.query_id not in self._numbers:
                    checks.check_new_query(parsed)
                    self._numbers[parsed.query_id] = array("i")
                self._numbers[parsed.query_id].append(number)
                self.engines.add(parsed.engine)
                yield encode_line(parsed)
        except InputError as error:
            self.error = error
            if isinstance(rows, Generator):
                rows.close()  # and the file that it reads, which the traceback of the error would keep open

    def read_queries(self) -> Iterator[Iterator[ParsedRow]]:
        """Yield the rows of each query, in the order of the dataset; the queries are in this order, too."""
        for numbers in self._numbers.values():
            yield (decode_line(_row_decoder, line) for line in self._lines.read_lines(numbers))


class _BlankChecks:
    """Checks that engines, and ids of queries, are given in every row or in none."""

    def __init__(self) -> None:
        #: For each of these fields: where it is given first (True), and where it is missing first (False).
        self._places: dict[str, dict[bool, str]] = {"engine": {}, "query_id": {}}
        #: For each text of a query, by its hash: the first id, and its place.
        self._texts: dict[str, tuple[str, str]] = {}

    def check_blanks(self, row: InputRow) -> None:
        """Raise InputError where some rows have an engine and others have none, or some ids are blank.

        A record without the field `query_id` has no blank id.
        """
        for name, places in self._places.items():
            if name == "query_id" and name not in row.values:
                continue
            is_given = row.values.get(name) is not None
            if is_given not in places:
                places[is_given] = row.locate_field(name)
            if len(places) > 1:
                raise InputError(
                    "{place} is missing, and {other_place} is given; fill it in every row, or in none. In a"
                    " sheet, merged cells have a value in the first row only",
                    place=places[False],
                    other_place=places[True],
                )

    def check_new_query(self, row: ParsedRow) -> None:
        """Raise InputError where a new query has the text of another one, and one of them has no id."""
        text_id = field_values.make_query_id(row.query)
        place = row.locate_field("query_id")
        other_id, other_place = self._texts.setdefault(text_id, (row.query_id, place))
        if other_id != row.query_id and text_id in (other_id, row.query_id):
            if other_id == text_id:
                place, other_place, other_id = other_place, place, row.query_id
            raise InputError(
                "{place} is missing, and the same query has the id {query_id!r} at {other_place}; write the"
                " id in every row of the query",
                place=place,
                query_id=other_id,
                other_place=other_place,
            )


def parse_row(number: int, row: InputRow) -> ParsedRow:
    """Return a row with parsed fields; raise InputError where one of them alone is wrong."""
    query = _parse_query(row)
    query_id = row.parse("query_id", field_values.parse_optional_identifier) or field_values.make_query_id(
        query
    )
    reference = row.parse("reference", field_values.parse_text)
    has_snippet = "snippet" in row.values
    text = row.parse("snippet", field_values.parse_optional_text)
    engine = row.parse("engine", field_values.parse_optional_identifier) or ONLY_ENGINE
    title, url, date = (row.parse(name, field_values.parse_text) for name in ("title", "url", "date"))
    docno = row.parse("docno", _parse_docno)
    return ParsedRow(
        row.location,
        row.columns,
        number=number,
        query_id=query_id,
        query=query,
        reference=clean.clean_query(unicodedata.normalize("NFC", reference)) or None,
        expected=_parse_expected(row),
        extra=_format_extra(row),
        engine=engine,
        rank=_parse_rank(row) if has_snippet else None,
        snippet=RawSnippet(text or "", title, url, date, docno) if has_snippet else None,
        has_text=text is not None,
        error=row.parse("error", field_values.parse_text),
        latency_ms=None if has_snippet else _parse_latency(row),
        is_cut=clean.is_query_cut(query) or clean.is_query_cut(reference),
    )


def _format_extra(row: InputRow) -> dict[str, str]:
    """Return the texts in columns that are no fields: lists and objects are JSON.

    A missing value is left out, and one whose text could differ between two readings.
    """
    texts = {}
    for name, value in row.extra.items():
        try:
            if isinstance(value, str | datetime.date):
                texts[name] = field_values.parse_text(row.location, name, value)
            elif isinstance(value, list | tuple | Mapping):
                texts[name] = json.dumps(value, ensure_ascii=False, default=str)
            elif isinstance(value, Number | datetime.timedelta):
                texts[name] = str(field_values.restore_whole_number(value))
        except (TypeError, ValueError, RecursionError) as error:  # rows in Python can hold any value
            raise InputError(
                "{place} cannot be written as text ({error}); make it a text, or leave it out",
                place=row.locate_field(name),
                error=explain_error(error),
            ) from None
    return texts


def _parse_query(row: InputRow) -> str:
    raw = field_values.restore_whole_number(row.values.get("query"))
    text = field_values.parse_optional_text(row.location, row.find_column("query"), raw)
    if text is None or not text.strip():
        raise InputError(
            "{place} is missing or empty; every row needs the query's text. In a sheet, merged cells have"
            " a value in the first row only",
            place=row.locate_field("query"),
        )
    return text


def _parse_docno(location: str, name: str, value: object) -> str:
    return field_values.parse_text(location, name, field_values.restore_whole_number(value))


def _parse_expected(row: InputRow) -> tuple[str, ...] | None:
    value = row.values.get("expected")
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = (
            parse_json(row.locate_field("expected"), value)
            if value.lstrip().startswith("[")
            else value.split()
        )
    items = [*map(field_values.restore_whole_number, value if isinstance(value, list | tuple) else [value])]
    if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in items):
        raise InputError(
            '{place} is {value!r:.80}, not a list of docnos and URLs such as ["d1", "https://a.example/b"]',
            place=row.locate_field("expected"),
            value=row.values["expected"],
        )
    return tuple(dict.fromkeys(field_values.normalise_text(str(item)) for item in items))


def _parse_latency(row: InputRow) -> float | None:
    value = row.values.get("latency_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= float_info.max:
        raise InputError(
            "{place}: field 'latency_ms' is {value!r:.40}, not a number of milliseconds",
            place=row.location,
            value=value,
        )
    return float(value)


def _parse_rank(row: InputRow) -> int | None:
    value = row.values.get("rank")
    if value is None:
        return None
    rank = field_values.restore_whole_number(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}(\.0*)?\s*", value):
        rank = int(float(value))
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= _MAX_RANK:
        raise InputError(
            "{place} is {value}, not a whole number from 1 to {most:,}; 1 is best",
            place=row.locate_field("rank"),
            value=cut_value(repr(value), 40),
            most=_MAX_RANK,
        )
    return int(rank)  # plain, also from a subclass
