"""Owns what part of a reply is the answer: thinking, in any dialect, is dropped before it can count."""

from __future__ import annotations

import re

from judge.assess.lenient_json import Scan, scan
from judge.errors import Unreadable

_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|analysis|scratchpad|reflection|思考|推理)"
_OPENER = re.compile(
    rf"[<＜]\|?{_TAG}(?:\s[^<>＜＞]{{0,40}})?\|?[>＞]"
    r"|◁think▷|\[THINK\]|<\|begin_of_thought\|>"
    r"|<\|channel\|>\s?(?:analysis|commentary)[^<]{0,40}<\|message\|>"
    r"|\Aanalysis(?=[A-Za-z])",
    re.IGNORECASE,
)
_CLOSER = re.compile(
    rf"[<＜]\|?\s?/\s?{_TAG}\s?\|?[>＞]"
    r"|◁/think▷|\[/THINK\]|<\|end_of_thought\|>"
    r"|<\|channel\|>\s?final[^{}]{0,40}?<\|message\|>"
    r"|assistantfinal",
    re.IGNORECASE,
)
_TOKEN = r"(?:<\|[a-z_]{1,30}\|>|<｜[^<>｜]{1,30}｜>|</?s>|<eos>|<end_of_turn>|</?answer>|[\s\u200b\u200c\u200d\u2060\ufeff\x00])"
_LEADING = re.compile(rf"{_TOKEN}*")
_TRAILING = re.compile(rf"{_TOKEN}*\Z")
#: Far above what any token limit lets through; reading must stay fast on garbage.
_MAX_CHARS = 300_000


def final_answer(text: str, *, cut: bool) -> str:
    """The part of a reply behind its thinking, without blanks and control tokens around it.

    Raises Unreadable: `empty` when nothing is left, `truncated` when the thinking never ends,
    `malformed` when a mark of thinking stands where it makes the answer's place uncertain.
    """
    rest = _skip_thinking_blocks(_bare(text))
    if len(rest) > _MAX_CHARS:
        raise Unreadable("malformed", f"the answer has {len(rest)} characters; a verdict needs a few hundred")
    found = scan(rest)
    answer = rest[_thinking_end(rest, found) :]
    if _in_gaps(_OPENER, answer, scan(answer)):
        raise Unreadable("truncated", "the reply starts thinking and never stops")
    answer = _bare(answer)
    if not answer:
        raise Unreadable("truncated" if cut else "empty", "the reply holds no answer")
    return answer
