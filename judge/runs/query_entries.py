"""The queries of results.json, which are made from a finished run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from judge.analysis.dimension_summary import DimensionResult
from judge.dataset.pool import group_rankings
from judge.judgment_log import group_by_query
from judge.measure.formulas import convert_non_finite
from judge.measure.score import Scores
from judge.records import Dataset, Judgment, ListKey, PairKey, Ranking, Scale, Snippet
from judge.runs.results_file import CleanedText, EngineEntry, JudgmentEntry, QueryEntry, SnippetEntry
from judge.runs.run_result import RunResult

#: The judgments of each (query_id, snippet_id), one a repeat.
JudgmentEntries = Mapping[PairKey, Sequence[JudgmentEntry]]
#: Returns the values of an engine on a query by measure: the mean over the repeats, None where undefined.
ReadScores = Callable[[str, str], Mapping[str, float | None]]


def list_query_entries(result: RunResult) -> Iterator[QueryEntry]:
    """Return the queries of the run's results.json."""
    read_judgments = group_by_query(result.judgments)
    of_members = {name: group_by_query(judgments) for name, judgments in result.members.items()}

    def read_entries(query_id: str) -> JudgmentEntries:
        members = {name: read(query_id) for name, read in of_members.items()}
        return make_judgment_entries(read_judgments(query_id), members, result.scale)

    read_scores = _average_scores(result.scores)
    return make_query_entries(result.data, read_entries, read_scores, result.dimensions)


def make_judgment_entries(
    judgments: Iterable[Judgment], members: Mapping[str, Iterable[Judgment]], scale: Scale
) -> JudgmentEntries:
    """Return the judgments of each pair, one a repeat, with those of the members of a panel."""
    of_members: dict[tuple[PairKey, int], list[JudgmentEntry]] = {}
    for name, own in members.items():
        for judgment in own:
            entry = _make_judgment_entry(judgment, scale, assessor=name)
            of_members.setdefault((judgment.key, judgment.repeat), []).append(entry)
    entries: dict[PairKey, list[JudgmentEntry]] = {}
    for judgment in judgments:
        entry = _make_judgment_entry(judgment, scale, of_members.get((judgment.key, judgment.repeat), ()))
        entries.setdefault(judgment.key, []).append(entry)
    return entries


def _make_judgment_entry(
    judgment: Judgment, scale: Scale, members: Sequence[JudgmentEntry] = (), *, assessor: str = ""
) -> JudgmentEntry:
    """Return the entry of a judgment; `assessor` names a member of a panel."""
    grade = judgment.grade
    return JudgmentEntry(
        assessor=assessor,
        repeat=judgment.repeat,
        verdict=None if grade is None else "yes" if grade >= scale.relevant_from else "no",
        grade=grade,
        reason=judgment.reason,
        error=judgment.error,
        flags=judgment.flags,
        members=tuple(members),
        judged_snippet_id=None if assessor else judgment.judged_snippet_id,
        score=None if assessor else judgment.score,
        probabilities=() if assessor else judgment.probabilities,
    )


def make_query_entries(
    data: Dataset,
    read_judgments: Callable[[str], JudgmentEntries],
    read_scores: ReadScores,
    dimensions: Mapping[str, DimensionResult],
) -> Iterator[QueryEntry]:
    """Yield an entry for each query, in reading order, with each engine's snippets best first.

    `read_judgments` returns the judgments of a query.
    """
    notes: dict[ListKey, dict[str, str]] = {}
    for name, dimension in dimensions.items():
        for note in dimension.summary.notes:
            if note.engine is not None:
                notes.setdefault((note.engine, note.query_id), {})[name] = note.text
    for query, rankings in group_rankings(data):
        judgments = read_judgments(query.id)
        yield QueryEntry(
            query_id=query.id,
            query=query.raw_text,
            lang=query.lang,
            shown=query.text if query.text != query.raw_text else None,
            reference=query.reference,
            expected=query.expected,
            extra=dict(query.extra),
            engines={
                ranking.engine: _make_engine_entry(ranking, judgments, read_scores, dimensions, notes)
                for ranking in sorted(rankings, key=attrgetter("engine"))
            },
        )


def _make_engine_entry(
    ranking: Ranking,
    judgments: JudgmentEntries,
    read_scores: ReadScores,
    dimensions: Mapping[str, DimensionResult],
    notes: Mapping[ListKey, Mapping[str, str]],
) -> EngineEntry:
    key, documents = ranking.key, ranking.documents
    return EngineEntry(
        scores=read_scores(*key),
        error=ranking.error,
        latency_ms=ranking.latency_ms,
        dimensions={
            name: dimension.values[key] for name, dimension in dimensions.items() if key in dimension.values
        },
        notes=notes.get(key, {}),
        snippets=tuple(
            _make_snippet_entry(
                rank,
                snippet,
                documents[rank - 1] if rank <= len(documents) else None,
                judgments.get((ranking.query_id, snippet.id), ()) if rank <= len(documents) else (),
            )
            for rank, snippet in enumerate(ranking.snippets, start=1)
        ),
    )


def _make_snippet_entry(
    rank: int, snippet: Snippet, document: str | None, judgments: Sequence[JudgmentEntry]
) -> SnippetEntry:
    cleaned = (snippet.title, snippet.text) != (snippet.raw_title, snippet.raw_text)
    return SnippetEntry(
        rank=rank,
        snippet_id=snippet.id,
        document=document,
        title=snippet.raw_title,
        url=snippet.url,
        snippet=snippet.raw_text,
        date=snippet.date,
        docno=snippet.docno,
        shown=CleanedText(snippet.title, snippet.text) if cleaned else None,
        flags=snippet.flags,
        judgments=tuple(judgments),
    )


def _average_scores(scores: Scores) -> ReadScores:
    """Return a function that returns the means over the repeats of an engine on a query."""
    means = scores.average_repeats()
    names = [str(measure) for measure in scores.measures]
    engines = {engine: row for row, engine in enumerate(scores.engines)}
    queries = {query: column for column, query in enumerate(scores.queries)}

    def read_means(engine: str, query_id: str) -> Mapping[str, float | None]:
        values = means[engines[engine], queries[query_id]].tolist()
        return dict(zip(names, map(convert_non_finite, values), strict=True))

    return read_means
