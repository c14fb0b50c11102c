"""Questions besides a pair's grade, such as a reason for a score: the answer is a reply with a JSON object.

A question is a pair of a query and lines of text, which stand in the prompt's fence as a snippet does. So it
goes the way of a pair to judge: lease, permit, budget, ledger, one re-ask, store. Its row of the store holds
the raw reply, which is parsed again when it is read, and the grade 0. Its key contains the kind of question,
so that no verdict is taken for an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from judge.assess.assessor import Assessor, Question
from judge.assess.progress import ProgressListener
from judge.assess.prompts import Prompts
from judge.assess.runner import PanelMember, judge_with_panel
from judge.client.client import ModelClient
from judge.errors import JudgeError, ReplyParseError
from judge.models import Model
from judge.parsing.final_answer import parse_json_answer
from judge.pricing import RunCost, combine_costs, make_run_cost
from judge.records import GRADED, Completion, Judgment, Pair, Pool, Prompt, Verdict
from judge.store.store import VerdictStore

Answer = TypeVar("Answer")
Name = TypeVar("Name")


@dataclass(frozen=True, slots=True)
class QuestionKind(Generic[Answer]):
    """A kind of question: the prompt file `name`, the record type of an answer and its JSON `properties`.

    `dimension` is the one that asks, `subject` is what progress calls the answers. `fits` says whether an
    answer fits the lines that were shown. Where `is_keyed_by_query`, the lines are examples: an answer is
    stored under the query alone, and is that of other lines, too.
    """

    name: str
    dimension: str
    subject: str
    answer: type[Answer]
    properties: Mapping[str, Any]
    fits: Callable[[Answer, Sequence[str]], bool]
    is_keyed_by_query: bool = False

    def parse(self, reply: str, shown: str, finish_reason: str | None = "stop") -> Answer:
        """Return the answer in a reply about the lines `shown`; raise ReplyParseError."""
        answer = parse_json_answer(reply, self.answer, finish_reason)
        if not self.fits(answer, shown.split("\n")):
            raise ReplyParseError("malformed", "the answer does not fit what was shown")
        return answer


class TextAssessor(Assessor):
    """A model that answers questions of one kind."""

    def __init__(self, model: Model, prompts: Prompts, kind: QuestionKind[Any]) -> None:
        name = f"{model.name}/{kind.name}"
        super().__init__(model, prompts, GRADED, reader=f"question:{kind.name}", name=name)
        self.subject = kind.subject
        self._kind = kind

    def make_questions(self, pair: Pair, repeats: int) -> list[Question]:
        """Return the questions about `pair`, one for each repeat."""
        if not self._kind.is_keyed_by_query:
            return super().make_questions(pair, repeats)
        keyed = replace(pair, snippet=replace(pair.snippet, text=""))
        return [replace(each, pair=pair) for each in super().make_questions(keyed, repeats)]

    async def _ask_once(self, prompt: Prompt, complete: Callable[[], Awaitable[Completion]]) -> Verdict:
        completion = await complete()
        self._kind.parse(completion.text, prompt.snippet, completion.finish_reason)
        return Verdict(0, "")


@dataclass(slots=True)
class TextAsker:
    """Asks questions of several kinds; `open_client` opens the assessor and the client of a kind.

    `costs` are those of the answers by dimension, whether they were asked for now or earlier. `stopped` is
    the reason when questions have no answer because the asking ended early; no further question is asked
    then. `judgments` are those of the questions by dimension; without a grade there is no answer.

    With `stored_only` no question is asked, and only answers in the store are returned. `counts` are then the
    numbers of questions with and without one, by dimension and name of the kind.
    """

    open_client: Callable[[QuestionKind[Any]], tuple[TextAssessor, ModelClient]]
    store: VerdictStore
    progress: ProgressListener
    costs: dict[str, RunCost] = field(default_factory=dict)
    stopped: JudgeError | None = None
    judgments: dict[str, list[Judgment]] = field(default_factory=dict)
    stored_only: bool = False
    counts: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def ask(self, kind: QuestionKind[Answer], pairs: Mapping[Name, Pair]) -> dict[Name, Answer]:
        """Return the answer to each of `pairs` by its name, of those that have one that can be read."""
        distinct = {pair.key: pair for pair in pairs.values()}
        if self.stopped or not pairs:
            return {}
        assessor, client = self.open_client(kind)
        if self.stored_only:
            keys = {id_: assessor.make_questions(pair, 1)[0].key for id_, pair in distinct.items()}
            stored = self.store.find_answers(keys.values())
            answered = {id_: pair for id_, pair in distinct.items() if keys[id_] in stored}
            self.counts[kind.dimension, kind.name] = len(answered), len(distinct) - len(answered)
            distinct = answered
        pool = Pool(depth=0, results=len(distinct), pairs=tuple(distinct.values()), documents={})
        [result] = asyncio.run(
            judge_with_panel(pool, [PanelMember(assessor, client)], self.store, 1, self.progress)
        )
        cost = make_run_cost(result.cost, client.limits.price)
        earlier = self.costs.get(kind.dimension)
        self.costs[kind.dimension] = combine_costs(cost, [earlier] if earlier else [])
        self.stopped = result.stopped
        self.judgments.setdefault(kind.dimension, []).extend(result.judgments)
        answers: dict[tuple[str, str], Answer] = {}
        for each in result.judgments:
            key = each.query_id, each.snippet_id
            # A row that another program wrote can hold another reply.
            with suppress(ReplyParseError):
                if each.grade is not None:
                    answers[key] = kind.parse(each.reply, distinct[key].snippet.text)
        return {name: answers[pair.key] for name, pair in pairs.items() if pair.key in answers}

    def count_stored(self, kind: QuestionKind[Any], most: int) -> tuple[int, int]:
        """Return how many of at most `most` questions of a kind have a stored answer, and how many need one.

        The second is an upper bound where answers that a dimension needs for these questions are missing.
        """
        stored, missing = self.counts.get((kind.dimension, kind.name), (0, 0))
        for (dimension, name), (_, unanswered) in self.counts.items():
            if (dimension, name) == (kind.dimension, kind.name):
                break
            if dimension == kind.dimension and unanswered:
                missing = max(most - stored, 0)
        return stored, missing
