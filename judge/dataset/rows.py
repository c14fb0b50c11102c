"""Rows of a dataset: one record for each result, from flat or nested records and DeepEval test cases."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

from judge.dataset.text_files import Warn, read_lines
from judge.errors import InputError
from judge.json_text import RepeatedKey, make_object
from judge.messages import Message, OptionName, SeparatedNames

_FIELDS = frozenset(
    {"query", "query_id", "engine", "rank", "snippet", "title", "url", "date", "reference", "error", "docno"}
)
#: Fields that `--columns` can rename. Without `-m expected`, `expected` is an extra column like any other.
COLUMN_FIELDS = tuple(sorted({*_FIELDS, "expected"}))
#: Fields of the query in a nested record; the other ones belong to a result.
_QUERY_FIELDS = frozenset({"query", "query_id", "reference", "expected"})
#: What a result of a nested record or of a test case can have, beside its rank.
_RESULT_FIELDS = ("snippet", "title", "url", "date", "docno")
#: The snippets of a test case of DeepEval.
_CONTEXT_FIELDS = ("retrieval_context", "retrievalContext")
#: Between the texts of a list where DeepEval writes the list as one text, as in .csv and .jsonl.
_CONTEXT_SEPARATOR = "|"
#: How DeepEval writes a text with its source.
_SOURCED_TEXT = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InputRow:
    """One result of the input: untyped values, and the `location` for messages, such as `file:line`.

    A row without `snippet` in `values` is about the request to the engine: with an `error` the engine failed,
    without one it returned the results of other rows, or none. `latency_ms` is the duration of the request.
    `is_of_table` is True when the values are cells, which may be blank where a sheet has merged ones.
    """

    location: str
    values: Mapping[str, Any]
    extra: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    is_of_table: bool = False

    def find_column(self, name: str) -> str:
        """Return the name of the field `name` in the file."""
        return self.columns.get(name, name)

    def locate_field(self, name: str) -> str:
        """Return the location of the field `name`, for messages."""
        return Message("{place}: field {name!r}", place=self.location, name=self.find_column(name))

    def explain_blank(self) -> str:
        """Return why a cell may be blank, for messages; empty for a row that has no cells."""
        if not self.is_of_table:
            return ""
        return Message(
            ". Merged cells of a sheet have a value in the first row only: unmerge them, and fill in every"
            " row"
        )


def read_mappings(records: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """Yield the rows of a dataset in memory; raise InputError for an item that is not a mapping."""
    for number, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise InputError(
                "row {number}: is {value:.80}, not a mapping; of a data frame, pass frame.to_dict('records')",
                number=number,
                value=" ".join(repr(record).split()),  # that of a Series has several lines
            )
        yield from expand_record(f"row {number}", record, columns)


def convert_values(record: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the record with names as text, NumPy and pandas values as Python values, missing ones as None.

    Missing values are NaN, NA and NaT, which do not equal themselves. NaN and Infinity in JSON are not JSON
    values, and are missing, too. Such a rank stays, as an error.
    """
    converted = {}
    for name, value in record.items():
        if hasattr(value, "tolist") and hasattr(value, "dtype"):
            value = value.tolist()
        if isinstance(value, float):
            is_missing = not isfinite(value) and name != columns.get("rank", "rank")
        else:
            is_missing = (value == value) is not True
        converted[str(name)] = None if is_missing else value
    return converted


def read_nonblank_lines(path: Path, warn: Warn | None = None) -> Iterator[tuple[str, str]]:
    """Yield `path:line` and the text of every line that is not blank; `.gz` files are unpacked.

    Lines end at line feeds only: other separators can be inside a JSON string. `warn` receives a warning
    where the encoding is a guess; without `warn` a guess raises InputError.
    """
    for number, text in read_lines(path, warn):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def parse_object(location: str, text: str) -> dict[str, Any]:
    """Return the JSON object in `text`; raise InputError for other JSON, or a duplicate key."""
    value = parse_row_json(location, text)
    if not isinstance(value, dict):
        raise InputError("{place}: is {text!r}, not an object {{…}}", place=location, text=text[:60])
    return value


def parse_row_json(location: str, text: str) -> Any:  # noqa: ANN401 - JSON may hold any value
    """Return the value in `text`; raise InputError where it is not JSON or gives one key twice."""
    try:
        return json.loads(text, object_pairs_hook=make_object)
    except json.JSONDecodeError as error:
        where = (
            location
            if error.lineno == 1
            else Message("{place}, line {line}", place=location, line=error.lineno)
        )
        raise InputError(
            "{where}: is not JSON: {error}, column {column}: {text!r}",
            where=where,
            error=Message(error.msg),
            column=error.colno,
            text=text[:60],
        ) from None
    except RecursionError:
        raise InputError("{place}: cannot be read as JSON: it nests too deep", place=location) from None
    except RepeatedKey as error:
        raise InputError(
            "{place}: field {field!r} is given twice in one object; keep one", place=location, field=error.key
        ) from None
    except ValueError:
        raise InputError(
            "{place}: cannot be read as JSON: a number has too many digits", place=location
        ) from None


