"""Owns reading a dataset: rows of any form become queries and rankings, or one clear refusal.

What is wrong with the data ends the run before anything is paid. What is wrong with one snippet's
text never does: that is cleaned and flagged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.dataset import clean, trec, validation
from judge.dataset.clean import EMPTY_SNIPPET, mark_missing_text
from judge.dataset.language import detect_query_language, find_majority_language
from judge.dataset.readers import read_rows
from judge.dataset.rows import InputRow, read_mappings
from judge.dataset.validation import make_query_id, normalise_text, parse_identifier
from judge.errors import InputError
from judge.records import Dataset, LangChoice, Query, Ranking, Snippet

#: A rank beyond this is a slip of the keyboard, not a result.
MAX_RANK = 1_000_000


@dataclass(frozen=True, slots=True)
class _PromptLimits:
    """What prompts show of a snippet: at most `max_chars`, and its date where `dates` is set."""

    max_chars: int
    dates: bool


@dataclass(slots=True)
class _QueryRows:
    """One query as the rows describe it so far; `cleaned` remembers snippets that engines share.

    `is_cut` tells whether prompts leave the end of it out, or of its reference. `is_scriptless` says that
    its language is the one of its snippets, which are known once all rows are read.
    """

    query: Query
    place: str
    extra: dict[str, str]
    answers: dict[str, _EngineRows] = field(default_factory=dict)
    cleaned: dict[tuple[str, ...], Snippet] = field(default_factory=dict)
    is_cut: bool = False
    is_scriptless: bool = False


@dataclass(slots=True)
class _EngineRows:
    """One engine's answer to one query so far; `ranked` tells whether its rows carry ranks."""

    place: str
    error: str | None = None
    latency_ms: float | None = None
    ranked: bool | None = None
    results: dict[int, tuple[str, Snippet]] = field(default_factory=dict)


