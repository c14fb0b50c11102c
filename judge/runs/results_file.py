"""The records and the text of results.json: every query, engine, snippet, grade and reason.

The file is written and read one query at a time. It holds all that scoring needs, so a run can be scored
again from its folder alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from pathlib import Path
from sys import maxsize
from typing import Annotated, Any, Literal

import msgspec

from judge.analysis.dimension_summary import QueryValues
from judge.analysis.summary import SCHEMA_VERSION, Summary
from judge.files.json_text import dump_json, format_json
from judge.files.stored_records import TemporaryLines, decode_line
from judge.records import SCALES, Lang, Scale
from judge.runs.folder import RunFolder, make_damage_error, parse_run_json
from judge.runs.record_json import check_version, decode_json, from_json, summary_from_json, to_json


class _Strict:
    """Mark a value that pydantic, which takes long to import, must not convert: true and 1.0 to 1."""

    @staticmethod
    def __get_pydantic_core_schema__(source: object, handler: Callable[[object], dict[str, Any]]) -> object:
        return {**handler(source), "strict": True}


StrictGrade = Annotated[int, _Strict]


class _Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a query: a struct, because msgspec reads many of them faster than it reads dataclasses."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Any) -> object:  # noqa: ANN401
        """Return how pydantic, which says where a value is wrong, reads an entry: as an equal dataclass."""
        from pydantic_core.core_schema import no_info_after_validator_function

        shape = handler.generate_schema(_make_dataclass(cls))
        return no_info_after_validator_function(lambda record: cls(**vars(record)), shape)


@cache
def _make_dataclass(entry: type[_Entry]) -> type:
    """Return a dataclass with the fields and the docstring of an entry."""
    parts = []
    for part in msgspec.structs.fields(entry):
        if part.default is not msgspec.NODEFAULT:
            default: Any = field(default=part.default)
        elif part.default_factory is not msgspec.NODEFAULT:
            default = field(default_factory=part.default_factory)
        else:
            default = field()
        parts.append((part.name, part.type, default))
    return make_dataclass(entry.__name__, parts, kw_only=True, namespace={"__doc__": entry.__doc__})


class JudgmentEntry(_Entry, frozen=True, kw_only=True):
    """One judgment of a snippet; `verdict` says whether the grade is relevant.

    `members` are the judgments of a panel's members: they have an `assessor`, and nothing after `members`.
    `detail` explains the error; it is in judgments.jsonl and in `judge show --json`, not in results.json.
    `judged_snippet_id` names the snippet whose judgment a near-duplicate takes. `score` is that of a
    reranker, `probabilities` are those of the grades by a decision model.
    """

    assessor: str = ""
    repeat: int
    verdict: Literal["yes", "no"] | None
    grade: StrictGrade | None
    reason: str
    error: str | None
    flags: tuple[str, ...]
    members: tuple[JudgmentEntry, ...] = ()
    detail: str = ""
    judged_snippet_id: str | None = None
    score: float | None = None
    probabilities: tuple[float, ...] = ()


class CleanedText(_Entry, frozen=True):
    """A title and a snippet as the assessor reads them, where cleaning changed one of the two."""

    title: str
    snippet: str


class SnippetEntry(_Entry, frozen=True, kw_only=True):
    """One result of an engine; `document` is None below the depth of the pool."""

    rank: int
    snippet_id: str
    document: str | None
    title: str
    url: str
    snippet: str
    date: str = ""
    docno: str = ""
    shown: CleanedText | None = None
    flags: tuple[str, ...] = ()
    judgments: tuple[JudgmentEntry, ...]


class EngineEntry(_Entry, frozen=True, kw_only=True):
    """What one engine returned for a query: its scores by measure, and its results, best first.

    `dimensions` are its values by dimension and measure, `notes` what dimensions say of it in words.
    """

    scores: Mapping[str, float | None]
    error: str | None = None
    latency_ms: float | None = None
    dimensions: Mapping[str, QueryValues] = msgspec.field(default_factory=dict)
    notes: Mapping[str, str] = msgspec.field(default_factory=dict)
    snippets: tuple[SnippetEntry, ...]


class QueryEntry(_Entry, frozen=True, kw_only=True):
    """One query with the results of each engine; `shown` is its text where cleaning changed it."""

    query_id: str
    query: str
    lang: Lang
    shown: str | None = None
    reference: str | None = None
    expected: tuple[str, ...] | None = None
    extra: Mapping[str, str] = msgspec.field(default_factory=dict)
    engines: Mapping[str, EngineEntry]


@dataclass(frozen=True, slots=True)
class Results:
    """The whole of results.json; `run` is the name of the run's folder."""

    schema: Literal[2]
    run: str
    summary: Summary
    queries: tuple[QueryEntry, ...]


*_KEYS, _LAST_KEY = (dump_json(field.name) for field in fields(Results))
ALL_INDICES: Container[int] = range(maxsize)
#: The lines before and after those of the queries.
_QUERIES, _END = f"{_LAST_KEY}: [\n", "]}\n"
_entry_decoder = msgspec.json.Decoder(QueryEntry)
_encode_entry = msgspec.json.Encoder(enc_hook=str.__str__).encode  # a message is a text
#: What yields the queries in reading order, each time from the start; only those at the given indices.
ReadQueries = Callable[[Container[int]], Iterable[QueryEntry]]


