"""A linear model of texts that address the assessor, for the wordings that no pattern has.

A feature of a sentence is a word, a number, a mark or a Chinese character, or a few of these in a row. The
model adds the weights of the features of three sentences in a row. They address the assessor when the sum is
above 0, and one of their words is about grading or about language models.
`python -m tests.benchmarks.injection_model` learns the weights, and measures the model on other texts.
"""

import json
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from judge.dataset.word_patterns import contains_any, list_words

#: Without one of these, sentences are not about grades, verdicts, language models or what these are told.
_SUBJECTS = frozenset(
    """
    relevance relevant grade grades graded grader graders grading score scores scored scoring scorer
    rate rated rater raters rating ratings verdict verdicts judge judged judges judging judgment
    judgement evaluate evaluated evaluating evaluation evaluator evaluators assess assessed assessing
    assessment assessor assessors rubric label labels labelled labeled model models ai llm llms bot bots
    gpt chatgpt claude assistant prompt instruction instructions instructed output reply replies respond
    response answer answers yes snippet snippets passage passages system guidelines criteria ignore
    disregard reviewer annotator crawler crawlers machine maximum marks prove compute count token tokens
    key keys
    评 判 裁 評 等_级 模_型 助_手 指_令 提_示 输_出 回_复 回_答 摘_要 片_段 相_关 相_關 满_分 滿_分
    三_分 3_分 机_器 程_序 规_则 结_论 結_論 理_由 密_钥 打_分 是_否 标_准
    """.split()
)
_SUBJECT_WORDS = frozenset(
    subject.encode() for subject in _SUBJECTS if subject.isascii() and subject.isalpha()
)
_SUBJECT_PARTS = tuple(subject.replace("_", "") for subject in _SUBJECTS if not subject.isascii())
_SENTENCE_END = re.compile(r"(?<=[.!?。！？；;\n])\s*")
_UNIT = re.compile(r"[a-z]+(?:['’][a-z]+)?|[0-9]+|[㐀-鿿]|[{}<>\[\]=:：|]")
_FIRST_CHINESE = "㐀"
#: Sentences in a row that are judged together.
_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class InjectionModel:
    """The weights of features, and what is added to their sum; both in hundredths."""

    bias: int
    weights: Mapping[str, int]

    def find_score(self, text: str) -> int:
        """Return the highest score of sentences of a text (lower case), -1 without one of the subjects."""
        return max(
            (
                self.bias + sum(self.weights.get(feature, 0) for feature in features)
                for features in list_windows(text)
                if not _SUBJECTS.isdisjoint(features)
            ),
            default=-1,
        )


def list_windows(text: str) -> list[Set[str]]:
    """Return the features of each few sentences in a row of a text (lower case)."""
    sentences = _list_sentences(text)
    starts = range(max(1, len(sentences) - _SENTENCES + 1))
    return [frozenset[str]().union(*sentences[start : start + _SENTENCES]) for start in starts]


def _list_sentences(text: str) -> list[Set[str]]:
    sentences: list[Set[str]] = []
    for sentence in _SENTENCE_END.split(text):
        if units := _UNIT.findall(sentence):
            features = {*units, *map("_".join, pairwise(units))}
            if not sentence.isascii():
                features.update(
                    "_".join(three)
                    for three in zip(units, units[1:], units[2:], strict=False)
                    if three[0] >= _FIRST_CHINESE or three[1] >= _FIRST_CHINESE
                )
            sentences.append(features)
    return sentences


@cache
def load_injection_model() -> InjectionModel:
    """Return the model that is shipped."""
    content = json.loads((files("judge.dataset") / "injection_weights.json").read_text(encoding="utf-8"))
    return InjectionModel(**content)


def may_address_assessor(text: str) -> bool:
    """Return whether a text (lower case) has a word without which the score of the model is never above 0."""
    has_word = not _SUBJECT_WORDS.isdisjoint(list_words(text))
    return has_word or (not text.isascii() and contains_any(_SUBJECT_PARTS, text))
