"""The table of dimensions, the functions that measure those of a run, and the questions that they ask.

A dimension is a row of `DIMENSIONS` and the functions that it names. Its name is that of its option.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from judge.analysis.dimension_summary import DimensionResult
from judge.analysis.judged_run import JudgedRun
from judge.assess.question_assessor import DimensionQuestions, QuestionAsker
from judge.dimensions import reasons
from judge.dimensions.answers import count_answer_questions, measure_answers
from judge.dimensions.dimension import DimensionOptions, QuestionCount
from judge.dimensions.diversity import measure_diversity, measure_embedding_diversity
from judge.dimensions.expected_gains import measure_expected_gains
from judge.dimensions.feedback import measure_feedback
from judge.dimensions.freshness import measure_freshness
from judge.dimensions.points import count_point_questions, measure_points
from judge.dimensions.sites import count_site_questions, measure_site_grades, measure_sites
from judge.dimensions.trade_offs import measure_costs, measure_total
from judge.errors import InputError
from judge.messages import Message, OptionName, SeparatedNames
from judge.records import Dataset, Pool


@dataclass(frozen=True, slots=True)
class Dimension:
    """A row of the table: the name, and what measures the dimension.

    A dimension with `count_questions` asks the first model; this function returns the questions to expect.
    Where `needs_option` is true, nothing is measured without the field of DimensionOptions that has the name
    of the dimension.
    """

    name: str
    measure: Callable[[JudgedRun, DimensionOptions], DimensionResult]
    count_questions: Callable[[Dataset, Pool, DimensionOptions], Iterable[QuestionCount]] | None = None
    needs_option: bool = False


# The weighted total is the last: it reads the others.
_ROWS = (
    Dimension(Message("diversity"), measure_diversity),
    Dimension(Message("diversity_embeddings"), measure_embedding_diversity, needs_option=True),
    Dimension(Message("sites"), measure_sites),
    Dimension(Message("freshness"), measure_freshness),
    Dimension(Message("expected_gains"), measure_expected_gains),
    Dimension(Message("feedback"), measure_feedback, needs_option=True),
    Dimension(Message("costs"), measure_costs),
    Dimension(Message("site_grades"), measure_site_grades, count_site_questions),
    Dimension(Message("points"), measure_points, count_point_questions),
    Dimension(Message("answers"), measure_answers, count_answer_questions),
    Dimension(Message("failures"), reasons.measure_failures, reasons.count_failure_questions),
    Dimension(Message("explain"), reasons.measure_explanations, reasons.count_explanation_questions),
    Dimension(Message("weights"), measure_total, needs_option=True),
)
DIMENSIONS: Mapping[str, Dimension] = {row.name: row for row in _ROWS}


def measure_dimensions(
    run: JudgedRun, names: Iterable[str], asker: QuestionAsker | None, options: DimensionOptions
) -> dict[str, DimensionResult]:
    """Return the dimensions of the run by name: those that it has, and those of `names`, measured again.

    Those that ask a model are left out when the `asker` has stopped. Raises InputError for an unknown name,
    for a dimension that lacks its option, and without an `asker` for one that asks a model.
    """
    names = set(names)
    if unknown := sorted(names - DIMENSIONS.keys()):
        free = [str(name) for name, row in DIMENSIONS.items() if asker or row.count_questions is None]
        raise InputError(
            "unknown dimension {name!r}; write one of {names}",
            name=unknown[0],
            names=SeparatedNames(free),  # as the reader types them
        )
    results = dict(run.dimensions)
    for name, row in DIMENSIONS.items():
        if name not in names:
            continue
        if row.needs_option and not getattr(options, name):
            option = OptionName(f"--{name.replace('_', '-')}")
            raise InputError("the dimension {name!r} needs {option}", name=str(name), option=option)
        if row.count_questions is None:
            results[name] = row.measure(replace(run, dimensions=results), options)
        elif asker is None:
            raise InputError("the dimension {name!r} asks a model: measure it with judge run", name=str(name))
        elif asker.stopped is None:
            result = row.measure(run, replace(options, asker=asker))
            results[name] = _add_questions(result, asker.questions.get(name))
    return results


def _add_questions(result: DimensionResult, questions: DimensionQuestions | None) -> DimensionResult:
    """Add the cost of the questions, and how many have no answer, if some have none."""
    if questions is None:
        return result
    remarks = result.summary.remarks
    if questions.failures:
        missing = Message(
            "{missing:,} of {total:,} questions have no answer: the means can be over different queries.",
            missing=len(questions.failures),
            total=questions.count,
        )
        remarks = (*remarks, missing)
    return replace(result, summary=replace(result.summary, remarks=remarks, cost=questions.cost))


def iter_question_counts(
    names: Iterable[str], dataset: Dataset, pool: Pool, options: DimensionOptions
) -> Iterator[tuple[str, QuestionCount]]:
    """Yield the questions to expect of the dimensions `names`, which all ask, with the dimension."""
    for name in names:
        if count := DIMENSIONS[name].count_questions:
            yield from ((name, question_count) for question_count in count(dataset, pool, options))
