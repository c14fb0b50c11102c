"""Rows of a dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.dataset import textfile
from judge.errors import InputError

_FIELDS = frozenset(
    {"query", "query_id", "engine", "rank", "snippet", "title", "url", "date", "reference", "error", "docno"}
)


#: What `--columns` may name; a row's error has no other name.
COLUMN_FIELDS = tuple(sorted(_FIELDS))


#: What a nested row says of its query, and of each result.
_QUERY_FIELDS = frozenset({"query", "query_id", "reference"})


Warn = Callable[[str], object]


#: What tells a test case of DeepEval from other rows.
_TEST_CASE_FIELDS = frozenset({"input", "retrieval_context", "retrievalContext"})


@dataclass(frozen=True, slots=True)
class InputRow:
    """One result as it was given: values untyped, `place` is `file:line` for messages.

    Without a `snippet` key in `values` the row only says that the engine was asked: with an `error`
    it broke, without one it returned nothing, or what other rows say; `latency_ms` is how long it took.
    """

    place: str
    values: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str) -> str:
        """Return what the file calls field `name`."""
        return self.columns.get(name, name)

    def at(self, name: str) -> str:
        """Return where field `name` stands, for messages."""
        return f"{self.place}: field {self.column(name)!r}"


def read_mappings(given: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """The rows of a dataset that is in memory already."""
    for number, record in enumerate(given, start=1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"row {number}: is {record!r:.80}, not a mapping;"
                " of a data frame, pass frame.to_dict('records')"
            )
        plain = {name: _to_python(name, value) for name, value in record.items()}
        yield from expand_record(f"row {number}", plain, columns)


def _to_python(name: str, value: Any) -> Any:  # noqa: ANN401 - a row holds what its maker put there
    """The value in Python's own types. What isn't equal to itself is how data frames write "absent".

    That is NaN, NA and NaT. A NaN is no rank, though.
    """
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    absent = (value == value) is not True and not (name == "rank" and isinstance(value, float))
    return None if absent else value


def read_nonblank_lines(path: Path, warn: Callable[[str], object] | None = None) -> Iterator[tuple[str, str]]:
    """`(path:line, text)` of every line that isn't blank; `.gz` files are unpacked.

    Lines end at line feeds alone: other separators may stand inside a JSON string. `warn` takes a
    warning where the encoding is a guess; without it a guess is refused.
    """
    for number, text in read_lines(path, warn):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def read_lines(path: Path, warn: Callable[[str], object] | None = None) -> Iterator[tuple[int, str]]:
    """Every line of the file with its number, as it stands there."""
    with textfile.translate_read_errors(path):
        file, warnings = textfile.open_text(path)
        with file:
            for warning in warnings:
                if warn is None:
                    raise InputError(f"{path}: is not UTF-8; save the file as UTF-8")
                warn(warning)
            yield from textfile.number_lines(file, path)


def parse_object(place: str, text: str) -> dict[str, Any]:
    """The JSON object in `text`; raises InputError when it is none, or names a key twice."""
    value = parse_json(place, text)
    if not isinstance(value, dict):
        raise InputError(f"{place}: is {type(value).__name__} {text[:60]!r}, not an object {{…}}")
    return value


def parse_json(place: str, text: str) -> Any:  # noqa: ANN401 - JSON may hold any value
    """Return the value in `text`; raise InputError where it is not JSON or gives one key twice."""

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


def expand_record(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """Yield the rows of one record: a nested one, a test case of DeepEval, or a row as it is."""
    if "engines" in record:
        return _read_nested(place, record, columns)
    if columns.get("query", "query") not in record and not _TEST_CASE_FIELDS.isdisjoint(record):
        return _read_test_case(place, record)
    return iter([flat_row(place, record, columns)])


def _rename_fields(record: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the record with the fields in `columns` under their own names instead of the file's."""
    if not columns:
        return record
    taken = {*columns, *columns.values()}
    rest = {name: value for name, value in record.items() if name not in taken}
    return {**rest, **{name: record[given] for name, given in columns.items() if given in record}}


def flat_row(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> InputRow:
    """Return the row of a flat record; raise InputError without a snippet and an error."""
    record = _rename_fields(record, columns)
    values = {name: value for name, value in record.items() if name in _FIELDS}
    extra = {name: value for name, value in record.items() if name not in _FIELDS}
    row = InputRow(place, values, extra, columns)
    if values.get("error") in (None, ""):
        values.pop("error", None)
        if "snippet" not in values:
            raise InputError(
                f"{row.at('snippet')} is missing; a row needs"
                f" {row.column('query')!r} and {row.column('snippet')!r}"
            )
    elif not values.get("snippet"):
        values.pop("snippet", None)
    return row


def _read_nested(place: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """One query with the answers of several engines."""
    of_query = {name: given for name, given in columns.items() if name in _QUERY_FIELDS}
    record = _rename_fields(record, of_query)
    engines = record["engines"]
    if not isinstance(engines, dict) or not engines:
        raise InputError(f"{place}: field 'engines' is {engines!r:.80}; it maps each engine to its results")
    asked = {name: record[name] for name in ("query", "query_id", "reference") if name in record}
    extra = {name: value for name, value in record.items() if name not in {*_FIELDS, "engines"}}
    for engine, answer in engines.items():
        here = f"{place}: engine {engine!r}"
        if isinstance(answer, dict) and isinstance(answer.get("error"), str) and answer["error"]:
            yield InputRow(here, {**asked, "engine": engine, "error": answer["error"]}, extra, columns)
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
        row = InputRow(here, {**asked, "engine": engine, **took}, extra, columns)
        yield row
        yield from _read_results(row, {**asked, "engine": engine}, answer)


def _read_results(row: InputRow, asked: Mapping[str, Any], answer: list[Any]) -> Iterator[InputRow]:
    """The results in `answer`, which belong to the query and engine of `row`."""
    columns = {name: given for name, given in row.columns.items() if name not in _QUERY_FIELDS}
    for rank, result in enumerate(answer, start=1):
        here = f"{row.place}: result {rank}"
        given = {"snippet": result} if isinstance(result, str) else result
        given = _rename_fields(given, columns) if isinstance(result, dict) else given
        if not isinstance(given, dict) or "snippet" not in given:
            raise InputError(
                f"{here}: is {result!r:.80}; a result is a text, or an object with a"
                f" {row.column('snippet')!r}"
            )
        kept = {name: given[name] for name in ("snippet", "title", "url", "date", "docno") if name in given}
        yield InputRow(here, {**kept, **asked, "rank": given.get("rank", rank)}, row.extra, row.columns)


def _read_test_case(place: str, record: Mapping[str, Any]) -> Iterator[InputRow]:
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
    row = InputRow(place, asked)
    yield row
    yield from _read_results(row, asked, context)