def expand_record(location: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """Yield the rows of one record: a nested one, a test case of DeepEval, or a row as it is."""
    for name in record:
        if name is None:  # as csv.DictReader names the cells to the right of the last column
            raise InputError(
                "{place}: has more values than the header has names: {value!r:.80}; in CSV, a text with a"
                " comma needs quotation marks",
                place=location,
                value=record[name],
            )
        if not isinstance(name, str | Real):
            raise InputError(
                "{place}: the name {name!r:.80} of a field is neither text nor a number; rename it",
                place=location,
                name=name,
            )
    record = convert_values(record, columns)
    if "engines" in record:
        return _read_nested(location, record, columns)
    if is_test_case(record, columns):
        return _read_test_case(location, record)
    _check_field("query", location, record, columns)
    return iter([_make_flat_row(location, record, columns)])


def is_test_case(names: Collection[str], columns: Mapping[str, str]) -> bool:
    """Return whether a record with these fields is a test case of DeepEval."""
    has_context = any(name in names for name in _CONTEXT_FIELDS)
    has_input = "input" in names and columns.get("snippet", "snippet") not in names
    return columns.get("query", "query") not in names and (has_context or has_input)


def expand_cells(
    location: str, header: Collection[str], cells: Mapping[str, Any], columns: Mapping[str, str]
) -> Iterator[InputRow]:
    """Yield the rows of a row of a table, which holds a result, or a test case of DeepEval.

    A blank `query_id` is None, which differs from a table without that column.
    """
    if not is_test_case(header, columns):
        name = columns.get("query_id", "query_id")
        blank = {name: None} if name in header else {}
        return iter([_make_flat_row(location, {**blank, **cells}, columns, is_of_table=True)])
    no_results = {name: "" for name in header if name in _CONTEXT_FIELDS}
    return _read_test_case(location, {**no_results, **cells})


def _rename_fields(record: Mapping[str, Any], columns: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the record with the fields in `columns` under their names in judge."""
    if not columns:
        return record
    renamed = {*columns, *columns.values()}
    rest = {name: value for name, value in record.items() if name not in renamed}
    return {**rest, **{name: record[column] for name, column in columns.items() if column in record}}


def _make_flat_row(
    location: str, record: Mapping[str, Any], columns: Mapping[str, str], *, is_of_table: bool = False
) -> InputRow:
    """Return the row of a flat record; raise InputError without a snippet and an error."""
    renamed = _rename_fields(record, columns)
    values = {name: value for name, value in renamed.items() if name in _FIELDS}
    extra = {name: value for name, value in renamed.items() if name not in _FIELDS}
    if values.get("error") in (None, ""):
        values.pop("error", None)
        _check_field("snippet", location, record, columns)
    elif not values.get("snippet"):
        values.pop("snippet", None)
    return InputRow(location, values, extra, columns, is_of_table)


def _check_field(field: str, location: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> None:
    """Raise InputError, which lists the fields of the record, when it does not have `field`."""
    name = columns.get(field, field)
    if name not in record:
        option = f"--columns {field}=NAME"
        if name == "snippet" and (queries := explain_missing_snippets(location, record, option)):
            raise InputError(queries)
        raise InputError(
            "{place}: field {name!r} is missing; the row has the fields {fields!r:.160}. Rename the right"
            " one (upper case, lower case and blanks count), or say which one it is: {option}",
            place=location,
            name=name,
            fields=list(record)[:20],
            option=OptionName(option),
        )


def explain_missing_snippets(location: str, fields: Collection[str], option: str) -> Message | None:
    """Return the message about a file without any field of results, which may hold queries; else None.

    `option` is the one that names the field with the snippets.
    """
    has_result = {*_RESULT_FIELDS, "engine", "rank", "error"}.intersection(fields)
    if "query" not in fields or has_result or re.search("[，；]", "".join(fields)):
        return None
    return Message(
        "{place}: there is no field 'snippet', only {fields}. If one of them holds the texts of results, name"
        " it: {option}. If the file holds queries only, get their results first: {command}",
        place=location,
        fields=SeparatedNames(f"{field!r:.60}" for field in list(fields)[:20]),
        option=OptionName(option),
        command="judge collect FILE --engine NAME",
    )


def _read_nested(parent: str, record: Mapping[str, Any], columns: Mapping[str, str]) -> Iterator[InputRow]:
    """Yield the rows of a record with one query and the results of several engines."""
    of_query = {name: column for name, column in columns.items() if name in _QUERY_FIELDS}
    record = _rename_fields(record, of_query)
    engines = record["engines"]
    if not isinstance(engines, dict) or not engines:
        raise InputError(
            "{place}: field 'engines' is {value!r:.80}; it maps each engine to its results",
            place=parent,
            value=engines,
        )
    query_fields = {name: record[name] for name in ("query", "query_id", "reference") if name in record}
    extra = {name: value for name, value in record.items() if name not in {*_FIELDS, "engines"}}
    for engine, results in engines.items():
        location = f"{parent}: engine {engine!r}"
        if isinstance(results, dict) and isinstance(results.get("error"), str) and results["error"]:
            if results.get("results"):
                raise InputError(
                    "{place}: has results, and the error {error!r:.80}; remove one of them",
                    place=location,
                    error=results["error"],
                )
            yield InputRow(
                location, {**query_fields, "engine": engine, "error": results["error"]}, extra, columns
            )
            continue
        latency = {}
        if isinstance(results, dict) and "results" in results:
            latency = {"latency_ms": results["latency_ms"]} if "latency_ms" in results else {}
            results = results["results"]
        if not isinstance(results, list):
            raise InputError(
                '{place}: is {value!r:.80}; write a list of results, {{"results": […], "latency_ms": 312.4}}'
                ' or {{"error": "why"}}',
                place=location,
                value=results,
            )
        row = InputRow(location, {**query_fields, "engine": engine, **latency}, extra, columns)
        yield row
        yield from _expand_results(row, {**query_fields, "engine": engine}, results)


def _expand_results(row: InputRow, query_fields: Mapping[str, Any], results: list[Any]) -> Iterator[InputRow]:
    """Yield the results of the query and engine of `row`; those without ranks are in their order."""
    columns = {name: column for name, column in row.columns.items() if name not in _QUERY_FIELDS}
    rank_name = row.find_column("rank")
    has_ranks = any(isinstance(result, dict) and rank_name in result for result in results)
    for position, result in enumerate(results, start=1):
        location = f"{row.location}: result {position}"
        fields = {"snippet": result} if isinstance(result, str) else result
        if isinstance(result, dict):
            fields = _rename_fields(convert_values(result, columns), columns)
        if not isinstance(fields, dict) or "snippet" not in fields:
            raise InputError(
                "{place}: is {value!r:.80}; a result is a text, or an object with a {snippet!r}",
                place=location,
                value=result,
                snippet=row.find_column("snippet"),
            )
        own = {name: fields[name] for name in _RESULT_FIELDS if name in fields}
        rank = fields.get("rank") if has_ranks else position
        yield InputRow(location, {**own, **query_fields, "rank": rank}, row.extra, row.columns)


def _read_test_case(location: str, record: Mapping[str, Any]) -> Iterator[InputRow]:
    """Yield the rows of a DeepEval test case: `input` is the query, `retrieval_context` the snippets."""
    if "input" not in record:
        raise InputError(
            "{place}: field 'input' is missing; a test case needs 'input', which is the query", place=location
        )
    field = next((name for name in _CONTEXT_FIELDS if name in record), _CONTEXT_FIELDS[0])
    context = record.get(field)
    if isinstance(context, str):
        context = context.split(_CONTEXT_SEPARATOR) if context else []
    if not isinstance(context, list):
        raise InputError(
            "{place}: field {field!r} is {value!r:.80}, not a list of texts; an empty list means that there"
            " were no results",
            place=location,
            field=field,
            value=context,
        )
    metadata = record.get("metadata") or record.get("additional_metadata") or {}
    if isinstance(metadata, str):
        with suppress(ValueError):
            metadata = json.loads(metadata)
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    values: dict[str, Any] = {"query": record["input"]}
    columns = {"query": "input"}
    for name in ("query_id", "engine"):
        value = record.get(name, metadata_fields.get(name))
        if value is not None:
            values[name] = value
    for name in ("expected_output", "expectedOutput"):
        if name in record:
            if record[name]:
                values["reference"], columns["reference"] = record[name], name
            break
    row = InputRow(location, values, columns=columns)
    yield row
    yield from _expand_results(row, values, list(map(_split_source, context)))


def _split_source(result: object) -> object:
    """Return a result of a test case, with the source as its address if the text names one."""
    match = _SOURCED_TEXT.fullmatch(result) if isinstance(result, str) else None
    return {"url": match[1], "snippet": match[2]} if match else result
