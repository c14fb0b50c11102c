"""Owns what judging would cost before anything is paid. Counts calls exactly, tokens roughly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from judge.assess.assessor import Assessor
from judge.assess.judging import split
from judge.assess.price import Price
from judge.assess.store import Store
from judge.han import HAN
from judge.records import Pool, Prompt, Usage

# Rough rules of today's tokenizers: a Chinese character is about 0.7 tokens, four other characters one.
_HAN = re.compile(f"[{HAN}]")
_TOKENS_PER_HAN, _CHARS_PER_TOKEN = 0.7, 4.0
#: Tokens that a reason of one or two sentences and its verdict take.
_REPLY = 80


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would ask: `judgments` in all, `known` of them free, `calls` to pay for.

    `prompt_tokens` and `completion_tokens` are estimates; `usd` is None when no price was given.
    """

    judgments: int
    known: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None


def estimate(
    pool: Pool, assessor: Assessor, store: Store | None, repeats: int, price: Price | None
) -> Estimate:
    """What judging `pool` would cost now, given what `store` holds already, if there is one."""
    empty, asked = split(pool, assessor, repeats)
    known = store.lookup(asked) if store else {}
    todo = [questions[0].prompt for key, questions in asked.items() if key not in known]
    judgments = len(empty) + sum(map(len, asked.values()))
    usage = Usage(prompt_tokens=_tokens(todo), completion_tokens=_REPLY * len(todo))
    return Estimate(
        judgments=judgments,
        known=judgments - sum(len(asked[key]) for key in asked if key not in known),
        calls=len(todo),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        usd=None if price is None else price.usd(usage),
    )


def _tokens(prompts: Sequence[Prompt]) -> int:
    total = 0.0
    for prompt in prompts:
        text = prompt.system + prompt.user
        han = len(_HAN.findall(text))
        total += han * _TOKENS_PER_HAN + (len(text) - han) / _CHARS_PER_TOKEN
    return round(total)
