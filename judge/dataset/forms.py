"""Owns the file formats: each turns into the same rows, one a result, with the place they came from."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from judge.errors import InputError, SetupError

FORMS = ".jsonl, .json, .csv or .parquet"
_FIELDS = frozenset(
    {"query", "query_id", "engine", "rank", "snippet", "title", "url", "date", "reference", "error", "docno"}
)

#: What tells a test case of DeepEval from other rows.
_TEST_CASE = frozenset({"input", "retrieval_context", "retrievalContext"})


@dataclass(frozen=True, slots=True)
class Row:
    """One result as it was given: values untyped, `place` is `file:line` for messages.

    Without a `snippet` key in `values` the row only says that the engine was asked: with an `error`
    it broke, without one it returned nothing, or what other rows say; `latency_ms` is how long it took.
    """

    place: str
    values: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)


def rows(path: Path) -> Iterator[Row]:
    """The rows of a dataset file; the form is told from its ending and its first record."""
    readers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".json": _json, ".csv": _csv, ".parquet": _parquet}
    if not path.is_file():
        raise InputError(f"{path}: no such file" if not path.exists() else f"{path}: is not a file")
    if path.suffix.lower() not in readers:
        raise InputError(f"{path}: unknown file type {path.suffix!r}; a dataset is {FORMS}, or TREC files")
    return readers[path.suffix.lower()](path)


def from_mappings(given: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """The rows of a dataset that is in memory already."""
    for number, record in enumerate(given, start=1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"row {number}: is {record!r:.80}, not a mapping;"
                " of a data frame, pass frame.to_dict('records')"
            )
        yield from _expand(f"row {number}", {name: _plain(name, value) for name, value in record.items()})


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - a row holds what its maker put there
    """The value in Python's own types. What isn't equal to itself is how data frames write "absent".

    That is NaN, NA and NaT. A NaN is no rank, though.
    """
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    absent = (value == value) is not True and not (name == "rank" and isinstance(value, float))
    return None if absent else value


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """`(path:line, text)` of every line that isn't blank; `.gz` files are unpacked.

    Lines end at line feeds alone: other separators may stand inside a JSON string.
    """
    for number, text in _decoded(path):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def _decoded(path: Path) -> Iterator[tuple[int, str]]:
    """Every line of the file with its number, as it stands there."""
    try:
        with opened(path) as file:
            for number, raw in enumerate(file, start=1):
                try:
                    yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{path}:{number}: is not UTF-8 at byte {error.start + 1}; convert the file"
                    ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def opened(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where it is a `.gz`."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def parse_object(place: str, text: str) -> dict[str, Any]:
    """The JSON object in `text`; raises InputError when it is none, or names a key twice."""
    value = _parse(place, text)
    if not isinstance(value, dict):
        raise InputError(f"{place}: is {type(value).__name__} {text[:60]!r}, not an object {{…}}")
    return value


def _parse(place: str, text: str) -> Any:  # noqa: ANN401 - what JSON holds is known by looking
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{place}: field {twice!r} is given twice in one object")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        where = place if error.lineno == 1 else f"{place}, line {error.lineno}"
        raise InputError(
            f"{where}: is not JSON: {error.msg} at column {error.colno}: {text[:60]!r}"
        ) from None
    except RecursionError:
        raise InputError(f"{place}: is not JSON that can be read: it nests too deep") from None
    except ValueError:
        raise InputError(f"{place}: is not JSON that can be read: a number has too many digits") from None


def _jsonl(path: Path) -> Iterator[Row]:
    for place, text in lines(path):
        yield from _expand(place, parse_object(place, text))


def _json(path: Path) -> Iterator[Row]:
    """A JSON array of records, as test frameworks write it."""
    text = "".join(text for _, text in _decoded(path))
    records = _parse(str(path), text) if text.strip() else []
    if isinstance(records, dict):
        records = records.get("test_cases", records.get("testCases", [records]))
    if not isinstance(records, list):
        raise InputError(f"{path}: holds {type(records).__name__}, not a list of records")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise InputError(f"{path}: record {number} is {record!r}, not an object")
        yield from _expand(f"{path}: record {number}", record)


def _csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(1 << 30)
    reader = csv.reader((text for _, text in _decoded(path)), strict=True)
    header: list[str] = []
    while True:
        # A record may take several lines; the first one is where a person looks for it.
        place = f"{path}:{reader.line_num + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(f"{place}: is not CSV: {error}") from None
        if cells is None:
            return
        if cells and not header:
            header = _header(place, cells)
        elif cells:
            yield _flat(place, _cells(place, header, cells))


def _header(place: str, cells: list[str]) -> list[str]:
    twice = [cell for cell in cells if cell and cells.count(cell) > 1]
    if twice:
        raise InputError(f"{place}: column {twice[0]!r} is given twice; rename one")
    missing = [name for name in ("query", "snippet") if name not in cells]
    if missing and not ("query" in cells and "error" in cells):
        raise InputError(
            f"{place}: there is no column {missing[0]!r}; the columns are {cells!r:.160}"
            " (separated by commas, named in lower case)"
        )
    return cells


def _cells(place: str, header: list[str], cells: list[str]) -> dict[str, str]:
    """What a row says; an empty cell is nothing said, except for a snippet, which may be empty."""
    if len(cells) != len(header):
        more = "more" if len(cells) > len(header) else "fewer"
        raise InputError(
            f"{place}: has {more} cells than the header has columns, {len(cells)} for {len(header)};"
            " quote cells that hold commas or line breaks"
        )
    named = zip(header, cells, strict=True)
    return {name: cell for name, cell in named if name and (cell or name == "snippet")}


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise SetupError(f"{path}: Parquet needs pyarrow: pip install 'search-judge[parquet]'") from None
    try:
        source = parquet.ParquetFile(path)
        number = 0
        for batch in source.iter_batches():
            for record in batch.to_pylist():
                number += 1
                given = {
                    name: value for name, value in record.items() if value is not None or name == "snippet"
                }
                yield _flat(f"{path}: row {number}", given)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: is not Parquet: {error}") from error


def _expand(place: str, record: Mapping[str, Any]) -> Iterator[Row]:
    if "engines" in record:
        return _nested(place, record)
    if "query" not in record and not _TEST_CASE.isdisjoint(record):
        return _test_case(place, record)
    return iter([_flat(place, record)])


def _flat(place: str, record: Mapping[str, Any]) -> Row:
    values = {name: value for name, value in record.items() if name in _FIELDS}
    if values.get("error") in (None, ""):
        values.pop("error", None)
        if "snippet" not in values:
            raise InputError(f"{place}: field 'snippet' is missing; a row needs 'query' and 'snippet'")
    elif not values.get("snippet"):
        values.pop("snippet", None)
    return Row(place, values, {name: value for name, value in record.items() if name not in _FIELDS})


def _nested(place: str, record: Mapping[str, Any]) -> Iterator[Row]:
    """One query with the answers of several engines."""
    engines = record["engines"]
    if not isinstance(engines, dict) or not engines:
        raise InputError(f"{place}: field 'engines' is {engines!r:.80}; it maps each engine to its results")
    asked = {name: record[name] for name in ("query", "query_id", "reference") if name in record}
    extra = {name: value for name, value in record.items() if name not in {*_FIELDS, "engines"}}
    for engine, answer in engines.items():
        here = f"{place}: engine {engine!r}"
        if isinstance(answer, dict) and isinstance(answer.get("error"), str) and answer["error"]:
            yield Row(here, {**asked, "engine": engine, "error": answer["error"]}, extra)
            continue
        took = {}
        if isinstance(answer, dict) and "results" in answer:
            took = {"latency_ms": answer["latency_ms"]} if "latency_ms" in answer else {}
            answer = answer["results"]
        if not isinstance(answer, list):
            raise InputError(
                f'{here}: is {answer!r:.80}; write a list of results, {{"results": […], "latency_ms": 312.4}}'
                ' or {"error": "why"}'
            )
        yield Row(here, {**asked, "engine": engine, **took}, extra)
        yield from _results(here, {**asked, "engine": engine}, answer, extra)


def _results(
    place: str, asked: Mapping[str, Any], answer: list[Any], extra: Mapping[str, Any]
) -> Iterator[Row]:
    for rank, result in enumerate(answer, start=1):
        here = f"{place}: result {rank}"
        given = {"snippet": result} if isinstance(result, str) else result
        if not isinstance(given, dict) or "snippet" not in given:
            raise InputError(f"{here}: is {result!r:.80}; a result is a text, or an object with a 'snippet'")
        kept = {name: given[name] for name in ("snippet", "title", "url", "date", "docno") if name in given}
        yield Row(here, {**kept, **asked, "rank": given.get("rank", rank)}, extra)


def _test_case(place: str, record: Mapping[str, Any]) -> Iterator[Row]:
    """A DeepEval test case: `input` is the query, `retrieval_context` one engine's snippets."""
    if "input" not in record:
        raise InputError(f"{place}: field 'input' is missing; a test case needs 'input', which is the query")
    context = record.get("retrieval_context", record.get("retrievalContext"))
    if not isinstance(context, list):
        raise InputError(
            f"{place}: field 'retrieval_context' is {context!r:.80}, not a list of texts;"
            " an empty list says that nothing was returned"
        )
    metadata = record.get("metadata") or record.get("additional_metadata") or {}
    known = metadata if isinstance(metadata, dict) else {}
    asked: dict[str, Any] = {"query": record["input"]}
    for name in ("query_id", "engine"):
        value = record.get(name, known.get(name))
        if value is not None:
            asked[name] = value
    expected = record.get("expected_output", record.get("expectedOutput"))
    if expected:
        asked["reference"] = expected
    yield Row(place, asked)
    yield from _results(place, asked, context, {})
