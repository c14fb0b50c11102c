"""Rows of a dataset: one record for each result, from flat or nested records and DeepEval test cases."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import starmap
from math import isfinite
from numbers import Real
from typing import Any, TypeVar

import msgspec

from judge.dataset.field_values import parse_text
from judge.errors import InputError
from judge.messages import Message, OptionName

Parsed = TypeVar("Parsed")

#: The fields of a row, unless the format has others.
FIELDS = frozenset(
    {"query", "query_id", "engine", "rank", "snippet", "title", "url", "date", "reference", "error", "docno"}
)
#: Fields that `--columns` can rename. Without `-m expected`, `expected` is an extra column like any other.
COLUMN_FIELDS = tuple(sorted({*FIELDS, "expected"}))
#: What Chinese files call the fields, for the advice on a header.
_CHINESE_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("查询", "查询词", "搜索词"), "query"),
    **dict.fromkeys(("引擎", "搜索引擎"), "engine"),
    **dict.fromkeys(("排名", "名次", "排序"), "rank"),
    **dict.fromkeys(("标题", "题目"), "title"),
    **dict.fromkeys(("摘要", "摘要内容"), "snippet"),
    **dict.fromkeys(("链接", "网址"), "url"),
    "日期": "date",
}
#: The name of a column that needs no quotation marks in `--columns`.
_PLAIN_NAME = re.compile(r"[^\s,='\"]+")
#: Fields of the query in a nested record; the other ones belong to a result.
_QUERY_FIELDS = frozenset({"query", "query_id", "reference", "expected"})
#: Fields of a flat row that a nested record has within 'engines' only.
_IN_ENGINES = ("engine", "snippet", "rank")
#: What a result of a nested record or of a test case can have, beside its rank.
_RESULT_FIELDS = ("snippet", "title", "url", "date", "docno")
#: A record of the input: values by the names of columns or fields, not checked yet.
InputRecord = Mapping[str, Any]
#: The snippets of a test case of DeepEval.
_CONTEXT_FIELDS = ("retrieval_context", "retrievalContext")
#: Between the texts of a list where DeepEval writes the list as one text, as in .csv and .jsonl.
_CONTEXT_SEPARATOR = "|"
#: How DeepEval writes a text with its source.
_SOURCED_TEXT = re.compile(r"deepeval_source=(.*?),deepeval_context=(.*)", re.DOTALL)


class LocatedRow(msgspec.Struct, frozen=True):
    """A row with its `location` for messages, such as `file:line`.

    `columns` maps fields to their names in the file where these differ.
    """

    location: str
    columns: Mapping[str, str]

    def find_column(self, name: str) -> str:
        """Return the name of the field `name` in the file."""
        return self.columns.get(name, name)

    def locate_field(self, name: str) -> str:
        """Return the location of the field `name`, for messages."""
        return Message("{place}: field {name!r}", place=self.location, name=self.find_column(name))


class InputRow(LocatedRow, frozen=True):
    """One result of the input, with untyped values; `extra` are columns that are no fields.

    A row without `snippet` in `values` is about the request to the engine: with an `error` the engine failed,
    without one it returned the results of other rows, or none. `latency_ms` is the duration of the request.
    """

    values: InputRecord
    extra: InputRecord = msgspec.field(default_factory=dict)

    def parse(self, name: str, parse_value: Callable[[str, str, object], Parsed]) -> Parsed:
        """Return what `parse_value` makes of the location, the field's name in the file, and its value."""
        return parse_value(self.location, self.find_column(name), self.values.get(name))


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How records become rows.

    `columns` maps fields to their names in the file where these differ. Columns that are none of the `fields`
    are extra ones. The option --columns names the columns of a dataset, not those of other files.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    fields: frozenset[str] = FIELDS
    is_of_dataset: bool = True

    def find_column(self, name: str) -> str:
        """Return the name of the field `name` in the file."""
        return self.columns.get(name, name)

    def advise_rename(self, missing: Collection[str], names: Collection[str]) -> Message:
        """Return what to do about the `missing` fields of a file, which has columns called `names`.

        The option names all columns that differ from a field in upper and lower case only, or have its
        Chinese name. A dataset that only lacks snippets may be a file of queries.
        """
        if not self.is_of_dataset:
            return Message("Rename the one that holds it (case and spaces matter)")
        columns = dict.fromkeys(missing, "NAME")
        for name in map(str, names):
            field = _guess_field(name)
            is_field = field in missing or (field in COLUMN_FIELDS and field not in (*names, *self.columns))
            if is_field and _PLAIN_NAME.fullmatch(name) and columns.get(field, "NAME") == "NAME":
                columns[field] = name
        advice = Message(
            "Rename the one that holds it (case and spaces matter), or name it: {option}",
            option=OptionName(f"--columns {','.join(starmap('{}={}'.format, columns.items()))}"),
        )
        if list(missing) != ["snippet"]:
            return advice
        return Message(
            "{advice}. If the file holds queries only, get their results first: {command}",
            advice=advice,
            command="judge collect FILE --engine NAME",
        )

    def read_mappings(self, records: Iterable[InputRecord]) -> Iterator[InputRow]:
        """Yield the rows of a dataset in memory; raise InputError for an item that is not a mapping."""
        for number, record in enumerate(records, start=1):
            if not isinstance(record, Mapping):
                raise InputError(
                    "row {number}: is {value:.80}, not a mapping of fields to values; pass a list of such"
                    " rows, or a data frame itself",
                    number=number,
                    value=" ".join(repr(record).split()),  # that of a Series has several lines
                )
            yield from self.expand_record(f"row {number}", record)

    def expand_record(self, location: str, record: InputRecord) -> Iterator[InputRow]:
        """Return the rows of one record: a nested one, a test case of DeepEval, or a row as it is."""
        for name, value in record.items():
            if not isinstance(name, str | Real):  # csv.DictReader names cells beyond the header None
                raise InputError(
                    "{place}: the field with the value {value!r:.80} is called {name!r:.80}, which is neither"
                    " text nor a number; rename it. In CSV, a text with a comma needs quotation marks",
                    place=location,
                    value=value,
                    name=name,
                )
        record = convert_values(record, self.find_column("rank"))
        if "engines" in record:
            return self._expand_nested(location, record)
        if self.is_test_case(record):
            return _expand_test_case(location, record)
        self._check_field("query", location, record)
        return iter([self._make_row(location, record)])

    def expand_cells(self, location: str, header: Collection[str], cells: InputRecord) -> Iterator[InputRow]:
        """Return the rows of a row of a table, which holds a result, or a test case of DeepEval.

        A blank `query_id` is None, which differs from a table without that column.
        """
        if self.is_test_case(header):
            no_results = {name: "" for name in header if name in _CONTEXT_FIELDS}
            return _expand_test_case(location, {**no_results, **cells})
        name = self.find_column("query_id")
        blank = {name: None} if name in header else {}
        return iter([self._make_row(location, {**blank, **cells})])

    def is_test_case(self, names: Collection[str]) -> bool:
        """Return whether a record with these fields is a test case of DeepEval."""
        has_context = any(name in names for name in _CONTEXT_FIELDS)
        has_input = "input" in names and self.find_column("snippet") not in names
        return self.find_column("query") not in names and (has_context or has_input)

    def _make_row(self, location: str, record: InputRecord) -> InputRow:
        """Return the row of a flat record; raise InputError without a snippet and an error."""
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, value in _rename_fields(record, self.columns).items():
            (values if name in self.fields else extra)[name] = value
        if values.get("error") in (None, ""):
            values.pop("error", None)
            self._check_field("snippet", location, record)
        elif not values.get("snippet"):
            values.pop("snippet", None)
        return InputRow(location, self.columns, values, extra)

    def _check_field(self, name: str, location: str, record: InputRecord) -> None:
        """Raise InputError, which lists the fields of the record, when it does not have the field `name`."""
        column = self.find_column(name)
        if column not in record:
            raise InputError(
                "{place}: field {name!r} is missing; the row has the fields {fields!r:.160}. {advice}",
                place=location,
                name=column,
                fields=list(record)[:20],
                advice=self.advise_rename([name], record),
            )

    def _expand_nested(self, parent: str, record: InputRecord) -> Iterator[InputRow]:
        """Yield the rows of a record with one query and the results of several engines."""
        of_query = {name: column for name, column in self.columns.items() if name in _QUERY_FIELDS}
        record = _rename_fields(record, of_query)
        engines = record["engines"]
        if not isinstance(engines, dict) or not engines:
            raise InputError(
                "{place}: field 'engines' is {value!r:.80}; it maps each engine to its results",
                place=parent,
                value=engines,
            )
        for name in _IN_ENGINES:
            if self.find_column(name) in record:
                raise InputError(
                    "{place}: has 'engines' and {name!r}; the engines and their results belong in 'engines':"
                    " remove one of the two",
                    place=parent,
                    name=self.find_column(name),
                )
        query_values = {name: record[name] for name in self.fields & _QUERY_FIELDS if name in record}
        no_extra = {*self.fields, "engines"}
        extra = {name: value for name, value in record.items() if name not in no_extra}
        for engine, results in engines.items():
            location = f"{parent}: engine {engine!r}"
            answer = results if isinstance(results, dict) else {}
            values: dict[str, Any] = {**query_values, "engine": engine}
            # As in a flat row: the status of a response, such as 503, is an error, too.
            error = parse_text(location, "error", answer.get("error"))
            if error and not answer.get("results"):
                yield InputRow(location, self.columns, {**values, "error": error}, extra)
                continue
            results = results if error else answer.get("results", results)
            if not isinstance(results, list):
                raise InputError(
                    '{place}: is {value!r:.80}; write a list of results, {{"results": […], "latency_ms":'
                    ' 312.4}} or {{"error": "why"}}',
                    place=location,
                    value=results,
                )
            values["latency_ms"] = answer.get("latency_ms")
            row = InputRow(location, self.columns, values, extra)
            yield row
            yield from _expand_results(row, results)


