"""Owns results.json, what people open: every query, engine, snippet, grade and reason.

Written and read query by query; reading it back gives all that scoring needs, so a run's folder can
be scored again wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

from judge.dataset.textfile import number_lines
from judge.errors import InputError
from judge.filesystem import open_text
from judge.measure.panel_agreement import PanelMembers
from judge.records import Dataset, Judgment, Pool, Query, Ranking, Scale, Snippet
from judge.runs.folder import DAMAGED_FILE_ADVICE, dump_json, parse_json

_QUERIES, _END = '"queries": [\n', "]}\n"
#: Values per (engine, query_id): measure -> mean over repeats, None where undefined.
ScoreTable = Mapping[tuple[str, str], Mapping[str, float | None]]

#: Entries of judgments by (query_id, snippet_id).
Said = Mapping[tuple[str, str], list[dict[str, Any]]]


def chunks(run: str, summary: Mapping[str, Any], queries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The text of results.json, in pieces: the summary, then a line a query."""
    yield f'{{"run": {dump_json(run)},\n"summary": {dump_json(summary)},\n{_QUERIES}'
    separator = ""
    for query in queries:
        yield separator + dump_json(query)
        separator = ",\n"
    yield f"\n{_END}"


def entries(path: Path) -> Iterator[dict[str, Any]]:
    """The queries of the results.json at `path`, one after the other, as `chunks` wrote them.

    Raises InputError when the file is not laid out so.
    """
    try:
        with open_text(path, newline="\n") as file:
            texts = (line for _, line in number_lines(file, path))
            lines = dropwhile(lambda line: line != _QUERIES, texts)
            if next(lines, None) is None:
                raise ValueError("no line begins the queries")
            for line in takewhile(lambda line: line != _END, lines):
                entry = parse_json(str(path), line.removesuffix("\n").removesuffix(","))
                if not isinstance(entry, dict):
                    raise ValueError(f"a query is {entry!r:.40}")
                yield entry
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is not as judge wrote it ({error}); {DAMAGED_FILE_ADVICE}") from error


def said(judgments: Iterable[Judgment], members: PanelMembers, scale: Scale) -> Said:
    """What was said of each (query_id, snippet_id): an entry a repeat, with each member's of a panel."""
    entries: dict[tuple[str, str], list[dict[str, Any]]] = {}
    by_repeat: dict[tuple[str, str, int], dict[str, Any]] = {}
    for judgment in judgments:
        entry = _judgment(judgment, scale)
        entries.setdefault((judgment.query_id, judgment.snippet_id), []).append(entry)
        by_repeat[judgment.query_id, judgment.snippet_id, judgment.repeat] = entry
    for name, own in members.items():
        for judgment in own:
            entry = by_repeat[judgment.query_id, judgment.snippet_id, judgment.repeat]
            member = {"assessor": name, **_judgment(judgment, scale)}
            entry.setdefault("members", []).append(member)
    return entries


def queries(data: Dataset, pool: Pool, said: Said, scores: ScoreTable) -> Iterator[dict[str, Any]]:
    """One entry a query, in reading order, with each engine's snippets best first."""
    by_query: dict[str, list[Ranking]] = {}
    for ranking in data.rankings:
        by_query.setdefault(ranking.query_id, []).append(ranking)
    for query in data.queries.values():
        engines = {
            ranking.engine: _engine(ranking, pool, said, scores)
            for ranking in sorted(by_query.get(query.id, []), key=lambda ranking: ranking.engine)
        }
        yield {**_query(query), "engines": engines}


def _query(query: Query) -> dict[str, Any]:
    entry: dict[str, Any] = {"query_id": query.id, "query": query.raw_text, "lang": query.lang}
    if query.text != query.raw_text:
        entry["shown"] = query.text
    if query.reference is not None:
        entry["reference"] = query.reference
    if query.extra:
        entry["extra"] = dict(query.extra)
    return entry


def _engine(ranking: Ranking, pool: Pool, said: Said, scores: ScoreTable) -> dict[str, Any]:
    key = (ranking.engine, ranking.query_id)
    documents = pool.documents.get(key, ())
    entry: dict[str, Any] = {"scores": dict(scores.get(key, {}))}
    if ranking.error is not None:
        entry["error"] = ranking.error
    if ranking.latency_ms is not None:
        entry["latency_ms"] = ranking.latency_ms
    entry["snippets"] = [
        _snippet(rank, snippet, documents, said.get((ranking.query_id, snippet.id), []))
        for rank, snippet in enumerate(ranking.snippets, start=1)
    ]
    return entry


def _snippet(
    rank: int, snippet: Snippet, documents: Sequence[str], judgments: list[dict[str, Any]]
) -> dict[str, Any]:
    judged = rank <= len(documents)
    entry: dict[str, Any] = {
        "rank": rank,
        "snippet_id": snippet.id,
        "document": documents[rank - 1] if judged else None,
        "title": snippet.raw_title,
        "url": snippet.url,
        "snippet": snippet.raw_text,
    }
    if snippet.date:
        entry["date"] = snippet.date
    if snippet.docno:
        entry["docno"] = snippet.docno
    if (snippet.title, snippet.text) != (snippet.raw_title, snippet.raw_text):
        entry["shown"] = {"title": snippet.title, "snippet": snippet.text}
    if snippet.flags:
        entry["flags"] = list(snippet.flags)
    entry["judgments"] = judgments if judged else []
    return entry


def _judgment(judgment: Judgment, scale: Scale) -> dict[str, Any]:
    grade = judgment.grade
    return {
        "repeat": judgment.repeat,
        "verdict": None if grade is None else "yes" if grade >= scale.relevant_from else "no",
        "grade": grade,
        "reason": judgment.reason,
        "error": judgment.error,
        "flags": list(judgment.flags),
    }


def load(results: Mapping[str, Any]) -> tuple[Dataset, dict[tuple[str, str], tuple[str, ...]]]:
    """The dataset that a results.json was made from, and the documents of its pool."""
    asked: dict[str, Query] = {}
    rankings: list[Ranking] = []
    documents: dict[tuple[str, str], tuple[str, ...]] = {}
    for entry in results["queries"]:
        query = _load_query(entry)
        asked[query.id] = query
        for engine, answer in entry["engines"].items():
            snippets = tuple(map(_load_snippet, answer["snippets"]))
            latency = answer.get("latency_ms")
            rankings.append(Ranking(engine, query.id, snippets, answer.get("error"), latency))
            shown = (snippet["document"] for snippet in answer["snippets"])
            documents[engine, query.id] = tuple(document for document in shown if document is not None)
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    remarks = tuple(results["summary"].get("remarks", ()))
    # A run from before the option showed every date that it had.
    dates = results["summary"].get("dates", True)
    return Dataset(asked, tuple(rankings), engines, remarks, dates), documents


def _load_query(entry: Mapping[str, Any]) -> Query:
    return Query(
        id=entry["query_id"],
        text=entry.get("shown", entry["query"]),
        raw_text=entry["query"],
        lang=entry["lang"],
        reference=entry.get("reference"),
        extra=entry.get("extra", {}),
    )


def _load_snippet(entry: Mapping[str, Any]) -> Snippet:
    shown = entry.get("shown", entry)
    return Snippet(
        id=entry["snippet_id"],
        text=shown["snippet"],
        title=shown["title"],
        date=entry.get("date", ""),
        url=entry["url"],
        raw_text=entry["snippet"],
        raw_title=entry["title"],
        docno=entry.get("docno", ""),
        flags=tuple(entry.get("flags", ())),
    )
