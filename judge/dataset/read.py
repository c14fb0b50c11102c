"""Reading of a dataset: rows of any format become queries and rankings.

Invalid data ends the run with one message before anything is paid. An unusual text of a single snippet does
not: it is cleaned and flagged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from judge.characters import detect_query_language, find_majority_language
from judge.dataset import clean, trec
from judge.dataset.parsed_rows import ONLY_ENGINE, ParsedRow, RowsByQuery
from judge.dataset.readers import read_rows
from judge.dataset.rows import InputRow, read_mappings
from judge.dataset.validation import normalise_text
from judge.errors import InputError
from judge.flags import EMPTY_SNIPPET, TEXT_MISSING
from judge.json_text import hash_parts
from judge.messages import Message, SeparatedNames
from judge.records import Dataset, LangChoice, Query, Ranking, Snippet

#: A column that has several values in a larger share of the queries is one of results.
_MAX_CONFLICTS = 0.1


@dataclass(slots=True)
class _QueryRows:
    """One query in the rows so far; `cleaned` caches snippets that several engines returned.

    `is_cut` is True when prompts cut it or its reference. `is_scriptless` is True when its language is that
    of its snippets, which is determined after all rows. `lacks_text` is True when a result has no text.
    `conflicts` are other columns with several values.
    """

    query: Query
    location: str
    extra: dict[str, str]
    conflicts: set[str] = field(default_factory=set)
    rows_by_engine: dict[str, _EngineRows] = field(default_factory=dict)
    cleaned: dict[tuple[str, ...], Snippet] = field(default_factory=dict)
    is_cut: bool = False
    is_scriptless: bool = False
    lacks_text: bool = False


@dataclass(slots=True)
class _EngineRows:
    """The results of one engine for one query so far; `ranked` is True when its rows have ranks."""

    location: str
    error: str | None = None
    latency_ms: float | None = None
    ranked: bool | None = None
    results: dict[int, tuple[str, Snippet]] = field(default_factory=dict)


@dataclass(slots=True)
class QueryReader:
    """The queries of a dataset with their rankings, which an iteration reads once.

    Prompts show at most `max_chars` characters of a snippet, and its date with `dates`. After the iteration,
    `queries` counts the queries, `engines` are all names, `warnings` say what is unusual, and the dataset
    `lacks_text` where a result has no text in the source. `other_columns` are the columns, besides fields, of
    rows without an engine.
    """

    source: str
    rows: Iterable[InputRow]
    lang: LangChoice
    max_chars: int
    dates: bool
    warnings: list[str] = field(default_factory=list)
    queries: int = 0
    lacks_text: bool = False
    other_columns: set[str] = field(default_factory=set)
    _cut: list[str] = field(default_factory=list)
    #: The number of queries of each engine, and the queries in whose lists it skips ranks.
    _answered: Counter[str] = field(default_factory=Counter)
    _gaps: dict[str, list[str]] = field(default_factory=dict)
    #: The first query with each text, and the first one with the text of another.
    _first_ids: dict[str, str] = field(default_factory=dict)
    _repeated: list[tuple[str, str]] = field(default_factory=list)
    #: In how many queries another column has one value, and the queries whose rows have several.
    _single_values: Counter[str] = field(default_factory=Counter)
    _conflicts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def engines(self) -> tuple[str, ...]:
        """Return the names of the engines, sorted."""
        return tuple(sorted(self._answered))

    def read(self, folder: Path | None = None) -> Iterator[tuple[Query, tuple[Ranking, ...]]]:
        """Yield each query with its rankings; many rows go to a temporary file in `folder` meanwhile.

        Raise InputError for the first wrong row, after queries without one.
        """
        stored = RowsByQuery(self.rows, folder)
        error, last = stored.error, math.inf
        for rows in stored.read_groups():
            entries: dict[str, _QueryRows] = {}
            for row in rows:
                if row.number >= last:
                    break
                try:
                    self._add_row(row, entries)
                except InputError as row_error:
                    error, last = row_error, row.number
            if error is None:
                yield from map(self._finish_query, entries.values())
        if error is not None:
            raise error
        if not self.queries:
            raise InputError("{source}: holds no rows; write one row for each result", source=self.source)
        self.warnings += self._collect_warnings()

    def _add_row(self, row: ParsedRow, entries: dict[str, _QueryRows]) -> None:
        entry = _find_query(row, entries, self.lang)
        entry.is_cut |= row.is_cut
        engine = row.engine
        if engine == ONLY_ENGINE:
            self.other_columns.update(row.extra)
        earlier = entry.rows_by_engine.get(engine)
        results = entry.rows_by_engine.setdefault(engine, _EngineRows(row.location_of_list))
        if row.fields is None:
            if earlier is not None:
                raise InputError(
                    "{row.location_of_list}: engine {row.engine!r} answers query {row.query_id!r} a second"
                    " time, first at {earlier.location}; an engine answers a query once, and two engines need"
                    " two names",
                    row=row,
                    earlier=earlier,
                )
            results.error = row.error or None
            results.latency_ms = row.latency_ms
            return
        error = row.error or results.error
        if error:
            raise InputError(
                "{row.location}: engine {row.engine!r} has a result, and the error {error!r:.80} at"
                " {other.location}; an engine that failed has no results",
                row=row,
                error=error,
                other=results,
            )
        rank = _choose_rank(row, results)
        if rank in results.results:
            raise InputError(
                "{place}: engine {row.engine!r} has rank {rank} for query {row.query_id!r} twice, first at"
                " {other_place}; use each rank of a list once",
                place=row.locate_field("rank"),
                row=row,
                rank=rank,
                other_place=results.results[rank][0],
            )
        snippet = self._clean_snippet(row.fields, entry)
        if not row.has_text and EMPTY_SNIPPET in snippet.flags:
            entry.lacks_text = True
            snippet = _mark_missing_text(snippet, f"{engine} {rank}")
        results.results[rank] = row.location, snippet

    def _finish_query(self, entry: _QueryRows) -> tuple[Query, tuple[Ranking, ...]]:
        query = entry.query
        self.queries += 1
        self._cut += [query.id] if entry.is_cut else []
        if (first_id := self._first_ids.setdefault(normalise_text(query.raw_text), query.id)) != query.id:
            self._repeated.append((query.id, first_id))
        self._single_values.update(entry.extra.keys())
        for name in entry.conflicts:
            self._conflicts.setdefault(name, []).append(query.id)
        self.lacks_text |= entry.lacks_text
        rankings = []
        for engine, engine_rows in entry.rows_by_engine.items():
            self._answered[engine] += 1
            if max(engine_rows.results, default=0) > len(engine_rows.results):
                self._gaps.setdefault(engine, []).append(query.id)
            snippets = tuple(
                snippet for _, (_, snippet) in sorted(engine_rows.results.items(), key=itemgetter(0))
            )
            rankings.append(Ranking(engine, query.id, snippets, engine_rows.error, engine_rows.latency_ms))
        lang = find_majority_language(entry.cleaned.values()) if entry.is_scriptless else query.lang
        return replace(query, lang=lang, extra=entry.extra), tuple(rankings)

    def _clean_snippet(self, fields: tuple[str, str, str, str, str], entry: _QueryRows) -> Snippet:
        """Return the snippet of these fields; equal ones of a query are cleaned once."""
        if fields not in entry.cleaned:
            text, title, url, date, docno = fields
            entry.cleaned[fields] = clean.clean_snippet(
                text,
                title=title,
                url=url,
                date=date,
                docno=docno,
                max_chars=self.max_chars,
                query=entry.query.text,
                dates=self.dates,
            )
        return entry.cleaned[fields]

    def _collect_warnings(self) -> Iterator[str]:
        lacks_engine = bool(self.other_columns) and self.engines == (ONLY_ENGINE,)
        if lacks_engine:
            yield Message(
                "no result names an engine, so all count as results of one engine; if one of the columns"
                " {columns} names it, add --columns engine=COLUMN",
                columns=SeparatedNames(map(repr, sorted(self.other_columns)[:5])),
            )
        if self._cut[1:]:
            yield Message(
                "{count:,} queries or their references are cut at {limit:,} characters in prompts, first of"
                " query {query_id!r}",
                count=len(self._cut),
                limit=clean.MAX_QUERY_CHARS,
                query_id=self._cut[0],
            )
        elif self._cut:
            yield Message(
                "query {query_id!r} or its reference is cut at {limit:,} characters in prompts",
                limit=clean.MAX_QUERY_CHARS,
                query_id=self._cut[0],
            )
        if self._repeated:
            query_id, other_id = self._repeated[0]
            yield Message(
                "queries with the same text as another query: {count:,}, for example {query_id!r} and"
                " {other_id!r}. They count as separate queries, as if they were independent, so the intervals"
                " are too narrow; use one id for each text",
                count=len(self._repeated),
                query_id=query_id,
                other_id=other_id,
            )
        of_results = []
        for name, ids in self._conflicts.items():
            if len(ids) >= _MAX_CONFLICTS * self._single_values[name]:
                of_results.append(name)
            else:
                yield Message(
                    "column {name!r} has several values for {count:,} of {queries:,} queries, first for query"
                    " {query_id!r}, so it is left out there; a segment needs one value for a query",
                    name=name,
                    count=len(ids),
                    queries=self.queries,
                    query_id=ids[0],
                )
        if of_results and not lacks_engine:  # else they are listed already
            yield Message(
                "columns that are not used, because they differ between the results of a query: {names}; if"
                " one of them is a field, add --columns FIELD=COLUMN",
                names=SeparatedNames(map(repr, sorted(of_results))),
            )
        yield from self._describe_engines()

    def _describe_engines(self) -> Iterator[str]:
        """Yield what the lists of engines lack: queries, all engines in one message, or ranks."""
        missing = {engine: self.queries - self._answered[engine] for engine in self.engines}
        most_first = sorted((-count, engine) for engine, count in missing.items() if count)
        if most_first:
            yield Message(
                "of the {queries:,} queries, some have no row of an engine and are left out for it:"
                " {engines}. If an engine returned no results there, write the dataset in the form with one"
                " query a line, where its list can be empty",
                queries=self.queries,
                engines=SeparatedNames(f"{engine!r} ({-count:,})" for count, engine in most_first),
            )
        for engine in self.engines:
            if gaps := self._gaps.get(engine):
                yield Message(
                    "engine {engine!r}: ranks skip numbers in lists, first for query {query_id!r} (number of"
                    " lists: {lists:,}); taken as an order, ranked 1, 2, 3 …",
                    engine=engine,
                    lists=len(gaps),
                    query_id=gaps[0],
                )

    def collect(self) -> Dataset:
        """Return the dataset in memory."""
        content = list(self.read())
        queries = {query.id: query for query, _ in content}
        rankings = tuple(ranking for _, of_query in content for ranking in of_query)
        return Dataset(queries, rankings, self.engines, tuple(self.warnings), self.dates)


def open_dataset(
    source: Path | Iterable[Mapping[str, Any]],
    *,
    lang: LangChoice,
    max_chars: int,
    dates: bool = False,
    columns: Mapping[str, str] | None = None,
    expected: bool = False,
) -> QueryReader:
    """Return the reader of the dataset in a file, or in an iterable of rows.

    `lang` is the language of the prompts; `auto` takes that of the script of each query, or else of the
    snippets that all engines returned for it. A prompt shows at most `max_chars` characters of a snippet,
    and its date with `dates`. `columns` maps fields to their names in the source where these differ. With
    `expected`, the column of that name has the expected documents of a query. Reading raises InputError with
    file, line, field and value.
    """
    warnings: list[str] = []
    if isinstance(source, Path):
        rows, name = read_rows(source, columns or {}, warnings.append), str(source)
    else:
        rows, name = read_mappings(source, columns or {}), "the dataset"
    return QueryReader(
        name, map(_take_expected, rows) if expected else rows, lang, max_chars, dates, warnings
    )


def _take_expected(row: InputRow) -> InputRow:
    """Return the row with the expected documents as a field, which are a column like any other elsewhere."""
    others = {name: value for name, value in row.extra.items() if name != "expected"}
    return replace(row, values={**row.values, "expected": row.extra.get("expected")}, extra=others)


def open_trec_dataset(
    topics: Path, docs: Path, runs: Sequence[Path], *, lang: LangChoice, max_chars: int, dates: bool = False
) -> QueryReader:
    """Return the reader of TREC files: a topics file, a documents file and a run file for each engine.

    A result with a document that is not in `docs` has a missing text.
    """
    warnings: list[str] = []
    rows = trec.read_trec_rows(topics, docs, runs, warnings.append)
    return QueryReader(", ".join(map(str, runs)), rows, lang, max_chars, dates, warnings)


def _find_query(row: ParsedRow, entries: dict[str, _QueryRows], lang: LangChoice) -> _QueryRows:
    entry = entries.get(row.query_id)
    if entry is None:
        entry = entries[row.query_id] = _make_query(row, lang)
        return entry
    _check_same_query(row, entry)
    if row.extra != entry.extra:
        entry.conflicts |= {
            name for name, value in entry.extra.items() if row.extra.get(name, value) != value
        }
        entry.extra = {name: value for name, value in entry.extra.items() if row.extra.get(name) == value}
    query = entry.query
    if (row.reference, row.expected) != (query.reference, query.expected):
        entry.query = replace(
            query,
            reference=query.reference if row.reference is None else row.reference,
            expected=query.expected if row.expected is None else row.expected,
        )
    return entry


def _make_query(row: ParsedRow, lang: LangChoice) -> _QueryRows:
    text = clean.clean_query(row.query)
    if not text:
        raise InputError(
            "{place} is {value!r:.80}, which has no readable text",
            place=row.locate_field("query"),
            value=row.query,
        )
    language = detect_query_language(text) if lang == "auto" else lang
    query = Query(row.query_id, text, row.query, language or "en", row.reference, expected=row.expected)
    return _QueryRows(query, row.location, row.extra, is_scriptless=language is None)


def _check_same_query(row: ParsedRow, entry: _QueryRows) -> None:
    query = entry.query
    if row.query != query.raw_text and normalise_text(row.query) != normalise_text(query.raw_text):
        raise InputError(
            "{place}: {row.query_id!r} is {row.query!r:.80} here and {other.query.raw_text!r:.80} at"
            " {other.location}; give every query its own id",
            place=row.locate_field("query_id"),
            row=row,
            other=entry,
        )
    for name, value, other_value in (
        ("reference", row.reference, query.reference),
        ("expected", row.expected, query.expected),
    ):
        if value is not None and other_value is not None and value != other_value:
            raise InputError(
                "{place} of query {query.id!r} is {value!r:.80} here and {other_value!r:.80} at"
                " {other_place}; a query has one value of it",
                place=row.locate_field(name),
                query=query,
                value=value,
                other_value=other_value,
                other_place=entry.location,
            )


def _choose_rank(row: ParsedRow, engine_rows: _EngineRows) -> int:
    is_ranked = row.rank is not None
    if engine_rows.ranked is not None and engine_rows.ranked != is_ranked:
        raise InputError(
            "{place} is given for some results of a list only (see {other_place}); give every result of a"
            " list a rank, or none",
            place=row.locate_field("rank"),
            other_place=engine_rows.location,
        )
    engine_rows.ranked = is_ranked
    return len(engine_rows.results) + 1 if row.rank is None else row.rank


def _mark_missing_text(snippet: Snippet, position: str) -> Snippet:
    """Return the snippet of a result with missing text; its id differs from that of an empty snippet.

    It also differs from that of any other missing text: by docno, URL, or `position` in the lists.
    """
    id_parts = [TEXT_MISSING, snippet.docno or snippet.url or position]
    flags = {*snippet.flags, TEXT_MISSING} - {EMPTY_SNIPPET}
    return replace(snippet, id=hash_parts(id_parts, 16), flags=tuple(sorted(flags)))