def convert_values(record: InputRecord, rank: str = "rank") -> InputRecord:
    """Return the record with names as text, NumPy and pandas values as Python values, missing ones as None.

    Missing values are NaN, NA and NaT, which do not equal themselves. NaN and Infinity in JSON are not JSON
    values, and are missing, too. Such a value of the field `rank` stays, as an error.
    """
    converted: dict[str, Any] = {}
    for name, value in record.items():
        if type(value) is str:  # most are
            converted[str(name)] = value
            continue
        if hasattr(value, "tolist") and hasattr(value, "dtype"):
            value = value.tolist()
        if isinstance(value, float):
            is_missing = not isfinite(value) and name != rank
        else:
            is_missing = (value == value) is not True
        converted[str(name)] = None if is_missing else value
    return converted


def _guess_field(name: str) -> str:
    """Return the field that a column holds by its name: in any case, with blanks around it, or in Chinese."""
    plain = name.strip().casefold()
    return _CHINESE_NAMES.get(plain, plain)


def _rename_fields(record: InputRecord, columns: Mapping[str, str]) -> InputRecord:
    """Return the record with the fields in `columns` under their names in judge."""
    if not columns:
        return record
    renamed = {*columns, *columns.values()}
    rest = {name: value for name, value in record.items() if name not in renamed}
    return {**rest, **{name: record[column] for name, column in columns.items() if column in record}}


