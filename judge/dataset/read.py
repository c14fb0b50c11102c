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
from judge.dataset.clean import EMPTY, has_missing_text
from judge.dataset.language import majority_language, query_language
from judge.dataset.readers import read_rows
from judge.dataset.rows import InputRow, from_mappings
from judge.dataset.validation import folded, identifier, query_id_of
from judge.errors import InputError
from judge.records import Dataset, LangChoice, Query, Ranking, Snippet

#: A rank beyond this is a slip of the keyboard, not a result.
DEEPEST = 1_000_000


@dataclass(frozen=True, slots=True)
class _Shown:
    """What prompts show of a snippet: at most `max_chars`, and its date where `dates` is set."""

    max_chars: int
    dates: bool


@dataclass(slots=True)
class _Asked:
    """One query as the rows describe it so far; `cleaned` remembers snippets that engines share.

    `is_cut` tells whether prompts leave the end of it out, or of its reference. `is_scriptless` says that
    its language is the one of its snippets, which are known once all rows are read.
    """

    query: Query
    place: str
    extra: dict[str, str]
    answers: dict[str, _Answer] = field(default_factory=dict)
    cleaned: dict[tuple[str, ...], Snippet] = field(default_factory=dict)
    is_cut: bool = False
    is_scriptless: bool = False


@dataclass(slots=True)
class _Answer:
    """One engine's answer to one query so far; `ranked` tells whether its rows carry ranks."""

    place: str
    error: str | None = None
    latency_ms: float | None = None
    ranked: bool | None = None
    results: dict[int, tuple[str, Snippet]] = field(default_factory=dict)