def read_dataset(
    source: Path | Iterable[Mapping[str, Any]],
    *,
    lang: LangChoice,
    max_chars: int,
    dates: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Dataset:
    """The dataset in a file, or in an iterable of rows.

    `lang` is the language of the prompts, `auto` by each query's script, and where it has none by the
    snippets that all engines return for it; `max_chars` bounds what a prompt may show of one snippet,
    `dates` says that it shows dates. `columns` gives the source's own name of a field that it calls
    otherwise. Raises InputError naming file, line, field and value.
    """
    warnings: list[str] = []
    shown = _PromptLimits(max_chars, dates)
    if isinstance(source, Path):
        data = _collect_dataset(read_rows(source, columns or {}, warnings.append), str(source), lang, shown)
    else:
        data = _collect_dataset(read_mappings(source, columns or {}), "the dataset", lang, shown)
    return replace(data, warnings=(*warnings, *data.warnings))


def read_trec_dataset(
    topics: Path,
    docs: Path,
    runs: Sequence[Path],
    *,
    lang: LangChoice,
    max_chars: int,
    dates: bool = False,
) -> Dataset:
    """The dataset in TREC files: a topics file, a documents file and a run file for each engine.

    Nobody knows what a result shows whose document is not in `docs`: it is `absent`.
    """
    found = trec.read_trec_rows(topics, docs, runs)
    return _collect_dataset(found, ", ".join(map(str, runs)), lang, _PromptLimits(max_chars, dates))


def _collect_dataset(
    found: Iterable[InputRow], source: str, lang: LangChoice, shown: _PromptLimits
) -> Dataset:
    asked: dict[str, _QueryRows] = {}
    for row in found:
        _add_row(row, asked, lang, shown)
    if not asked:
        raise InputError(f"{source}: holds no rows")
    rankings = tuple(
        Ranking(engine, query_id, _sort_snippets(answer), answer.error, answer.latency_ms)
        for query_id, each in asked.items()
        for engine, answer in each.answers.items()
    )
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    queries = {query_id: _finish_query(each) for query_id, each in asked.items()}
    return Dataset(queries, rankings, engines, tuple(_collect_warnings(asked, engines)), shown.dates)


def _add_row(row: InputRow, asked: dict[str, _QueryRows], lang: LangChoice, shown: _PromptLimits) -> None:
    each = _find_query(row, asked, lang)
    each.is_cut |= any(clean.is_query_cut(_read_text(row, name)) for name in ("query", "reference"))
    engine = parse_identifier(row.place, row.column("engine"), row.values.get("engine"), "engine")
    known = each.answers.get(engine)
    answer = each.answers.setdefault(engine, _EngineRows(_strip_engine(row, engine)))
    if "snippet" not in row.values:
        if known is not None:
            raise InputError(
                f"{_strip_engine(row, engine)}: engine {engine!r} answers query {each.query.id!r} a second"
                f" time, first at {known.place}; an engine answers a query once, and two engines need two names"
            )
        answer.error = _read_text(row, "error") or None
        answer.latency_ms = _read_latency(row)
        return
    error = _read_text(row, "error") or answer.error
    if error:
        raise InputError(
            f"{row.place}: engine {engine!r} has a result, and the error {error!r:.80} at {answer.place};"
            " an engine that broke has no results"
        )
    rank = _read_rank(row, answer)
    if rank in answer.results:
        raise InputError(
            f"{row.at('rank')}: engine {engine!r} has rank {rank} for query {each.query.id!r} twice,"
            f" first at {answer.results[rank][0]}; every rank of a list is given once"
        )
    answer.results[rank] = (row.place, _make_snippet(row, each, shown, f"{engine} {rank}"))


def _strip_engine(row: InputRow, engine: str) -> str:
    """The row's place, less the engine that places in nested rows end with."""
    return row.place.removesuffix(f": engine {engine!r}")


def _find_query(row: InputRow, asked: dict[str, _QueryRows], lang: LangChoice) -> _QueryRows:
    raw = row.values.get("query")
    if not isinstance(raw, str):
        wrong = "is missing" if raw is None else f"is {raw!r:.80}, not text"
        raise InputError(f"{row.at('query')} {wrong}; every row needs the query's text")
    query_id = parse_identifier(
        row.place, row.column("query_id"), row.values.get("query_id"), make_query_id(raw)
    )
    each = asked.get(query_id)
    if each is None:
        each = asked[query_id] = _make_query(row, query_id, raw, lang)
        return each
    reference, extra = _read_reference(row), _read_extra(row)
    _check_same_query(row, each, raw, reference)
    if extra != each.extra:
        each.extra = {name: value for name, value in each.extra.items() if extra.get(name) == value}
    if reference is not None and each.query.reference is None:
        each.query = Query(query_id, each.query.text, each.query.raw_text, each.query.lang, reference)
    return each


def _make_query(row: InputRow, query_id: str, raw: str, lang: LangChoice) -> _QueryRows:
    text = clean.clean_query(raw)
    if not text:
        raise InputError(f"{row.at('query')} is {raw!r:.80}, in which nothing is to be read")
    language = detect_query_language(text) if lang == "auto" else lang
    query = Query(query_id, text, raw, language or "en", _read_reference(row))
    return _QueryRows(query, row.place, _read_extra(row), is_scriptless=language is None)


def _read_reference(row: InputRow) -> str | None:
    """The known answer, fit to stand in a prompt."""
    return clean.clean_query(unicodedata.normalize("NFC", _read_text(row, "reference"))) or None


def _read_extra(row: InputRow) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in row.extra.items()
        if isinstance(value, str | int | float) and value == value  # a NaN says nothing
    }


