"""What follows from the reasons of the assessor: failure classes and explanations.

Failure classes say why the results of an engine are not relevant. An explanation is one short reason for the
score of an engine on one of the queries with the lowest scores.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from judge.analysis.dimension_summary import (
    DimensionNote,
    DimensionResult,
    DimensionSummary,
    QueryValues,
    make_note,
    summarise_dimension,
)
from judge.analysis.judged_run import JudgedRun, score_run
from judge.assess.question_assessor import QuestionKind
from judge.dimensions.dimension import DimensionOptions, QuestionCount, is_readable, make_question_pair
from judge.measure.score import compute_nan_mean
from judge.messages import MeasureName, Message, join_messages
from judge.records import Dataset, Judgment, Lang, ListKey, PairKey, Pool, Ranking

FailureClass = Literal[
    "off_topic", "other_meaning", "too_general", "cut_off", "outdated", "contradicts", "no_content", "other"
]
_CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)
#: The most reasons of one question; further ones of a query are asked in another one.
_MAX_SHOWN = 30


@dataclass(frozen=True, slots=True)
class ReasonClasses:
    """The class of each reason, in order."""

    classes: tuple[FailureClass, ...]


CLASSIFY_REASONS = QuestionKind(
    "failures",
    "failures",
    Message("classes of reasons"),
    ReasonClasses,
    lambda answer, lines: len(answer.classes) == len(lines),
)


def count_failure_questions(dataset: Dataset, pool: Pool, _: object) -> Iterable[QuestionCount]:
    """Return the most questions: all results of a query are not relevant, with reasons of 60 tokens."""
    pairs = Counter(pair.query.id for pair in pool.pairs)
    questions = sum(-(-count // _MAX_SHOWN) for count in pairs.values())
    tokens = 60.0 * len(pool.pairs) / max(questions, 1)
    return [QuestionCount(CLASSIFY_REASONS, questions, tokens, 5 * _MAX_SHOWN)]


def measure_failures(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return the share of each list's results, down to the depth of the run, in each class.

    A list with an ungraded result, or with a reason that has no class, has no value; an empty one neither.
    """
    judgments = _select_judgments(run.judgments)
    relevant_from = run.spec.scale.relevant_from
    failed = {
        key: judgment
        for key, judgment in judgments.items()
        if judgment.grade is not None and judgment.grade < relevant_from
    }
    classes = _classify_reasons(run, failed.values(), options)
    values: dict[ListKey, QueryValues] = {}
    examples: dict[tuple[str, FailureClass], list[DimensionNote]] = {}
    for (engine, query_id), snippets in run.lists.items():
        if not snippets:
            continue
        keys = [(query_id, snippet.id) for snippet in snippets]
        names = [classes[key] for key in keys if key in classes]
        is_known = all(key in judgments and (key not in failed or key in classes) for key in keys)
        values[engine, query_id] = {
            str(name): names.count(name) / len(keys) if is_known else None for name in _CLASSES
        }
        for key in filter(classes.get, keys):
            query = run.dataset.queries[query_id]
            note = make_note(query, engine, failed[key].reason, heading=classes[key])
            examples.setdefault((engine, classes[key]), []).append(note)
    remarks = _iter_remarks(run.dataset.engines, examples, failed.values())
    most_frequent = sorted(examples.values(), key=lambda notes: -len(notes))
    return summarise_dimension(values, run.dataset.engines, remarks, (notes[0] for notes in most_frequent))


def _iter_remarks(
    engines: Iterable[str],
    examples: Mapping[tuple[str, FailureClass], Sequence[DimensionNote]],
    failed: Collection[Judgment],
) -> Iterator[Message]:
    """Yield how many results of each engine are in each class, and how many judgments have no reason."""
    for engine in engines:
        counts = Counter({name: len(examples.get((engine, name), ())) for name in _CLASSES})
        frequent = [(MeasureName(name), count) for name, count in counts.most_common() if count]
        class_counts = [Message("{name} {count:,}", name=name, count=count) for name, count in frequent]
        if class_counts:
            joined = join_messages(class_counts, "{left}, {right}")
            yield Message("not relevant at {engine}: {classes}", engine=engine, classes=joined)
    if without := sum(not judgment.reason for judgment in failed):
        yield Message(
            "{count:,} of {failed:,} pairs that are not relevant have no reason, such as those that"
            " people labelled. A list with one has no value, so the shares are over lists with fewer"
            " failures.",
            count=without,
            failed=len(failed),
        )


