"""Answers from search results: what a model answers from each engine's top results, graded by the reference.

The grades and their values are those of CRAG (Yang et al. 2024): perfect 1, acceptable 0.5, missing 0,
incorrect -1. Only queries with a reference are asked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judge.analysis.dimension_summary import (
    DimensionMean,
    DimensionResult,
    QueryValues,
    make_note,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun, score_lists
from judge.assess.question_assessor import QuestionKind
from judge.characters import estimate_tokens
from judge.dimensions.dimension import (
    MAX_LINE,
    DimensionOptions,
    QuestionCount,
    is_readable,
    make_question_pair,
    show_snippets,
)
from judge.measure.numeric import Floats, divide
from judge.measure.resampling import Statistic, estimate_statistic
from judge.messages import Message
from judge.records import Dataset, ListKey, Pool, Ranking

#: The results that an answer is made from: the context of a model is paid by the token.
_TOP_RESULTS = 5
#: Tokens that an answer, or a grade with its reason, takes.
_REPLY_TOKENS = 80
#: The most answers that the summary holds.
_MAX_NOTES = 100
AnswerGrade = Literal["perfect", "acceptable", "missing", "incorrect"]
_GRADE_VALUES: Mapping[AnswerGrade, float] = {
    "perfect": 1.0,
    "acceptable": 0.5,
    "missing": 0.0,
    "incorrect": -1.0,
}
_SCORE = f"answer_score@{_TOP_RESULTS}"


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """An answer to a query; empty where the results do not hold it."""

    answer: str


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """The reason of a grade, then the grade."""

    reason: str
    grade: AnswerGrade


ANSWER = QuestionKind(
    "answer", "answers", Message("answers"), TextAnswer, lambda answer, _: len(answer.answer) <= MAX_LINE
)
GRADE_ANSWER = QuestionKind(
    "answer_grade",
    "answers",
    Message("grades of answers"),
    GradedAnswer,
    lambda answer, _: is_readable(answer.reason, MAX_LINE),
)


def count_answer_questions(dataset: Dataset, pool: Pool, _: object) -> Iterable[QuestionCount]:
    """Return the most questions: two for each list of a query with a reference."""
    lists = _select_lists(dataset)
    texts = ("".join(snippet.text for snippet in ranking.snippets[:_TOP_RESULTS]) for ranking in lists)
    tokens_a_list = sum(map(estimate_tokens, texts)) / max(len(lists), 1)
    kinds = ((ANSWER, tokens_a_list), (GRADE_ANSWER, 100.0))
    return [QuestionCount(kind, len(lists), tokens, _REPLY_TOKENS) for kind, tokens in kinds]


def _select_lists(dataset: Dataset) -> list[Ranking]:
    """Return the lists, of engines that did not fail, of the queries with a reference."""
    return [
        ranking
        for ranking in dataset.rankings
        if ranking.error is None and dataset.queries[ranking.query_id].reference
    ]


def measure_answers(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the grade of the answer from each list. An empty list, and an empty answer, is missing."""
    lists = _select_lists(run.dataset)
    queries = run.dataset.queries
    to_answer = {}
    for ranking in lists:
        if ranking.snippets:
            # The model that answers does not see the reference.
            query = replace(queries[ranking.query_id], reference=None)
            to_answer[ranking.key] = make_question_pair(query, show_snippets(ranking.snippets[:_TOP_RESULTS]))
    answers = options.ask(ANSWER, to_answer)
    texts = {key: answer.answer for key, answer in answers.items() if answer.answer.strip()}
    to_grade = {key: make_question_pair(queries[key[1]], [text]) for key, text in texts.items()}
    graded = options.ask(GRADE_ANSWER, to_grade)
    values: dict[ListKey, QueryValues] = {}
    notes = []
    for ranking in lists:
        key = ranking.key
        is_missing = not ranking.snippets or (key in answers and key not in texts)
        answer = graded.get(key)
        grade: AnswerGrade | None = "missing" if is_missing else answer.grade if answer else None
        shares = {str(name): float(grade == name) if grade else None for name in _GRADE_VALUES}
        values[key] = {_SCORE: _GRADE_VALUES[grade] if grade else None, **shares}
        if answer:
            text = f"{texts[key]} – {answer.reason.strip()}"
            note = make_note(queries[ranking.query_id], ranking.engine, text, heading=answer.grade)
            notes.append((_GRADE_VALUES[answer.grade], note))
    notes.sort(key=lambda note: note[0])
    remark = Message(
        "{count:,} of {queries:,} queries have a reference; only these are asked.",
        count=sum(bool(query.reference) for query in queries.values()),
        queries=len(queries),
    )
    worst = [note for _, note in notes[:_MAX_NOTES]]
    result = summarise_dimension(values, run.dataset.engines, (remark,), worst, {_SCORE: (-1.0, 1.0)})
    return _add_correlations(run, result)


def _add_correlations(run: JudgedRun, result: DimensionResult) -> DimensionResult:
    """Add Pearson's correlation over queries of the answers of each engine with its first measure."""
    measure = run.spec.measures[0]
    scores = score_lists(run, measure)
    engines = {}
    for engine, means in result.summary.engines.items():
        pairs = [
            (answer, score)
            for query_id in run.dataset.queries
            if (answer := result.values.get((engine, query_id), {}).get(_SCORE)) is not None
            and (score := scores.get((engine, query_id))) is not None
        ]
        x, y = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        cells = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
        r = estimate_statistic(cells, Statistic(compute_pearson_r, ""))
        engines[engine] = {**means, f"r({measure})": DimensionMean(r.value, r.ci95, len(pairs))}
    return replace(result, summary=replace(result.summary, engines=engines))


def compute_pearson_r(sums: Floats) -> Floats:
    """Return Pearson's r of the sums (..., 6) of 1, x, y, x², y², xy.

    It is NaN where x or y is constant, and for two queries, which are always on a line.
    """
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    # Rounding leaves a constant with a spread near 0.
    return divide(n * xy - x * y, np.sqrt(np.where((spread > 1e-9) & (n > 2), spread, 0.0)), np.nan)
