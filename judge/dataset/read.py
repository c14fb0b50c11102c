"""Reading of a dataset: rows of any format become queries and rankings.

Invalid data ends the run with one message before anything is paid. An unusual text of a single snippet does
not: it is cleaned and flagged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.characters import detect_query_language, find_majority_language
from judge.dataset import clean, trec, validation
from judge.dataset.clean import EMPTY_SNIPPET, mark_missing_text
from judge.dataset.readers import read_rows
from judge.dataset.rows import InputRow, parse_json, read_mappings
from judge.dataset.validation import make_query_id, normalise_text, parse_identifier
from judge.errors import InputError
from judge.messages import Message
from judge.records import Dataset, LangChoice, Query, Ranking, Snippet

#: A larger rank is taken as a mistake.
MAX_RANK = 1_000_000


@dataclass(frozen=True, slots=True)
class _PromptLimits:
    """What prompts show of a snippet: at most `max_chars` characters, and its date with `dates`."""

    max_chars: int
    dates: bool


@dataclass(slots=True)
class _QueryRows:
    """One query in the rows so far; `cleaned` caches snippets that several engines returned.

    `is_cut` is True when prompts cut it or its reference. `is_scriptless` is True when its language is that
    of its snippets, which is determined after all rows.
    """

    query: Query
    location: str
    extra: dict[str, str]
    answers: dict[str, _EngineRows] = field(default_factory=dict)
    cleaned: dict[tuple[str, ...], Snippet] = field(default_factory=dict)
    is_cut: bool = False
    is_scriptless: bool = False

    def has_gaps(self, engine: str) -> bool:
        """Return True when the ranks of the engine skip numbers."""
        ranks = self.answers[engine].results if engine in self.answers else {}
        return max(ranks, default=0) > len(ranks)


@dataclass(slots=True)
class _EngineRows:
    """The results of one engine for one query so far; `ranked` is True when its rows have ranks."""

    location: str
    error: str | None = None
    latency_ms: float | None = None
    ranked: bool | None = None
    results: dict[int, tuple[str, Snippet]] = field(default_factory=dict)

    def ranking(self) -> tuple[Snippet, ...]:
        """Return the snippets by rank."""
        return tuple(self.results[rank][1] for rank in sorted(self.results))


def read_dataset(
    source: Path | Iterable[Mapping[str, Any]],
    *,
    lang: LangChoice,
    max_chars: int,
    dates: bool = False,
    columns: Mapping[str, str] | None = None,
    expected: bool = False,
) -> Dataset:
    """Return the dataset in a file, or in an iterable of rows.

    `lang` is the language of the prompts; `auto` takes that of the script of each query, or else of the
    snippets that all engines returned for it. A prompt shows at most `max_chars` characters of a snippet,
    and its date with `dates`. `columns` maps fields to their names in the source where these differ. With
    `expected`, the column of that name has the expected documents of a query. Raise InputError with file,
    line, field and value.
    """
    warnings: list[str] = []
    limits = _PromptLimits(max_chars, dates)
    if isinstance(source, Path):
        rows, name = read_rows(source, columns or {}, warnings.append), str(source)
    else:
        rows, name = read_mappings(source, columns or {}), "the dataset"
    dataset = _collect_dataset(map(_take_expected, rows) if expected else rows, name, lang, limits)
    return replace(dataset, warnings=(*warnings, *dataset.warnings))


def _take_expected(row: InputRow) -> InputRow:
    """Return the row with the expected documents as a field, which are a column like any other elsewhere."""
    others = {name: value for name, value in row.extra.items() if name != "expected"}
    return replace(row, values={**row.values, "expected": row.extra.get("expected")}, extra=others)


def read_trec_dataset(
    topics: Path,
    docs: Path,
    runs: Sequence[Path],
    *,
    lang: LangChoice,
    max_chars: int,
    dates: bool = False,
) -> Dataset:
    """Return the dataset in TREC files: a topics file, a documents file and a run file for each engine.

    A result with a document that is not in `docs` has a missing text.
    """
    rows = trec.read_trec_rows(topics, docs, runs)
    return _collect_dataset(rows, ", ".join(map(str, runs)), lang, _PromptLimits(max_chars, dates))


def _collect_dataset(
    rows: Iterable[InputRow], source: str, lang: LangChoice, limits: _PromptLimits
) -> Dataset:
    queries_by_id: dict[str, _QueryRows] = {}
    for row in rows:
        _add_row(row, queries_by_id, lang, limits)
    if not queries_by_id:
        raise InputError("{source}: holds no rows", source=source)
    rankings = tuple(
        Ranking(engine, query_id, answer.ranking(), answer.error, answer.latency_ms)
        for query_id, entry in queries_by_id.items()
        for engine, answer in entry.answers.items()
    )
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    queries = {query_id: _finish_query(entry) for query_id, entry in queries_by_id.items()}
    return Dataset(queries, rankings, engines, tuple(_collect_warnings(queries_by_id, engines)), limits.dates)


def _add_row(row: InputRow, entries: dict[str, _QueryRows], lang: LangChoice, limits: _PromptLimits) -> None:
    entry = _find_query(row, entries, lang)
    entry.is_cut |= any(clean.is_query_cut(_read_text(row, name)) for name in ("query", "reference"))
    engine = parse_identifier(row.location, row.column("engine"), row.values.get("engine"), "engine")
    earlier = entry.answers.get(engine)
    results = entry.answers.setdefault(engine, _EngineRows(_strip_engine(row, engine)))
    if "snippet" not in row.values:
        if earlier is not None:
            raise InputError(
                "{place}: engine {engine!r} answers query {query_id!r} a second time, first at"
                " {other_place}; an engine answers a query once, and two engines need two names",
                place=_strip_engine(row, engine),
                engine=engine,
                query_id=entry.query.id,
                other_place=earlier.location,
            )
        results.error = _read_text(row, "error") or None
        results.latency_ms = _read_latency(row)
        return
    error = _read_text(row, "error") or results.error
    if error:
        raise InputError(
            "{place}: engine {engine!r} has a result, and the error {error!r:.80} at {other_place}; an"
            " engine that failed has no results",
            place=row.location,
            engine=engine,
            error=error,
            other_place=results.location,
        )
    rank = _read_rank(row, results)
    if rank in results.results:
        raise InputError(
            "{place}: engine {engine!r} has rank {rank} for query {query_id!r} twice, first at"
            " {other_place}; use each rank of a list once",
            place=row.at("rank"),
            engine=engine,
            rank=rank,
            query_id=entry.query.id,
            other_place=results.results[rank][0],
        )
    results.results[rank] = (row.location, _make_snippet(row, entry, limits, f"{engine} {rank}"))


def _strip_engine(row: InputRow, engine: str) -> str:
    """Return the location of the row without the engine at its end, which nested rows have."""
    return row.location.removesuffix(f": engine {engine!r}")


def _find_query(row: InputRow, entries: dict[str, _QueryRows], lang: LangChoice) -> _QueryRows:
    raw = row.values.get("query")
    if not isinstance(raw, str):
        problem = Message("is missing") if raw is None else Message("is {value!r:.80}, not text", value=raw)
        raise InputError(
            "{place} {problem}; every row needs the query's text", place=row.at("query"), problem=problem
        )
    given = row.values.get("query_id")
    otherwise = make_query_id(raw) if given is None else ""
    query_id = parse_identifier(row.location, row.column("query_id"), given, otherwise)
    entry = entries.get(query_id)
    if entry is None:
        entry = entries[query_id] = _make_query(row, query_id, raw, lang)
        return entry
    reference, expected, extra = _read_reference(row), _read_expected(row), _read_extra(row)
    _check_same_query(row, entry, raw, reference, expected)
    if extra != entry.extra:
        entry.extra = {name: value for name, value in entry.extra.items() if extra.get(name) == value}
    query = entry.query
    if (reference, expected) != (query.reference, query.expected):
        entry.query = replace(
            query,
            reference=query.reference if reference is None else reference,
            expected=query.expected if expected is None else expected,
        )
    return entry


def _make_query(row: InputRow, query_id: str, raw: str, lang: LangChoice) -> _QueryRows:
    text = clean.clean_query(raw)
    if not text:
        raise InputError(
            "{place} is {value!r:.80}, which has no readable text", place=row.at("query"), value=raw
        )
    language = detect_query_language(text) if lang == "auto" else lang
    query = Query(query_id, text, raw, language or "en", _read_reference(row), expected=_read_expected(row))
    return _QueryRows(query, row.location, _read_extra(row), is_scriptless=language is None)


def _read_reference(row: InputRow) -> str | None:
    """Return the reference answer in the form for prompts, None without one."""
    return clean.clean_query(unicodedata.normalize("NFC", _read_text(row, "reference"))) or None


def _read_expected(row: InputRow) -> tuple[str, ...] | None:
    """Return the names of the expected documents, None where the field is missing."""
    value = row.values.get("expected")
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, str):
        value = parse_json(row.at("expected"), value) if value.lstrip().startswith("[") else value.split()
    items = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in items):
        raise InputError(
            '{place} is {value!r:.80}, not a list of docnos and URLs such as ["d1", "https://a.example/b"]',
            place=row.at("expected"),
            value=row.values["expected"],
        )
    return tuple(dict.fromkeys(normalise_text(str(item)) for item in items))


def _read_extra(row: InputRow) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in row.extra.items()
        if isinstance(value, str | int | float) and value == value  # a NaN is a missing value
    }


def _check_same_query(
    row: InputRow, entry: _QueryRows, raw: str, reference: str | None, expected: tuple[str, ...] | None
) -> None:
    """Raise InputError when the row contradicts an earlier row of the same query."""
    query = entry.query
    if raw is not query.raw_text and normalise_text(raw) != normalise_text(query.raw_text):
        raise InputError(
            "{place}: {query_id!r} is {value!r:.80} here and {other_value!r:.80} at {other_place}; give"
            " every query its own id",
            place=row.at("query_id"),
            query_id=query.id,
            value=raw,
            other_value=query.raw_text,
            other_place=entry.location,
        )
    for name, value, other_value in (
        ("reference", reference, query.reference),
        ("expected", expected, query.expected),
    ):
        if value is not None and other_value is not None and value != other_value:
            raise InputError(
                "{place} of query {query_id!r} is {value!r:.80} here and {other_value!r:.80} at"
                " {other_place}; a query has one value of it",
                place=row.at(name),
                query_id=query.id,
                value=value,
                other_value=other_value,
                other_place=entry.location,
            )


def _read_rank(row: InputRow, answer: _EngineRows) -> int:
    value = row.values.get("rank")
    ranked = value is not None
    if answer.ranked is not None and answer.ranked != ranked:
        raise InputError(
            "{place} is given for some results of a list only (see {other_place})",
            place=row.at("rank"),
            other_place=answer.location,
        )
    answer.ranked = ranked
    return _parse_rank(row, value) if ranked else len(answer.results) + 1


def _read_latency(row: InputRow) -> float | None:
    value = row.values.get("latency_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError(
            "{place}: field 'latency_ms' is {value!r:.40}, not a number of milliseconds",
            place=row.location,
            value=value,
        )
    return float(value)


def _parse_rank(row: InputRow, value: object) -> int:
    rank = value
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}(\.0*)?\s*", value):
        rank = int(float(value))
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        rank = int(value)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        text = f"{value!r:.40}"
        raise InputError(
            "{place} is {value}, not a whole number from 1 to {most:,}; 1 is best",
            place=row.at("rank"),
            value=text,
            most=MAX_RANK,
        )
    return rank


def _make_snippet(row: InputRow, entry: _QueryRows, limits: _PromptLimits, position: str) -> Snippet:
    value = validation.parse_snippet_text(row.location, row.column("snippet"), row.values["snippet"])
    fields = (value or "", *(_read_text(row, name) for name in ("title", "url", "date", "docno")))
    if fields not in entry.cleaned:
        text, title, url, date, docno = fields
        entry.cleaned[fields] = clean.clean_snippet(
            text,
            title=title,
            url=url,
            date=date,
            docno=docno,
            max_chars=limits.max_chars,
            query=entry.query.text,
            dates=limits.dates,
        )
    snippet = entry.cleaned[fields]
    return (
        mark_missing_text(snippet, position) if value is None and EMPTY_SNIPPET in snippet.flags else snippet
    )


def _read_text(row: InputRow, name: str) -> str:
    return validation.parse_text(row.location, row.column(name), row.values.get(name))


def _finish_query(entry: _QueryRows) -> Query:
    query = entry.query
    lang = find_majority_language(entry.cleaned.values()) if entry.is_scriptless else query.lang
    return replace(query, lang=lang, extra=entry.extra)


def _collect_warnings(entries: Mapping[str, _QueryRows], engines: Sequence[str]) -> Iterable[str]:
    cut = [query_id for query_id, entry in entries.items() if entry.is_cut]
    if cut[1:]:
        yield Message(
            "{count:,} queries or their references are cut at {limit:,} characters in prompts, first of query"
            " {query_id!r}",
            count=len(cut),
            limit=clean.MAX_QUERY_CHARS,
            query_id=cut[0],
        )
    elif cut:
        yield Message(
            "query {query_id!r} or its reference is cut at {limit:,} characters in prompts",
            limit=clean.MAX_QUERY_CHARS,
            query_id=cut[0],
        )
    for engine in engines:
        answers = [entry.answers[engine] for entry in entries.values() if engine in entry.answers]
        missing = len(entries) - len(answers)
        if missing:
            yield Message(
                "engine {engine!r} has no row for {missing:,} of {queries:,} queries, left out for it. If it"
                " returned no results there, add an empty list (nested form)",
                engine=engine,
                missing=missing,
                queries=len(entries),
            )
        gaps = [query_id for query_id, entry in entries.items() if entry.has_gaps(engine)]
        if gaps:
            yield Message(
                "engine {engine!r}: ranks skip numbers in lists, first for query {query_id!r} (number of"
                " lists: {lists:,}); taken as an order, ranked 1, 2, 3 …",
                engine=engine,
                lists=len(gaps),
                query_id=gaps[0],
            )
