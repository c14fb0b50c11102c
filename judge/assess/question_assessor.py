"""Questions besides a pair's grade, such as a reason for a score: the answer is a reply with a JSON object.

A question is a pair of a query and lines of text, which are in the prompt's fence as a snippet is. So it
goes the way of a pair to judge: lease, permit, budget, ledger, one re-ask, store. Its row of the store holds
the raw reply, which is parsed again when it is read, and no verdict. Its key contains the kind of question,
so that no verdict is taken for an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints

from judge.assess.assessor import NO_VERDICT, Assessor
from judge.assess.judging import PanelMember, judge_with_panel
from judge.assess.prompts import Prompts, make_object_schema
from judge.client.client import ModelClient
from judge.client.progress import ProgressListener
from judge.errors import JudgeError, ReplyParseError
from judge.models.providers import Model
from judge.pricing.costs import RunCost, combine_costs, make_run_cost
from judge.records import GRADED, Completion, JsonSchema, Judgment, Pair, Prompt, Verdict
from judge.store.store import VerdictStore

Answer = TypeVar("Answer")
Name = TypeVar("Name")


@dataclass(frozen=True, slots=True)
class QuestionKind(Generic[Answer]):
    """A kind of question: the prompt file `name`, and the record type of an `answer`.

    `dimension` is the one that asks, `subject` is what progress calls the answers. `fits` says whether an
    answer fits the lines that were shown. Where `is_keyed_by_query`, the lines are examples: an answer is
    stored under the query alone, and is that of other lines, too.
    """

    name: str
    dimension: str
    subject: str
    answer: type[Answer]
    fits: Callable[[Answer, Sequence[str]], bool]
    is_keyed_by_query: bool = False

    @property
    def properties(self) -> Mapping[str, JsonSchema]:
        """The JSON schemas of the fields of an answer."""
        properties: Mapping[str, JsonSchema] = _make_schema(self.answer)["properties"]
        return properties

    def parse(self, reply: str, shown_lines: str, finish_reason: str | None = "stop") -> Answer:
        """Return the answer in a reply about the lines `shown_lines`; raise ReplyParseError."""
        from judge.parsing.final_answer import parse_json_answer  # most runs ask no such question

        answer = parse_json_answer(reply, self.answer, finish_reason)
        if not self.fits(answer, shown_lines.split("\n")):
            raise ReplyParseError("malformed", "the answer does not fit what was shown")
        return answer


#: The names that JSON schemas give to types.
_JSON_TYPES = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def _make_schema(type_: Any) -> JsonSchema:  # noqa: ANN401 - a form such as Literal is no type
    """Return the JSON schema of a type of answers or their fields: a record, a tuple, or values."""
    if is_dataclass(type_):
        return make_object_schema({name: _make_schema(kind) for name, kind in get_type_hints(type_).items()})
    if get_origin(type_) is tuple:
        return {"type": "array", "items": _make_schema(get_args(type_)[0])}
    if type_ in _JSON_TYPES:
        return {"type": _JSON_TYPES[type_]}
    # One of some values, or of these and None.
    choices = (type_,) if get_origin(type_) is Literal else get_args(type_)
    values = [value for choice in choices for value in get_args(choice) or (None,)]
    types = list(dict.fromkeys(_JSON_TYPES[type(value)] for value in values))
    return {"type": types if len(types) > 1 else types[0], "enum": values}


class QuestionAssessor(Assessor):
    """A model that answers questions of one kind."""

    def __init__(self, model: Model, prompts: Prompts, kind: QuestionKind[Any]) -> None:
        name = f"{model.name}/{kind.name}"
        super().__init__(model, prompts, GRADED, reader=f"question:{kind.name}", name=name)
        self.subject = kind.subject
        self._kind = kind

    def make_keys(self, pair: Pair, repeats: int) -> list[bytes]:
        """Return the keys of the answers to `pair`, one for each repeat."""
        if self._kind.is_keyed_by_query:
            pair = replace(pair, snippet=replace(pair.snippet, text=""))
        return super().make_keys(pair, repeats)

    async def _read_verdict(self, completion: Completion, prompt: Prompt) -> Verdict:
        self._kind.parse(completion.text, prompt.snippet, completion.finish_reason)
        return NO_VERDICT


class Asker(Protocol):
    """Answers questions: a `QuestionAsker` asks a model, a `QuestionEstimator` reads the store."""

    def ask(self, kind: QuestionKind[Answer], pairs: Mapping[Name, Pair]) -> dict[Name, Answer]:
        """Return the answer to each of `pairs` by its name, of those that have one that can be read."""


def parse_answers(
    kind: QuestionKind[Answer], pairs: Mapping[Name, Pair], replies: Mapping[tuple[str, str], str]
) -> dict[Name, Answer]:
    """Return the answers to `pairs`, by name, that can be read in `replies`, which are by key of a pair."""
    answers: dict[Name, Answer] = {}
    for name, pair in pairs.items():
        # A row that another program wrote can hold another reply.
        with suppress(ReplyParseError):
            if pair.key in replies:
                answers[name] = kind.parse(replies[pair.key], pair.snippet.text)
    return answers


@dataclass(frozen=True, slots=True)
class DimensionQuestions:
    """The questions of a dimension: their number, the judgments of those without an answer, and the cost.

    `cost` is that of all answers, whether they were asked for now or earlier.
    """

    count: int
    failures: Sequence[Judgment]
    cost: RunCost

    def __add__(self, other: DimensionQuestions) -> DimensionQuestions:
        failures = *self.failures, *other.failures
        return DimensionQuestions(self.count + other.count, failures, combine_costs(other.cost, [self.cost]))


@dataclass(slots=True)
class QuestionAsker:
    """Asks questions of several kinds; `open_client` opens the assessor and the client of a kind.

    `questions` are those that were asked, by dimension. `stopped` is the reason when some have no answer
    because the asking ended early; no further question is asked then.
    """

    open_client: Callable[[QuestionKind[Any]], tuple[QuestionAssessor, ModelClient]]
    store: VerdictStore
    progress: ProgressListener
    questions: dict[str, DimensionQuestions] = field(default_factory=dict)
    stopped: JudgeError | None = None

    def ask(self, kind: QuestionKind[Answer], pairs: Mapping[Name, Pair]) -> dict[Name, Answer]:
        """Return the answer to each of `pairs` by its name, of those that have one that can be read."""
        if self.stopped or not pairs:
            return {}
        assessor, client = self.open_client(kind)
        distinct = tuple({pair.key: pair for pair in pairs.values()}.values())
        [result] = asyncio.run(
            judge_with_panel(distinct, [PanelMember(assessor, client)], self.store, 1, self.progress)
        )
        cost = make_run_cost(result.cost, client.price)
        questions = DimensionQuestions(len(result.judgments), tuple(result.failures), cost)
        earlier = self.questions.get(kind.dimension)
        self.questions[kind.dimension] = earlier + questions if earlier else questions
        self.stopped = result.stopped
        replies = {
            judgment.key: judgment.reply for judgment in result.judgments if judgment.grade is not None
        }
        return parse_answers(kind, pairs, replies)
