"""The queries of results.json, which are made from a finished run."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from judge.analysis.judged_run import JudgedRun
from judge.dataset.pool import group_rankings
from judge.files.judgment_log import group_by_query
from judge.measure.numeric import convert_non_finite
from judge.measure.score import Scores
from judge.records import Judgment, ListKey, PairKey, Ranking, Scale
from judge.runs.results_file import CleanedText, EngineEntry, JudgmentEntry, QueryEntry, SnippetEntry

#: The judgments of each (query_id, snippet_id), one a repeat.
_JudgmentEntries = Mapping[PairKey, Sequence[JudgmentEntry]]


def iter_query_entries(run: JudgedRun, scores: Scores) -> Iterator[QueryEntry]:
    """Yield an entry for each query, in reading order, with each engine's snippets best first."""
    read_judgments = group_by_query(run.judgments)
    of_members = {name: group_by_query(judgments) for name, judgments in run.members.items()}
    read_scores, notes = _average_scores(scores), _group_notes(run)
    for query, rankings in group_rankings(run.dataset):
        members = {name: read(query.id) for name, read in of_members.items()}
        judgments = _make_judgment_entries(read_judgments(query.id), members, run.spec.scale)
        engines = {
            ranking.engine: EngineEntry(
                scores=read_scores(*ranking.key),
                error=ranking.error,
                latency_ms=ranking.latency_ms,
                dimensions={
                    name: dimension.values[ranking.key]
                    for name, dimension in run.dimensions.items()
                    if ranking.key in dimension.values
                },
                notes=notes.get(ranking.key, {}),
                snippets=tuple(_make_snippet_entries(ranking, judgments)),
            )
            for ranking in sorted(rankings, key=attrgetter("engine"))
        }
        yield QueryEntry(
            query_id=query.id,
            query=query.raw_text,
            lang=query.lang,
            shown=query.text if query.text != query.raw_text else None,
            reference=query.reference,
            expected=query.expected,
            extra=dict(query.extra),
            engines=engines,
        )


def _group_notes(run: JudgedRun) -> dict[ListKey, dict[str, str]]:
    """Return what dimensions say of a list in words, by dimension."""
    notes: dict[ListKey, dict[str, str]] = {}
    for name, dimension in run.dimensions.items():
        for note in dimension.summary.notes:
            if note.engine is not None:
                notes.setdefault((note.engine, note.query_id), {})[name] = note.text
    return notes


def _make_judgment_entries(
    judgments: Iterable[Judgment], members: Mapping[str, Iterable[Judgment]], scale: Scale
) -> _JudgmentEntries:
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


def _make_snippet_entries(ranking: Ranking, judgments: _JudgmentEntries) -> Iterator[SnippetEntry]:
    for rank, snippet in enumerate(ranking.snippets, start=1):
        is_pooled = rank <= len(ranking.documents)
        yield SnippetEntry(
            rank=rank,
            snippet_id=snippet.id,
            document=ranking.documents[rank - 1] if is_pooled else None,
            title=snippet.raw_title,
            url=snippet.url,
            snippet=snippet.raw_text,
            date=snippet.date,
            docno=snippet.docno,
            shown=CleanedText(snippet.title, snippet.text) if snippet.raw else None,
            flags=snippet.flags,
            judgments=tuple(judgments.get((ranking.query_id, snippet.id), ())) if is_pooled else (),
        )


def _average_scores(scores: Scores) -> Callable[[str, str], Mapping[str, float | None]]:
    """Return a function that returns the means over the repeats of an engine on a query, by measure."""
    means = scores.average_repeats()
    names = [str(measure) for measure in scores.measures]
    engines = {engine: row for row, engine in enumerate(scores.engines)}
    queries = {query: column for column, query in enumerate(scores.queries)}

    def read_means(engine: str, query_id: str) -> Mapping[str, float | None]:
        values = means[engines[engine], queries[query_id]].tolist()
        return dict(zip(names, map(convert_non_finite, values), strict=True))

    return read_means
