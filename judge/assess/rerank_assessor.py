"""Rerankers as assessors: thresholds turn scores, which the store keeps, into grades without another call."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import inf, nextafter
from typing import Self, get_args

from judge.assess.assessor import Assessor, Assignment
from judge.assess.prompts import Prompts, Template
from judge.errors import ReplyParseError
from judge.messages import Message, SeparatedNames
from judge.models.providers import Model
from judge.records import Completion, Judgment, Lang, PairKey, Prompt, Scale, Verdict, parse_score
from judge.store.store import VerdictOrFailure

_VERSION = "rerank-1"
_REASONS: Mapping[Lang, str] = {
    "zh": "相关性得分 {score:.4f}；重排序模型不给出理由。",
    "en": "Relevance score {score:.4f}; a reranker gives no reason.",
}


class RerankAssessor(Assessor):
    """A reranker with thresholds: the grade is the number of thresholds that the score reaches.

    Without `thresholds` they are fitted on labels of people (`fit`); until then every grade is 0.
    """

    def __init__(self, model: Model, scale: Scale, thresholds: Sequence[float] | None) -> None:
        # A score depends neither on the scale nor on the thresholds.
        key_parts = model.name, model.endpoint, dict(model.params)
        super().__init__(model, _make_prompts(scale), scale, key_parts=key_parts)
        self._fits = thresholds is None
        self._thresholds = tuple(thresholds or ())
        self._labels = 0

    @property
    def warnings(self) -> Sequence[str]:
        """Say that there are no reasons, and where the grades come from."""
        values = SeparatedNames(f"{value:.4g}" for value in self._thresholds)
        fit = Message("stated thresholds")
        if self._fits:
            fit = Message(
                "fitted on {count} labelled pairs, on which it agrees better with people than on others",
                count=self._labels,
            )
        return [
            Message(
                "{model} returns scores without reasons; its grades begin at the scores {thresholds}"
                " ({fit}).",
                model=self.model.name,
                thresholds=values,
                fit=fit,
            )
        ]

    async def _read_verdict(self, completion: Completion, prompt: Prompt) -> Verdict:
        score = parse_score(completion.text)
        if score is None:
            raise ReplyParseError("malformed", "the reply is no score")
        return Verdict(bisect_right(self._thresholds, score), _REASONS[prompt.lang].format(score=score))

    def make_judgment(self, assignment: Assignment, answer: VerdictOrFailure) -> Judgment:
        """Return the record of `assignment`, with the grade that the thresholds give its score."""
        return self._grade(super().make_judgment(assignment, answer))

    def fit(self, judgments: Sequence[Judgment], labels: Mapping[PairKey, int]) -> Self:
        """Return a copy with thresholds that are fitted on `labels` by pair, unless they are stated."""
        if not self._fits:
            return self
        scores = [
            (judgment.key, judgment.score)
            for judgment in judgments
            if judgment.score is not None and judgment.key in labels
        ]
        labelled = [(score, labels[pair]) for pair, score in scores]
        assessor = copy(self)
        assessor._labels = len({pair for pair, _ in scores})
        assessor._thresholds = fit_thresholds(labelled, self.scale.top) if labelled else ()
        return assessor

    def regrade(self, judgments: Sequence[Judgment]) -> tuple[Judgment, ...]:
        """Return the judgments with the grades that the thresholds give their scores."""
        return tuple(map(self._grade, judgments))

    def _grade(self, judgment: Judgment) -> Judgment:
        if judgment.score is None:
            return judgment
        grade = bisect_right(self._thresholds, judgment.score)
        return replace(judgment, grade=grade, params={"thresholds": list(self._thresholds)})


def fit_thresholds(labelled: Sequence[tuple[float, int]], top: int) -> tuple[float, ...]:
    """Return the thresholds with which each grade is as frequent as among people, of (score, grade) pairs.

    So the mean grade is that of people. A threshold is the middle between two scores; equal scores get one
    grade. A grade that no person gave is above every score.
    """
    scores = sorted((score for score, _ in labelled), reverse=True)
    thresholds = []
    for grade in range(1, top + 1):
        count = sum(label >= grade for _, label in labelled)
        above = scores[count - 1] if count else nextafter(scores[0], inf)
        below = scores[count] if 0 < count < len(scores) else above
        thresholds.append((above + below) / 2)
    return tuple(thresholds)


def _make_prompts(scale: Scale) -> Prompts:
    """Return prompts that hold query, title and snippet alone: a reranker reads no instructions."""

    def render(values: Mapping[str, str]) -> str:
        return json.dumps([values["query"], values["title"], values["snippet"]], ensure_ascii=False)

    digest = hashlib.sha256(_VERSION.encode()).hexdigest()
    templates = {lang: Template(lang, _VERSION, digest, "", "", render) for lang in get_args(Lang)}
    return Prompts(scale, {}, templates)
