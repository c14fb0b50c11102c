"""A linear model of texts that address the assessor, for the wordings that no pattern has.

A feature of a sentence is a word, a number, a mark or a Chinese character, or a few of these in a row. The
model adds the weights of the features of three sentences in a row. They address the assessor when the sum is
above 0, and one of their words is about grading or about language models.
`python -m tests.benchmarks.injection_model` learns the weights, and measures the model on other texts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise

from judge.injection.word_patterns import contains_any, list_words

#: Without one of these, sentences are not about grades, verdicts, language models or what these are told.
_SUBJECT_WORDS = frozenset(
    b"""
    relevance relevant grade grades graded grader graders grading score scores scored scoring scorer
    rate rated rater raters rating ratings verdict verdicts judge judged judges judging judgment
    judgement evaluate evaluated evaluating evaluation evaluator evaluators assess assessed assessing
    assessment assessor assessors rubric label labels labelled labeled model models ai llm llms bot bots
    gpt chatgpt claude assistant prompt instruction instructions instructed output reply replies respond
    response answer answers yes snippet snippets passage passages guidelines criteria ignore disregard
    reviewer annotator crawler crawlers
    """.split()
)
_SUBJECT_PARTS = tuple(
    "评 判 裁 評 等级 模型 助手 指令 提示 输出 回复 回答 摘要 片段 相关 相關 满分 滿分 三分 3分 机器 程序"
    " 规则 结论 結論 理由 密钥 打分 是否 标准".split()
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？；;\n])\s*")
#: A word, a number, a mark, or a run of Chinese characters and digits.
_UNIT = re.compile(r"[a-z]+(?:['’][a-z]+)?|[0-9㐀-鿿]+|[{}<>\[\]=:：|]")
#: Sentences in a row that are judged together.
_SENTENCES = 3


@dataclass(frozen=True, slots=True)
class InjectionModel:
    """The weights of features, and what is added to their sum; both in hundredths."""

    bias: int
    weights: Mapping[str, int]

    def find_score(self, text: str) -> int:
        """Return the highest score of sentences of a text (lower case), -1 where none can be above 0.

        Sentences in a row have no score where none has a subject, or where their words and characters alone
        add up to less than 0. Most sentences do, and no attack that the model finds.
        """
        weights = self.weights
        scores = [-1]
        for sentences in iter_windows(text):
            units = frozenset[str]().union(*(sentence.units for sentence in sentences)) & weights.keys()
            if sum(map(weights.__getitem__, units)) > 0:
                others = frozenset[str]().union(*(sentence.sequences for sentence in sentences))
                features = units | (others & weights.keys())
                scores.append(self.bias + sum(map(weights.__getitem__, features)))
        return max(scores)


class Sentence:
    """The features of a sentence: `units` are words, marks and characters, `sequences` a few in a row."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = []
        self._runs: list[str] = []
        for unit in _UNIT.findall(text):
            (self._words if unit.isascii() else self._runs).append(unit)
        self.units = frozenset({*self._words, *"".join(self._runs)})

    @cached_property
    def sequences(self) -> Set[str]:
        """Two or three words, or Chinese characters, in a row."""
        words = self._words
        pairs, threes = pairwise(words), zip(words, words[1:], words[2:], strict=False)
        sequences = {*map("_".join, pairs), *map("_".join, threes)}
        for run in self._runs:
            sequences.update([run[at : at + 2] for at in range(len(run) - 1)])
            sequences.update([run[at : at + 3] for at in range(len(run) - 2)])
        return sequences


def iter_windows(text: str) -> Iterator[Sequence[Sentence]]:
    """Yield each few sentences in a row of a text (lower case), where one has a subject."""
    texts = [sentence for sentence in _SENTENCE_END.split(text) if _UNIT.search(sentence)]
    subjects = [has_subject_word(sentence) for sentence in texts]
    make_sentence = lru_cache(Sentence)
    for start in range(max(1, len(texts) - _SENTENCES + 1)):
        if True in subjects[start : start + _SENTENCES]:
            yield [make_sentence(sentence) for sentence in texts[start : start + _SENTENCES]]


def has_subject_word(text: str) -> bool:
    """Return whether a text (lower case) has one of the subjects."""
    has_word = not _SUBJECT_WORDS.isdisjoint(list_words(text))
    return has_word or (not text.isascii() and contains_any(_SUBJECT_PARTS, text))


@cache
def load_injection_model() -> InjectionModel:
    """Return the model that is shipped."""
    content = json.loads((files("judge.injection") / "weights.json").read_text(encoding="utf-8"))
    return InjectionModel(**content)


def addresses_assessor(text: str) -> bool:
    """Return whether a text (lower case) addresses the assessor, by the model that is shipped."""
    return has_subject_word(text) and load_injection_model().find_score(text) > 0
