"""Files of queries for a collection: .jsonl, .csv, .tsv and .txt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from judge.characters import SURROGATE
from judge.dataset import clean
from judge.dataset.csv_tables import check_column_names, make_header_error, read_table
from judge.dataset.field_values import make_query_id, parse_optional_identifier
from judge.dataset.rows import InputRecord, convert_values
from judge.dataset.text_files import Warn, check_is_file, find_format, parse_object, read_nonblank_lines
from judge.errors import InputError
from judge.messages import Message, cut_value

_FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".txt")
#: The names of the ids in the header of a .tsv file.
_ID_COLUMNS = ("query_id", "qid", "id")


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A query: `text` as engines get it, `row` with all of its columns."""

    id: str
    text: str
    row: InputRecord


def read_query_file(path: Path, warn: Warn) -> list[QueryRow]:
    """Return the queries of a file, in order; `warn` receives warnings.

    Raise InputError that names file, line, field and value.
    """
    if find_format(path) not in _FORMATS:
        raise InputError(
            "{file}: unknown file type {suffix!r}; queries are .jsonl, .csv, .tsv (id, tab, query) or .txt (a"
            " query a line), each also as .gz",
            file=path,
            suffix=path.suffix,
        )
    check_is_file(path)
    places: dict[str, str] = {}
    queries = []
    for place, row in _iter_rows(path, warn):
        query = _parse_query(place, row)
        if query.id in places:
            raise InputError(
                "{place}: query {query_id!r} ({query!r:.80}) is already at {other_place}; give each query"
                " once, with its own id",
                place=place,
                query_id=query.id,
                query=query.text,
                other_place=places[query.id],
            )
        places[query.id] = place
        queries.append(query)
    if not queries:
        raise InputError("{file}: holds no queries; write the queries in it", file=path)
    return queries


def _parse_query(place: str, row: InputRecord) -> QueryRow:
    text = row.get("query")
    if not isinstance(text, str) or not clean.clean_query(text) or SURROGATE.search(text):
        raise InputError(
            "{place}: field 'query' is {value}; every query needs visible text, without half of a surrogate"
            " pair",
            place=place,
            value=Message("missing") if text is None else cut_value(repr(text), 80),
        )
    query_id = parse_optional_identifier(place, "query_id", row.get("query_id")) or make_query_id(text)
    columns = {name: value for name, value in row.items() if name not in ("query", "query_id", "engines")}
    return QueryRow(query_id, text.strip(), {"query_id": query_id, "query": text, **columns})


def _iter_rows(path: Path, warn: Warn) -> Iterator[tuple[str, InputRecord]]:
    suffix = find_format(path)
    if suffix in (".csv", ".tsv"):
        yield from (_read_csv if suffix == ".csv" else _read_tsv)(path, warn)
        return
    for place, text in read_nonblank_lines(path, warn):
        yield place, {"query": text} if suffix == ".txt" else convert_values(parse_object(place, text))


def _read_tsv(path: Path, warn: Warn) -> Iterator[tuple[str, InputRecord]]:
    """Yield the queries of a table with a header, or of lines with an id, a tab and a query."""
    _, first = next(read_nonblank_lines(path, lambda _: None), ("", ""))
    names = [cell.strip().casefold() for cell in first.split("\t")]
    if "query" in names and names[0] in (*_ID_COLUMNS, "query"):
        for place, row in _read_csv(path, warn):
            yield place, {"query_id" if name.casefold() in _ID_COLUMNS else name: row[name] for name in row}
        return
    for place, text in read_nonblank_lines(path, warn):
        query_id, *texts = text.split("\t")
        if len(texts) != 1:
            raise InputError(
                "{place}: is {text!r:.80}; a line is the query's id, a tab, the query. The first line of a"
                " file with more columns has their names, such as query_id and query",
                place=place,
                text=text,
            )
        yield place, {"query_id": query_id, "query": texts[0]}


def _read_csv(path: Path, warn: Warn) -> Iterator[tuple[str, InputRecord]]:
    header: Sequence[str] = ()
    for place, cells in read_table(path, "query", warn):
        stripped = [cell.strip() for cell in cells]
        if header:
            yield place, {name: cell for name, cell in zip(header, stripped, strict=True) if name and cell}
            continue
        header = stripped
        check_column_names(place, header)
        if "query" not in header:
            raise make_header_error(place, "'query'", header, wanted=("query",))
