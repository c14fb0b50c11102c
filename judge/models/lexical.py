"""The models that call nothing: `lexical` grades by shared terms, a lower bound, and `expected` by labels."""

import json
import re

from judge.characters import HAN, HAN_RUN
from judge.errors import CallError
from judge.models.providers import LocalModel
from judge.records import EXPECTED, LEXICAL, Completion, JsonDict, Lang, Prompt, Usage

#: A word in any script but Chinese.
_WORD = re.compile(rf"[^\W_{HAN}]+(?:'[a-z]+)?")
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ies|es|s|ing|ed|'s)$")
_STOP_WORDS = frozenset(
    """a an and are as at be by can did do does for from had has have how i in into is it its me my of on or
    our that the their them there these they this to was we were what when where which who why will with you
    your""".split()
)
_STOP_CHARS = re.compile("[的了吗呢吧啊么]")
#: Minimum shares of the query's terms for the grades 1, 2 and 3.
_THRESHOLDS = (0.2, 0.5, 0.8)


class LexicalModel(LocalModel):
    """Term overlap as a model: no network, no key, the same answer every time."""

    name = LEXICAL

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the verdict of term overlap, as the JSON that a model would write."""
        grade, reason = grade_overlap(prompt.query, prompt.snippet, prompt.lang)
        if prompt.scale.name == "binary":
            reply: JsonDict = {"reason": reason, "verdict": "yes" if grade >= 2 else "no"}
        else:
            reply = {"reason": reason, "grade": grade}
        text = json.dumps(reply, ensure_ascii=False)
        return Completion(text, LEXICAL, "stop", {}, Usage())


def grade_overlap(query: str, text: str, lang: Lang) -> tuple[int, str]:
    """Return a grade from 0 to 3 for the share of the query's terms in `text`, and a reason in `lang`.

    Terms are pairs of Chinese characters and words, English ones without endings. A text with little beyond
    the query gets at most 1.
    """
    query_terms, text_terms = extract_terms(query), extract_terms(text)
    matched = [term for term in query_terms if term in text_terms]
    missing = [term for term in query_terms if term not in text_terms]
    share = len(matched) / len(query_terms) if query_terms else 0.0
    grade = sum(share >= threshold for threshold in _THRESHOLDS)
    if grade > 1 and len(text_terms) < 2 * len(query_terms):
        grade = 1
    if lang == "zh":
        hits, misses = ("、".join(terms) or "无" for terms in (matched, missing))
        return grade, f"只统计词面重合。命中：{hits}；缺少：{misses}。"
    hits, misses = (", ".join(terms) or "nothing" for terms in (matched, missing))
    return grade, f"Term overlap only: matched {hits}; missing {misses}."


def extract_terms(text: str) -> dict[str, None]:
    """Return the distinct terms of `text`, in order: pairs of Chinese characters, and words."""
    text = text.lower()
    terms = dict.fromkeys(_SUFFIX.sub("", word) for word in _WORD.findall(text) if word not in _STOP_WORDS)
    for run in HAN_RUN.findall(text):
        for piece in filter(None, _STOP_CHARS.split(run)):
            bigrams = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
            terms.update(dict.fromkeys(bigrams))
    return terms


class ExpectedDocuments(LocalModel):
    """The name of the assessor of a run whose labels are the expected documents."""

    name = EXPECTED

    async def complete(self, prompt: Prompt) -> Completion:
        """Raise CallError: every pair has a label."""
        raise CallError("no_model", "expected documents are not a model")