class StoredEntries:
    """The queries of results.json in a temporary file in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._lines = TemporaryLines(folder)

    def add(self, entry: QueryEntry) -> None:
        """Add the next query."""
        try:
            # The encoders write small and large numbers in two ways, and msgspec writes NaN as null.
            is_same = all(not number or 1e-4 <= abs(number) < 1e16 for number in _iter_numbers(entry))
            text = format_json(_encode_entry(entry)) if is_same else dump_json(to_json(entry))
        except (UnicodeEncodeError, msgspec.DecodeError):  # half a surrogate pair
            text = dump_json(to_json(entry))
        self._lines.append([f"{text}\n".encode()])

    def read(self, indices: Container[int] = ALL_INDICES) -> Iterator[QueryEntry]:
        """Yield the queries at `indices`."""
        return (
            decode_line(_entry_decoder, line) for index, line in enumerate(self._lines) if index in indices
        )

    def format_chunks(self, run: str, summary: Summary) -> Iterator[str | bytes]:
        """Yield the text of results.json in pieces: the summary, then one line a query."""
        values = SCHEMA_VERSION, run, to_json(summary)
        lines = (f"{key}: {dump_json(value)},\n" for key, value in zip(_KEYS, values, strict=True))
        yield f"{{{''.join(lines)}{_QUERIES}"
        separator = b""
        for line in self._lines:
            yield separator + line.removesuffix(b"\n")
            separator = b",\n"
        yield f"\n{_END}"


def _iter_numbers(entry: QueryEntry) -> Iterator[float | None]:
    """Yield all numbers of a query that need not be whole."""
    for engine_entry in entry.engines.values():
        yield engine_entry.latency_ms
        for values in (engine_entry.scores, *engine_entry.dimensions.values()):
            yield from values.values()
        for snippet in engine_entry.snippets:
            for judgment in snippet.judgments:
                yield judgment.score
                yield from judgment.probabilities


def open_results(path: Path, indices: Container[int] = ALL_INDICES) -> tuple[Summary, Iterator[QueryEntry]]:
    """Return the summary in the results.json at `path`, and the queries at `indices`.

    The queries are read one line at a time; the lines of others are not parsed. A file with another layout,
    such as one that another program wrote again, is read whole. Raise InputError, also for a query, when the
    file is damaged.
    """
    folder, place = RunFolder(path.parent), str(path)
    lines = (text for _, text in folder.read_texts(path.name))
    head = []
    for line in lines:
        head.append(line)
        if line == _QUERIES:
            results = parse_run_json(place, "".join([*head, _END]))
            texts = enumerate(_iter_queries(path, lines))
            queries = (_parse_entry(path, index, text) for index, text in texts if index in indices)
            break
    else:
        results = folder.parse_object(place, "".join(head))
        values = results.get("queries")
        if not isinstance(values, list):
            raise make_damage_error(
                "{place}: field 'queries' is {values!r:.60}, not a list", place=path, values=values
            )
        queries = (
            from_json(QueryEntry, value, f"{path}: queries[{index}]")
            for index, value in enumerate(values)
            if index in indices
        )
    check_version(results, place)
    value = results.get("summary")
    if not isinstance(value, dict):
        raise make_damage_error(
            "{place}: field 'summary' is {value!r:.60}, not an object", place=place, value=value
        )
    summary = summary_from_json(value, f"{place}: summary")
    return summary, _check_entries(queries, SCALES[summary.scale], place)


def _check_entries(queries: Iterable[QueryEntry], scale: Scale, place: str) -> Iterator[QueryEntry]:
    """Yield the queries of the results.json at `place`; raise InputError for what judge never writes.

    That is a query that occurs twice, a list whose ranks are not 1, 2, …, and a grade off its scale.
    """
    query_ids: set[str] = set()
    for entry in queries:
        if entry.query_id in query_ids:
            raise make_damage_error(
                "{place}: query {query_id!r:.80} occurs twice", place=place, query_id=entry.query_id
            )
        query_ids.add(entry.query_id)
        for engine, engine_entry in entry.engines.items():
            _check_list(engine_entry.snippets, scale, place=place, query_id=entry.query_id, engine=engine)
        yield entry


def _check_list(snippets: Sequence[SnippetEntry], scale: Scale, **where: str) -> None:
    """Raise InputError, which says `where`, for a wrong rank, and for a grade, also of a panel's member."""
    for number, snippet in enumerate(snippets, start=1):
        members = (member for judgment in snippet.judgments for member in judgment.members)
        grades = [judgment.grade or 0 for judgment in (*snippet.judgments, *members)]
        if snippet.rank != number or not all(0 <= grade <= scale.top for grade in grades):
            raise make_damage_error(
                "{place}: query {query_id!r:.80}, engine {engine!r:.80}: result {number} has rank {rank} and"
                " the grades {grades}, not rank {number} and grades from 0 to {top}",
                number=number,
                rank=snippet.rank,
                grades=grades,
                top=scale.top,
                **where,
            )


def _iter_queries(path: Path, lines: Iterator[str]) -> Iterator[str]:
    """Yield the text of each query, from the `lines` after the one that begins them."""
    for line in lines:
        if line == _END:
            break
        if not line.isspace():
            yield line.removesuffix("\n").removesuffix(",")
    else:
        raise make_damage_error("{place}: no line ends the queries", place=path)
    if next(lines, None) is not None:
        raise make_damage_error("{place}: lines follow the queries", place=path)


def _parse_entry(path: Path, index: int, text: str) -> QueryEntry:
    place = f"{path}: queries[{index}]"
    return decode_json(QueryEntry, text) or from_json(QueryEntry, parse_run_json(place, text), place)


def read_query_entries(path: Path, indices: Container[int] = ALL_INDICES) -> Iterator[QueryEntry]:
    """Yield the queries at `indices` of the results.json at `path`; errors are those of `open_results`."""
    yield from open_results(path, indices)[1]