def _expand_results(row: InputRow, results: list[Any]) -> Iterator[InputRow]:
    """Yield the results of the query and engine of `row`; those without ranks are in their order."""
    columns = {name: column for name, column in row.columns.items() if name not in _QUERY_FIELDS}
    rank_name = row.find_column("rank")
    has_ranks = any(isinstance(result, dict) and rank_name in result for result in results)
    for position, result in enumerate(results, start=1):
        location = f"{row.location}: result {position}"
        fields: InputRecord = {"snippet": result} if isinstance(result, str) else {}
        if isinstance(result, dict):
            fields = _rename_fields(convert_values(result, rank_name), columns)
        if "snippet" not in fields:
            raise InputError(
                "{place}: is {value!r:.80}; a result is a text, or an object with a {snippet!r}",
                place=location,
                value=result,
                snippet=row.find_column("snippet"),
            )
        own = {name: fields[name] for name in _RESULT_FIELDS if name in fields}
        rank = fields.get("rank") if has_ranks else position
        yield InputRow(location, row.columns, {**row.values, **own, "rank": rank}, row.extra)


def _expand_test_case(location: str, record: InputRecord) -> Iterator[InputRow]:
    """Yield the rows of a DeepEval test case: `input` is the query, `retrieval_context` the snippets."""
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
        with suppress(ValueError, RecursionError):
            metadata = json.loads(metadata)
    metadata_fields = metadata if isinstance(metadata, dict) else {}
    values: dict[str, Any] = {"query": record.get("input")}
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
    row = InputRow(location, columns, values)
    yield row
    yield from _expand_results(row, list(map(_split_source, context)))


def _split_source(result: object) -> object:
    """Return a result of a test case, with the source as its address if the text names one."""
    match = _SOURCED_TEXT.fullmatch(result) if isinstance(result, str) else None
    return {"url": match[1], "snippet": match[2]} if match else result
