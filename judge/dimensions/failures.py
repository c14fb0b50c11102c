"""Failure classes: why results are not relevant, from the reasons of the assessor, by engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from judge.analysis.dimension_result import (
    DimensionNote,
    DimensionResult,
    QueryValues,
    make_note,
    summarise_dimension,
)
from judge.analysis.loaded_run import LoadedRun
from judge.assess.text_assessor import QuestionKind, TextAsker
from judge.dimensions import DimensionOptions
from judge.dimensions.questions import QuestionForecast, make_question_pair
from judge.messages import Message
from judge.records import Dataset, Judgment, Pool

FailureClass = Literal[
    "off_topic", "other_meaning", "too_general", "cut_off", "outdated", "contradicts", "no_content", "other"
]
CLASSES: tuple[FailureClass, ...] = get_args(FailureClass)
#: The most reasons of one question; further ones of a query are asked in another one.
_MAX_SHOWN = 30


@dataclass(frozen=True, slots=True)
class ReasonClasses:
    """The class of each reason, in order."""

    classes: tuple[FailureClass, ...]


def _fits_reasons(answer: ReasonClasses, lines: Sequence[str]) -> bool:
    return len(answer.classes) == len(lines)


CLASSIFY_REASONS = QuestionKind(
    "failures",
    "failures",
    Message("classes of reasons"),
    ReasonClasses,
    {"classes": {"type": "array", "items": {"type": "string", "enum": list(CLASSES)}}},
    _fits_reasons,
)


def forecast_failures(data: Dataset, pool: Pool, _: DimensionOptions) -> Iterable[QuestionForecast]:
    """Return the most questions: all results of a query are not relevant, with reasons of 60 tokens."""
    pairs = Counter(pair.query.id for pair in pool.pairs)
    questions = sum(-(-count // _MAX_SHOWN) for count in pairs.values())
    tokens = 60.0 * len(pool.pairs) / max(questions, 1)
    return [QuestionForecast(CLASSIFY_REASONS, questions, tokens, 5 * _MAX_SHOWN)]


def measure_failures(run: LoadedRun, asker: TextAsker, _: DimensionOptions) -> DimensionResult:
    """Return the share of each list's results, down to the depth of the run, in each class.

    A list with an ungraded result, or with a reason that has no class, has no value; an empty one neither.
    """
    judgments: dict[tuple[str, str], Judgment] = {}
    for judgment in run.judgments:
        if judgment.grade is not None:
            judgments.setdefault((judgment.query_id, judgment.snippet_id), judgment)
    least = run.spec.scale.relevant_from
    failed = {key: each for key, each in judgments.items() if each.grade is not None and each.grade < least}
    classes = _classify_reasons(run, failed.values(), asker)
    values: dict[tuple[str, str], QueryValues] = {}
    examples: dict[tuple[str, FailureClass], list[DimensionNote]] = {}
    for ranking in run.data.rankings:
        keys = [(ranking.query_id, snippet.id) for snippet in ranking.snippets[: run.pool.depth]]
        if not keys or ranking.error is not None:
            continue
        names = [classes[key] for key in keys if key in classes]
        is_known = all(key in judgments and (key not in failed or key in classes) for key in keys)
        values[ranking.engine, ranking.query_id] = {
            str(name): names.count(name) / len(keys) if is_known else None for name in CLASSES
        }
        for key in filter(classes.get, keys):
            text = f"{classes[key]}: {failed[key].reason}"
            note = make_note(run.data.queries[ranking.query_id], ranking.engine, text)
            examples.setdefault((ranking.engine, classes[key]), []).append(note)
    remarks = list(_describe_engines(run, examples))
    if without := sum(not judgment.reason for judgment in failed.values()):
        remarks.append(
            Message(
                "{count:,} of {failed:,} pairs that are not relevant have no reason, such as those that"
                " people labelled. A list with one has no value, so the shares are over lists with fewer"
                " failures.",
                count=without,
                failed=len(failed),
            )
        )
    most_frequent = sorted(examples.values(), key=lambda notes: -len(notes))
    return summarise_dimension(
        values,
        run.data.engines,
        tuple(remarks),
        tuple(notes[0] for notes in most_frequent),
        dict.fromkeys(map(str, CLASSES), (0.0, 1.0)),
    )


def _classify_reasons(
    run: LoadedRun, failed: Iterable[Judgment], asker: TextAsker
) -> dict[tuple[str, str], FailureClass]:
    """Return the class of each pair whose judgment has a reason; a label of a person has none."""
    by_query: dict[str, list[Judgment]] = {}
    for judgment in failed:
        if judgment.reason:
            by_query.setdefault(judgment.query_id, []).append(judgment)
    parts = [
        reasons[start : start + _MAX_SHOWN]
        for reasons in by_query.values()
        for start in range(0, len(reasons), _MAX_SHOWN)
    ]
    pairs = [
        make_question_pair(
            run.data.queries[part[0].query_id],
            [f"{number} | {judgment.reason}" for number, judgment in enumerate(part, start=1)],
        )
        for part in parts
    ]
    answers = asker.ask(CLASSIFY_REASONS, pairs)
    return {
        (judgment.query_id, judgment.snippet_id): name
        for part, answer in zip(parts, answers, strict=True)
        if answer
        for judgment, name in zip(part, answer.classes, strict=True)
    }


def _describe_engines(
    run: LoadedRun, examples: Mapping[tuple[str, FailureClass], Sequence[DimensionNote]]
) -> Iterable[Message]:
    """Yield the number of results in each class, the most frequent first, for each engine."""
    for engine in run.data.engines:
        counts = Counter({name: len(examples.get((engine, name), ())) for name in CLASSES})
        classes = ", ".join(f"{name} {count:,}" for name, count in counts.most_common() if count)
        if classes:
            yield Message("not relevant at {engine}: {classes}", engine=engine, classes=classes)
