"""A linear model of texts that address the assessor, for the wordings that no pattern has.

A feature of a sentence is a word, a number, a mark or a Chinese character, or a few of these in a row. The
model adds the weights of the features of three sentences in a row. They address the assessor when the sum is
above 0, and one of their words is about grading or about language models.
`python -m tests.benchmarks.injection_model` learns the weights, and measures the model on other texts.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

from judge.injection.patterns import list_words

#: Without one of these, sentences are not about grades, verdicts, language models or what these are told.
_SUBJECT_WORDS = frozenset(
    b"""
    relevance relevant grade grades graded grader graders grading score scores scored scoring scorer
    rate rated rater raters rating ratings verdict verdicts judge judged judges judging judgment
    judgement evaluate evaluated evaluating evaluation evaluator evaluators assess assessed assessing
    assessment assessor assessors rubric label labels labelled labeled model models ai llm llms bot bots
    gpt chatgpt claude assistant prompt instruction instructions instructed output reply replies respond
    response answer answers yes snippet snippets passage passages guidelines criteria ignore disregard
    reviewer reviewers reviewed annotator crawler crawlers mark marks marked marking answered query entry
    """.split()
)
_SUBJECT_PARTS = (
    "评 判 裁 評 等级 模型 助手 指令 提示 输出 回复 回答 摘要 片段 相关 相關 满分 滿分 三分 3分 机器 程序"
    " 规则 结论 結論 理由 密钥 打分 是否 标准".split()
)
_SUBJECT_PART = re.compile("|".join(_SUBJECT_PARTS))
#: The words in ASCII as bytes, and one or two Chinese characters.
SUBJECTS: frozenset[bytes | str] = frozenset((*_SUBJECT_WORDS, *_SUBJECT_PARTS))
_SENTENCE_END = re.compile(r"[.!?。！？；;\n]")
#: A word, a number, a mark, or a run of Chinese characters and digits.
_UNIT = re.compile(r"[a-z]+(?:['’][a-z]+)?|[0-9㐀-鿿]+|[{}<>\[\]=:：|]")
#: Sentences in a row that are judged together.
_SENTENCES = 3
#: What words and characters alone add up to, at least, in sentences whose sequences are looked up.
_MIN_SUM_OF_UNITS = -40


@dataclass(frozen=True, slots=True)
class InjectionModel:
    """The weights of features, and what is added to their sum; both in hundredths."""

    bias: int
    weights: Mapping[str, int]

    def find_score(self, text: str) -> int:
        """Return the highest score of sentences of a text (lower case), -1 where none can be above 0.

        Sentences in a row have no score where none has a subject, or where their words and characters alone
        add up to too little. Most sentences do, and no attack that the model finds.
        """
        scores = [-1]
        windows = set(iter_windows(text))
        names, weigh = self.weights.keys(), self.weights.__getitem__
        units = {sentence: names & sentence.list_units() for sentence in set[Sentence]().union(*windows)}
        for window in windows:
            features = set[str]().union(*map(units.__getitem__, window))
            if sum(map(weigh, features)) > _MIN_SUM_OF_UNITS:
                features.update(*(names & sentence.list_sequences() for sentence in window))
                scores.append(self.bias + sum(map(weigh, features)))
        return max(scores)


class Sentence:
    """The words, numbers and marks of a sentence, and its runs of Chinese characters."""

    def __init__(self, text: str) -> None:
        units = _UNIT.findall(text)
        self._runs = [] if text.isascii() else [unit for unit in units if not unit.isascii()]
        self._words = [unit for unit in units if unit.isascii()] if self._runs else units

    def list_units(self) -> list[str]:
        """Return the words, the marks and the characters."""
        return [*self._words, *"".join(self._runs)]

    def list_sequences(self) -> list[str]:
        """Return each two or three words, or Chinese characters, in a row."""
        words = self._words
        pairs, threes = pairwise(words), zip(words, words[1:], words[2:], strict=False)
        sequences = [*map("_".join, pairs), *map("_".join, threes)]
        for run in self._runs:
            sequences += [run[at : at + 2] for at in range(len(run) - 1)]
            sequences += [run[at : at + 3] for at in range(len(run) - 2)]
        return sequences


def iter_windows(text: str) -> Iterator[tuple[Sentence, ...]]:
    """Yield each few sentences in a row of a text (lower case), where one has a subject.

    Sentences that say the same are one object.
    """
    parts = [part for part in _SENTENCE_END.split(text) if _UNIT.search(part)]
    with_subject = {part for part in set(parts) if has_subject_word(part)}
    make_sentence = cache(Sentence)
    for start in range(max(1, len(parts) - _SENTENCES + 1)):
        window = parts[start : start + _SENTENCES]
        if not with_subject.isdisjoint(window):
            yield tuple(map(make_sentence, window))


def has_subject_word(text: str) -> bool:
    """Return whether a text (lower case) has one of the subjects."""
    has_word = not _SUBJECT_WORDS.isdisjoint(list_words(text))
    return has_word or (not text.isascii() and _SUBJECT_PART.search(text) is not None)


@cache
def load_injection_model() -> InjectionModel:
    """Return the model that is shipped."""
    content = json.loads((files("judge.injection") / "weights.json").read_text(encoding="utf-8"))
    return InjectionModel(**content)