def read(
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
    shown = _Shown(max_chars, dates)
    if isinstance(source, Path):
        data = _gather(read_rows(source, columns or {}, warnings.append), str(source), lang, shown)
    else:
        data = _gather(from_mappings(source, columns or {}), "the dataset", lang, shown)
    return replace(data, warnings=(*warnings, *data.warnings))


def read_trec(
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
    found = trec.trec_rows(topics, docs, runs)
    return _gather(found, ", ".join(map(str, runs)), lang, _Shown(max_chars, dates))


def _gather(found: Iterable[InputRow], source: str, lang: LangChoice, shown: _Shown) -> Dataset:
    asked: dict[str, _Asked] = {}
    for row in found:
        _add(row, asked, lang, shown)
    if not asked:
        raise InputError(f"{source}: holds no rows")
    rankings = tuple(
        Ranking(engine, query_id, _in_order(answer), answer.error, answer.latency_ms)
        for query_id, each in asked.items()
        for engine, answer in each.answers.items()
    )
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    queries = {query_id: _with_extra(each) for query_id, each in asked.items()}
    return Dataset(queries, rankings, engines, tuple(_warnings(asked, engines)), shown.dates)


def _add(row: InputRow, asked: dict[str, _Asked], lang: LangChoice, shown: _Shown) -> None:
    each = _query(row, asked, lang)
    each.is_cut |= any(clean.is_cut(_text(row, name)) for name in ("query", "reference"))
    engine = identifier(row.place, row.column("engine"), row.values.get("engine"), "engine")
    known = each.answers.get(engine)
    answer = each.answers.setdefault(engine, _Answer(_line(row, engine)))
    if "snippet" not in row.values:
        if known is not None:
            raise InputError(
                f"{_line(row, engine)}: engine {engine!r} answers query {each.query.id!r} a second time,"
                f" first at {known.place}; an engine answers a query once, and two engines need two names"
            )
        answer.error = _text(row, "error") or None
        answer.latency_ms = _latency(row)
        return
    error = _text(row, "error") or answer.error
    if error:
        raise InputError(
            f"{row.place}: engine {engine!r} has a result, and the error {error!r:.80} at {answer.place};"
            " an engine that broke has no results"
        )
    rank = _rank(row, answer)
    if rank in answer.results:
        raise InputError(
            f"{row.at('rank')}: engine {engine!r} has rank {rank} for query {each.query.id!r} twice,"
            f" first at {answer.results[rank][0]}; every rank of a list is given once"
        )
    answer.results[rank] = (row.place, _snippet(row, each, shown, f"{engine} {rank}"))


def _line(row: InputRow, engine: str) -> str:
    """The row's place, less the engine that places in nested rows end with."""
    return row.place.removesuffix(f": engine {engine!r}")


def _query(row: InputRow, asked: dict[str, _Asked], lang: LangChoice) -> _Asked:
    raw = row.values.get("query")
    if not isinstance(raw, str):
        wrong = "is missing" if raw is None else f"is {raw!r:.80}, not text"
        raise InputError(f"{row.at('query')} {wrong}; every row needs the query's text")
    query_id = identifier(row.place, row.column("query_id"), row.values.get("query_id"), query_id_of(raw))
    each = asked.get(query_id)
    if each is None:
        each = asked[query_id] = _new_query(row, query_id, raw, lang)
        return each
    reference, extra = _reference(row), _extra(row)
    _same(row, each, raw, reference)
    if extra != each.extra:
        each.extra = {name: value for name, value in each.extra.items() if extra.get(name) == value}
    if reference is not None and each.query.reference is None:
        each.query = Query(query_id, each.query.text, each.query.raw_text, each.query.lang, reference)
    return each


def _new_query(row: InputRow, query_id: str, raw: str, lang: LangChoice) -> _Asked:
    text = clean.query(raw)
    if not text:
        raise InputError(f"{row.at('query')} is {raw!r:.80}, in which nothing is to be read")
    language = query_language(text) if lang == "auto" else lang
    query = Query(query_id, text, raw, language or "en", _reference(row))
    return _Asked(query, row.place, _extra(row), is_scriptless=language is None)


def _reference(row: InputRow) -> str | None:
    """The known answer, fit to stand in a prompt."""
    return clean.query(unicodedata.normalize("NFC", _text(row, "reference"))) or None


def _extra(row: InputRow) -> dict[str, str]:
    return {
        name: str(value)
        for name, value in row.extra.items()
        if isinstance(value, str | int | float) and value == value  # a NaN says nothing
    }


def _same(row: InputRow, each: _Asked, raw: str, reference: str | None) -> None:
    """Raises InputError when the row says other things of its query than an earlier row did."""
    known = each.query
    if raw is not known.raw_text and folded(raw) != folded(known.raw_text):
        raise InputError(
            f"{row.at('query_id')}: {known.id!r} is {raw!r:.80} here and {known.raw_text!r:.80} at"
            f" {each.place}; give every query its own id"
        )
    if reference is not None and known.reference is not None and reference != known.reference:
        raise InputError(
            f"{row.at('reference')} of query {known.id!r} is {reference!r:.80} here and"
            f" {known.reference!r:.80} at {each.place}; a query has one reference"
        )


def _rank(row: InputRow, answer: _Answer) -> int:
    value = row.values.get("rank")
    ranked = value is not None
    if answer.ranked is not None and answer.ranked != ranked:
        raise InputError(f"{row.at('rank')} is given for some results of a list only (see {answer.place})")
    answer.ranked = ranked
    return _whole(row, value) if ranked else len(answer.results) + 1


def _latency(row: InputRow) -> float | None:
    value = row.values.get("latency_ms")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise InputError(f"{row.place}: field 'latency_ms' is {value!r:.40}, not a number of milliseconds")
    return float(value)


def _whole(row: InputRow, value: object) -> int:
    rank = value
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}(\.0*)?\s*", value):
        rank = int(float(value))
    elif isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        rank = int(value)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= DEEPEST:
        shown = f"{value!r:.40}"
        raise InputError(f"{row.at('rank')} is {shown}, not a whole number from 1 to {DEEPEST:,}; 1 is best")
    return rank


def _snippet(row: InputRow, each: _Asked, how: _Shown, place: str) -> Snippet:
    value = validation.shown(row.place, row.column("snippet"), row.values["snippet"])
    given = (value or "", *(_text(row, name) for name in ("title", "url", "date", "docno")))
    if given not in each.cleaned:
        text, title, url, date, docno = given
        each.cleaned[given] = clean.snippet(
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
    return has_missing_text(shown, place) if value is None and EMPTY in shown.flags else shown


def _text(row: InputRow, name: str) -> str:
    return validation.text(row.place, row.column(name), row.values.get(name))


def _in_order(answer: _Answer) -> tuple[Snippet, ...]:
    return tuple(snippet for _, (_, snippet) in sorted(answer.results.items(), key=lambda item: item[0]))


def _with_extra(each: _Asked) -> Query:
    query = each.query
    lang = majority_language(each.cleaned.values()) if each.is_scriptless else query.lang
    return Query(query.id, query.text, query.raw_text, lang, query.reference, each.extra)


def _warnings(asked: Mapping[str, _Asked], engines: Sequence[str]) -> Iterable[str]:
    cut = [query_id for query_id, each in asked.items() if each.is_cut]
    if cut:
        which = f"{len(cut):,} queries or their references are" if cut[1:] else "1 query or its reference is"
        yield f"{which} cut at {clean.LONGEST_QUERY:,} characters in prompts, first of query {cut[0]!r}"
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


def _has_gaps(answer: _Answer | None) -> bool:
    return answer is not None and max(answer.results, default=0) > len(answer.results)
