"""Owns the offline floor: grades by shared terms, which any model that understands text must beat."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from judge.characters import HAN
from judge.records import Completion, Lang, Prompt, Usage

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_HAN_RUN = re.compile(f"[{HAN}]+")
_SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ies|es|s|ing|ed|'s)$")
_STOP_WORDS = frozenset(
    """a an and are as at be by can did do does for from had has have how i in into is it its me my of on or
    our that the their them there these they this to was we were what when where which who why will with you
    your""".split()
)
_STOP_CHARS = re.compile("[的了吗呢吧啊么]")
#: Shares of the query's terms from which the grades 1, 2 and 3 are given.
_THRESHOLDS = (0.2, 0.5, 0.8)


class Lexical:
    """The floor as a model: no network, no key, the same answer every time."""

    name = "lexical"
    endpoint = ""
    params: Mapping[str, Any] = MappingProxyType({})

    async def complete(self, prompt: Prompt) -> Completion:
        """The verdict of term overlap, as the JSON that a model would write."""
        grade, reason = overlap(prompt.query, prompt.snippet, prompt.lang)
        if prompt.scale.name == "binary":
            said: dict[str, Any] = {"reason": reason, "verdict": "yes" if grade >= 2 else "no"}
        else:
            said = {"reason": reason, "grade": grade}
        text = json.dumps(said, ensure_ascii=False)
        return Completion(text, "lexical", "stop", {}, Usage())

    async def aclose(self) -> None:
        """Nothing is open."""


def overlap(query: str, text: str, lang: Lang) -> tuple[int, str]:
    """A grade from 0 to 3 for the share of the query's terms that `text` has, and a reason in `lang`.

    Terms are Chinese character pairs and folded English words. Text that says little beyond the query
    gets 1 at most.
    """
    asked, found = terms(query), terms(text)
    matched = [term for term in asked if term in found]
    missing = [term for term in asked if term not in found]
    share = len(matched) / len(asked) if asked else 0.0
    grade = sum(share >= threshold for threshold in _THRESHOLDS)
    if grade > 1 and len(found) < 2 * len(asked):
        grade = 1
    return grade, _reason(matched, missing, lang)


def terms(text: str) -> dict[str, None]:
    """The distinct terms of `text`, in order: character pairs of Chinese runs, folded English words."""
    text = text.lower()
    found = dict.fromkeys(_fold(word) for word in _WORD.findall(text) if word not in _STOP_WORDS)
    for run in _HAN_RUN.findall(text):
        for piece in filter(None, _STOP_CHARS.split(run)):
            pairs = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
            found.update(dict.fromkeys(pairs))
    return found


def _fold(word: str) -> str:
    return _SUFFIX.sub("", word)


def _reason(matched: list[str], missing: list[str], lang: Lang) -> str:
    if lang == "zh":
        return f"只看词面重合：命中 {'、'.join(matched) or '无'}；缺少 {'、'.join(missing) or '无'}。"
    named = [", ".join(some) or "nothing" for some in (matched, missing)]
    return f"Term overlap only: matched {named[0]}; missing {named[1]}."