def _check_same_query(row: InputRow, each: _QueryRows, raw: str, reference: str | None) -> None:
    """Raises InputError when the row says other things of its query than an earlier row did."""
    known = each.query
    if raw is not known.raw_text and normalise_text(raw) != normalise_text(known.raw_text):
        raise InputError(
            f"{row.at('query_id')}: {known.id!r} is {raw!r:.80} here and {known.raw_text!r:.80} at"
            f" {each.place}; give every query its own id"
        )
    if reference is not None and known.reference is not None and reference != known.reference:
        raise InputError(
            f"{row.at('reference')} of query {known.id!r} is {reference!r:.80} here and"
            f" {known.reference!r:.80} at {each.place}; a query has one reference"
        )


def _read_rank(row: InputRow, answer: _EngineRows) -> int:
    value = row.values.get("rank")
    ranked = value is not None
    if answer.ranked is not None and answer.ranked != ranked:
        raise InputError(f"{row.at('rank')} is given for some results of a list only (see {answer.place})")
    answer.ranked = ranked
    return _parse_rank(row, value) if ranked else len(answer.results) + 1


def _read_latency(row: InputRow) -> float | None:
    value = row.values.get("latency_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError(f"{row.place}: field 'latency_ms' is {value!r:.40}, not a number of milliseconds")
    return float(value)


def _parse_rank(row: InputRow, value: object) -> int:
    rank = value
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}(\.0*)?\s*", value):
        rank = int(float(value))
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        rank = int(value)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        shown = f"{value!r:.40}"
        raise InputError(f"{row.at('rank')} is {shown}, not a whole number from 1 to {MAX_RANK:,}; 1 is best")
    return rank


def _make_snippet(row: InputRow, each: _QueryRows, how: _PromptLimits, place: str) -> Snippet:
    value = validation.parse_snippet_text(row.place, row.column("snippet"), row.values["snippet"])
    given = (value or "", *(_read_text(row, name) for name in ("title", "url", "date", "docno")))
    if given not in each.cleaned:
        text, title, url, date, docno = given
        each.cleaned[given] = clean.clean_snippet(
            text,
            title=title,
            url=url,
            date=date,
            docno=docno,
            max_chars=how.max_chars,
            query=each.query.text,
            dates=how.dates,
        )
    shown = each.cleaned[given]
    return mark_missing_text(shown, place) if value is None and EMPTY_SNIPPET in shown.flags else shown


def _read_text(row: InputRow, name: str) -> str:
    return validation.parse_text(row.place, row.column(name), row.values.get(name))


def _sort_snippets(answer: _EngineRows) -> tuple[Snippet, ...]:
    return tuple(snippet for _, (_, snippet) in sorted(answer.results.items(), key=lambda item: item[0]))


def _finish_query(each: _QueryRows) -> Query:
    query = each.query
    lang = find_majority_language(each.cleaned.values()) if each.is_scriptless else query.lang
    return Query(query.id, query.text, query.raw_text, lang, query.reference, each.extra)


def _collect_warnings(asked: Mapping[str, _QueryRows], engines: Sequence[str]) -> Iterable[str]:
    cut = [query_id for query_id, each in asked.items() if each.is_cut]
    if cut:
        which = f"{len(cut):,} queries or their references are" if cut[1:] else "1 query or its reference is"
        yield f"{which} cut at {clean.MAX_QUERY_CHARS:,} characters in prompts, first of query {cut[0]!r}"
    for engine in engines:
        answers = [each.answers[engine] for each in asked.values() if engine in each.answers]
        unasked = len(asked) - len(answers)
        if unasked:
            yield (
                f"engine {engine!r} has no row for {unasked} of {len(asked)} queries, left out for it."
                " If it returned nothing there, say so: see the nested form"
            )
        gaps = [query_id for query_id, each in asked.items() if _has_gaps(each.answers.get(engine))]
        if gaps:
            where = f"{len(gaps):,} list{'s' * bool(gaps[1:])}, first for query {gaps[0]!r}"
            yield f"engine {engine!r}: ranks skip numbers in {where}; taken as an order, ranked 1, 2, 3 …"


def _has_gaps(answer: _EngineRows | None) -> bool:
    return answer is not None and max(answer.results, default=0) > len(answer.results)
