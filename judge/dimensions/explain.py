"""Explanations: one short reason for the score of each engine on the queries with the lowest scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from judge.analysis.dimension_result import DimensionResult, DimensionSummary, make_note
from judge.analysis.loaded_run import LoadedRun
from judge.analysis.run_analysis import score_run
from judge.assess.text_assessor import QuestionKind, TextAsker
from judge.dimensions import DimensionOptions
from judge.dimensions.questions import QuestionForecast, is_readable, make_question_pair
from judge.measure.score import nan_mean
from judge.messages import Message
from judge.records import Dataset, Judgment, Lang, Pool, Ranking

_MAX_EXPLANATION = 2_000
_NO_RESULT: Mapping[Lang, str] = {"zh": "引擎没有返回结果。", "en": "The engine returned no result."}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the model answers."""

    explanation: str


def _fits(answer: Explanation, _: object) -> bool:
    return is_readable(answer.explanation, _MAX_EXPLANATION)


EXPLAIN = QuestionKind(
    "explain", "explain", Message("explanations"), Explanation, {"explanation": {"type": "string"}}, _fits
)


def forecast_explanations(data: Dataset, pool: Pool, options: DimensionOptions) -> Iterable[QuestionForecast]:
    """Return the most questions that explanations take: a reason of two sentences has about 60 tokens."""
    lists = min(options.explain_queries, len(data.queries)) * len(data.engines)
    return [QuestionForecast(EXPLAIN, lists, 60.0 * pool.depth, 120)]


def explain_run(run: LoadedRun, asker: TextAsker, options: DimensionOptions) -> DimensionResult:
    """Return an explanation for each engine on the queries with the lowest mean score over the engines."""
    scores = score_run(run, run.spec.measures[:1])
    values = scores.average_repeats()[0][:, :, 0]
    means = nan_mean(values, axis=0)
    order = [int(at) for at in np.argsort(means, kind="stable") if not np.isnan(means[at])]
    rankings = {(each.engine, each.query_id): each for each in run.data.rankings}
    judgments = _select_judgments(run.judgments)
    lists_with_lines = []
    for at in order[: options.explain_queries]:
        for row, engine in enumerate(scores.engines):
            ranking = rankings.get((engine, scores.queries[at]))
            if ranking is not None and not np.isnan(values[row, at]):
                head = f"{scores.measures[0]} = {values[row, at]:.4f}"
                lists_with_lines.append((ranking, [head, *_show_grades(ranking, run, judgments)]))
    pairs = [
        make_question_pair(run.data.queries[ranking.query_id], lines)
        for ranking, lines in lists_with_lines
        if ranking.snippets
    ]
    answers = asker.ask(EXPLAIN, pairs)
    notes = []
    for ranking, _ in lists_with_lines:
        query = run.data.queries[ranking.query_id]
        answer = answers.pop(0) if ranking.snippets else Explanation(_NO_RESULT[query.lang])
        if answer:
            notes.append(make_note(query, ranking.engine, answer.explanation))
    remark = Message(
        "{count:,} of {total:,} lists are explained: those of the {queries:,} queries with the lowest mean"
        " {measure}.",
        count=len(notes),
        total=len(lists_with_lines),
        queries=min(len(order), options.explain_queries),
        measure=str(scores.measures[0]),
    )
    return DimensionResult(DimensionSummary({}, (remark,), tuple(notes)))


def _select_judgments(judgments: Iterable[Judgment]) -> Mapping[tuple[str, str], Judgment]:
    """Return the first judgment with a grade of each pair."""
    first: dict[tuple[str, str], Judgment] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            first.setdefault((judgment.query_id, judgment.snippet_id), judgment)
    return first


def _show_grades(
    ranking: Ranking, run: LoadedRun, judgments: Mapping[tuple[str, str], Judgment]
) -> Iterator[str]:
    """Yield a line for each result: rank, grade of the largest, and the reason; a dash without a grade."""
    for rank, snippet in enumerate(ranking.snippets[: run.pool.depth], start=1):
        judgment = judgments.get((ranking.query_id, snippet.id))
        if judgment is None:
            yield f"{rank} | - |"
        else:
            yield f"{rank} | {judgment.grade}/{run.spec.scale.top} | {judgment.reason}"
