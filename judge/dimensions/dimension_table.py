"""The table of dimensions, the functions that measure those of a run, and the questions that they ask.

A dimension is a row of `DIMENSIONS` and the functions that it names. Its name is that of its option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from judge.analysis.dimension_summary import DimensionResult
from judge.analysis.judged_run import JudgedRun
from judge.dataset.clean import clean_query
from judge.dataset.label_files import Feedback
from judge.errors import InputError
from judge.measure.formulas import Floats
from judge.messages import Message, SeparatedNames
from judge.records import EXPLAIN_QUERIES, Dataset, Pair, Pool, Query, Snippet

if TYPE_CHECKING:
    from judge.assess.question_assessor import Asker, DimensionQuestions, QuestionAsker, QuestionKind

#: Most characters of a line: of a snippet, or of an earlier answer of a model.
MAX_LINE = 1_000


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """The options of the dimensions.

    `explain_queries` is the number of queries to explain. `costs` are ENGINE=USD, `weights` NAME=WEIGHT.
    `embed` returns the (texts, dimensions) embeddings called `diversity_embeddings`. `feedback` is that of
    users.
    """

    explain_queries: int = EXPLAIN_QUERIES
    costs: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    diversity_embeddings: str | None = None
    embed: Callable[[Sequence[str]], Floats] | None = None
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class Dimension:
    """A row of the table: the module of `judge.dimensions` and the names of its functions.

    `measure` returns the DimensionResult of a JudgedRun and DimensionOptions. With `count_questions` it asks
    the first model: an Asker is its second argument, and `count_questions` returns the QuestionCounts to
    expect of a Dataset, a Pool and DimensionOptions. Where `needs_option` is true, nothing is measured
    without the field of DimensionOptions that has the name of the dimension.
    """

    name: str
    module: str
    measure: str
    count_questions: str = ""
    needs_option: bool = False

    def load(self, function: str) -> Callable[..., Any]:
        """Import the module and return its function of this name."""
        loaded: Callable[..., Any] = getattr(import_module(f"{__package__}.{self.module}"), function)
        return loaded


# The weighted total is the last: it reads the others.
_ROWS = (
    Dimension(Message("diversity"), "diversity", "measure_diversity"),
    Dimension(Message("diversity_embeddings"), "diversity", "measure_embedding_diversity", needs_option=True),
    Dimension(Message("sites"), "sources", "measure_sites"),
    Dimension(Message("freshness"), "sources", "measure_freshness"),
    Dimension(Message("expected_gains"), "expected_gains", "measure_expected_gains"),
    Dimension(Message("feedback"), "feedback", "measure_feedback", needs_option=True),
    Dimension(Message("costs"), "trade_offs", "measure_costs"),
    Dimension(Message("site_grades"), "site_grades", "measure_site_grades", "count_site_questions"),
    Dimension(Message("points"), "points", "measure_points", "count_point_questions"),
    Dimension(Message("answers"), "answers", "measure_answers", "count_answer_questions"),
    Dimension(Message("failures"), "reasons", "measure_failures", "count_failure_questions"),
    Dimension(Message("explain"), "reasons", "explain_run", "count_explanation_questions"),
    Dimension(Message("weights"), "trade_offs", "measure_total", needs_option=True),
)
DIMENSIONS: Mapping[str, Dimension] = {row.name: row for row in _ROWS}


def measure_dimensions(
    run: JudgedRun,
    names: Iterable[str],
    asker: QuestionAsker | None = None,
    options: DimensionOptions = DimensionOptions(),
) -> dict[str, DimensionResult]:
    """Return the dimensions of the run by name: those that it has, and those of `names`, measured again.

    Without an `asker`, those that ask a model are left out, and so are the next ones when it has stopped.
    Raises InputError for an unknown name, and for a dimension that lacks its option.
    """
    names = set(names)
    if unknown := sorted(names - DIMENSIONS.keys()):
        raise InputError(
            "unknown dimension {name!r}; write one of {names}",
            name=unknown[0],
            names=SeparatedNames(DIMENSIONS),
        )
    results = dict(run.dimensions)
    for name, row in DIMENSIONS.items():
        if name not in names:
            continue
        if row.needs_option and not getattr(options, name):
            raise InputError("the dimension {name!r} needs the option of its name", name=name)
        measure = row.load(row.measure)
        if not row.count_questions:
            results[name] = measure(replace(run, dimensions=results), options)
        elif asker is not None and asker.stopped is None:
            results[name] = _add_questions(measure(run, asker, options), asker.questions.get(name))
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


def ask_questions(run: JudgedRun, names: Iterable[str], asker: Asker, options: DimensionOptions) -> None:
    """Ask the questions of the dimensions `names`, which all ask, without using the answers."""
    for row in map(DIMENSIONS.__getitem__, names):
        row.load(row.measure)(run, asker, options)


def count_questions(
    names: Iterable[str], data: Dataset, pool: Pool, options: DimensionOptions
) -> Iterator[tuple[str, QuestionCount]]:
    """Yield the questions to expect of the dimensions `names`, which all ask, with the dimension."""
    for row in map(DIMENSIONS.__getitem__, names):
        for count in row.load(row.count_questions)(data, pool, options):
            yield row.name, count


@dataclass(frozen=True, slots=True)
class QuestionCount:
    """At most `questions` of a kind, each with about this many tokens of lines and of its reply."""

    kind: QuestionKind[Any]
    questions: int
    shown_tokens: float
    reply_tokens: int


def make_question_pair(query: Query, lines: Iterable[str]) -> Pair:
    """Return the pair of a query and the lines to show, each cleaned: no text can begin another line."""
    text = "\n".join(clean_query(line, max_chars=MAX_LINE) for line in lines)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Pair(query, Snippet(digest, text, raw_text=text))


def show_snippets(snippets: Iterable[Snippet], name: str = "", start: int = 1) -> list[str]:
    """Return a line for each snippet, which begins with `name` and its number from `start`."""
    return [
        " | ".join(filter(None, (f"{name}{number}", each.title))) + f" | {each.text}"
        for number, each in enumerate(snippets, start)
    ]


def is_readable(text: str, max_chars: int) -> bool:
    """Return whether a text of a model has something to read, and at most `max_chars` characters."""
    return len(text) <= max_chars and bool(clean_query(text))