def _classify_reasons(
    run: JudgedRun, failed: Iterable[Judgment], options: DimensionOptions
) -> dict[PairKey, FailureClass]:
    """Return the class of each pair whose judgment has a reason; a label of a person has none."""
    by_query: dict[str, list[Judgment]] = {}
    for judgment in failed:
        if judgment.reason:
            by_query.setdefault(judgment.query_id, []).append(judgment)
    parts = {
        (query_id, start): reasons[start : start + _MAX_SHOWN]
        for query_id, reasons in by_query.items()
        for start in range(0, len(reasons), _MAX_SHOWN)
    }
    pairs = {}
    for key, part in parts.items():
        lines = [f"{number} | {judgment.reason}" for number, judgment in enumerate(part, start=1)]
        pairs[key] = make_question_pair(run.dataset.queries[key[0]], lines)
    return {
        judgment.key: name
        for key, answer in options.ask(CLASSIFY_REASONS, pairs).items()
        for judgment, name in zip(parts[key], answer.classes, strict=True)
    }


_MAX_EXPLANATION = 2_000
_NO_RESULT: Mapping[Lang, str] = {"zh": "引擎没有返回结果。", "en": "The engine returned no result."}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the model answers."""

    explanation: str


EXPLAIN = QuestionKind(
    "explain",
    "explain",
    Message("explanations"),
    Explanation,
    lambda answer, _: is_readable(answer.explanation, _MAX_EXPLANATION),
)


def count_explanation_questions(
    dataset: Dataset, pool: Pool, options: DimensionOptions
) -> Iterable[QuestionCount]:
    """Return the most questions that explanations take: a reason of two sentences has about 60 tokens."""
    lists = min(options.explain_queries, len(dataset.queries)) * len(dataset.engines)
    return [QuestionCount(EXPLAIN, lists, 60.0 * pool.depth, 120)]


def measure_explanations(run: JudgedRun, options: DimensionOptions) -> DimensionResult:
    """Return an explanation for each engine on the queries with the lowest mean score over the engines."""
    scores = score_run(run, run.spec.measures[:1])
    values = scores.average_repeats()[:, :, 0]
    means = compute_nan_mean(values, axis=0)
    order = [int(at) for at in np.argsort(means, kind="stable") if not np.isnan(means[at])]
    rankings = {ranking.key: ranking for ranking in run.dataset.rankings}
    judgments = _select_judgments(run.judgments)
    lists_with_lines = []
    for at in order[: options.explain_queries]:
        for row, engine in enumerate(scores.engines):
            ranking = rankings.get((engine, scores.queries[at]))
            if ranking is not None and not np.isnan(values[row, at]):
                head = f"{scores.measures[0]} = {values[row, at]:.4f}"
                lists_with_lines.append((ranking, [head, *_show_grades(ranking, run, judgments)]))
    pairs = {
        ranking.key: make_question_pair(run.dataset.queries[ranking.query_id], lines)
        for ranking, lines in lists_with_lines
        if ranking.snippets
    }
    answers = options.ask(EXPLAIN, pairs)
    notes = []
    for ranking, _ in lists_with_lines:
        query = run.dataset.queries[ranking.query_id]
        if ranking.key in answers:
            notes.append(make_note(query, ranking.engine, answers[ranking.key].explanation))
        elif not ranking.snippets:
            notes.append(make_note(query, ranking.engine, _NO_RESULT[query.lang]))
    remark = Message(
        "{count:,} of {total:,} lists have an explanation: those of the {queries:,} queries with the lowest"
        " mean {measure}.",
        count=len(notes),
        total=len(lists_with_lines),
        queries=min(len(order), options.explain_queries),
        measure=str(scores.measures[0]),
    )
    return DimensionResult(DimensionSummary({}, (remark,), tuple(notes)))


def _select_judgments(judgments: Iterable[Judgment]) -> Mapping[PairKey, Judgment]:
    """Return the first judgment with a grade of each pair."""
    first: dict[PairKey, Judgment] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            first.setdefault(judgment.key, judgment)
    return first


def _show_grades(ranking: Ranking, run: JudgedRun, judgments: Mapping[PairKey, Judgment]) -> Iterator[str]:
    """Yield a line for each result: rank, grade of the largest, and the reason; a dash without a grade."""
    for rank, snippet in enumerate(ranking.snippets[: run.pool.depth], start=1):
        judgment = judgments.get((ranking.query_id, snippet.id))
        if judgment is None:
            yield f"{rank} | - |"
        else:
            yield f"{rank} | {judgment.grade}/{run.spec.scale.top} | {judgment.reason}"
