"""Owns what part of a reply is the answer: thinking, in any dialect, is dropped before it can count."""

from __future__ import annotations

import re

from judge.assess.lenient_json import Scan, flatten, scan
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
_BLANKS = " \t\r\n\f\v\x00\x85\xa0\u2028\u2029\u3000\u200b\u200c\u200d\u2060\ufeff"
_TOKEN = r"(?:<\|(?!channel|message|think|begin_of_th|end_of_th)[a-z_]{1,30}\|>|<｜[^<>｜]{1,30}｜>|</?s>|<eos>|<end_of_turn>|</?answer>|\s)"  # noqa: S105
_LEADING = re.compile(rf"{_TOKEN}+", re.IGNORECASE)
_TRAILING = re.compile(rf"{_TOKEN}+\Z", re.IGNORECASE)
_JSON_FIRST = re.compile(r"(?:(?:```|~~~)\w{0,10}\s{0,8})?(?:[{｛]|[\"'“]\w{1,12}[\"'”]\s?[:：])")
#: Far above what any token limit lets through; reading must stay fast on garbage.
_MAX_CHARS = 200_000


def final_answer(text: str, *, cut: bool) -> str:
    """The part of a reply behind its thinking, without blanks and control tokens around it.

    Raises Unreadable: `empty` when nothing is left, `truncated` when the thinking never ends or the
    reply was `cut` after it, `malformed` when marks of thinking leave the answer's place uncertain.
    """
    reply = _bare(text)
    rest = _behind_thinking_blocks(reply)
    if len(rest) > _MAX_CHARS:
        raise Unreadable("malformed", f"an answer of {len(rest)} characters is no verdict")
    found = scan(rest)
    start = _thinking_end(rest, found)
    answer = rest[start:]
    if _marks(_OPENER, answer, scan(answer) if start else found, len(answer)):
        raise Unreadable("truncated", "the reply starts thinking and never stops")
    answer = _bare(answer)
    if not answer or (cut and answer != reply):
        raise Unreadable("truncated" if cut else "empty", "the reply holds no whole answer")
    return answer


def _bare(text: str) -> str:
    """The text without blanks and control tokens at its ends."""
    text = text.strip(_BLANKS)
    for _ in range(4):
        before = len(text)
        if leading := _LEADING.match(text):
            text = text[leading.end() :]
        if trailing := _TRAILING.search(text, max(0, len(text) - 200)):
            text = text[: trailing.start()]
        text = text.strip(_BLANKS)
        if len(text) == before:
            break
    return text


def _behind_thinking_blocks(text: str) -> str:
    """The text behind the thinking blocks that it begins with."""
    position = 0
    while opener := _OPENER.match(text, position):
        closer = _CLOSER.search(text, opener.end())
        if not closer:
            raise Unreadable("truncated", "the reply starts thinking and never stops")
        position = closer.end()
        while position < len(text) and text[position] in _BLANKS:
            position += 1
    return text[position:]


def _thinking_end(text: str, found: Scan) -> int:
    """Where the answer begins: behind the last closing mark that is no part of an object's string."""
    end = len(text) if found.broken is None else found.broken
    closers = _marks(_CLOSER, text, found, end)
    openers = _marks(_OPENER, text, found, end)
    in_block = bool(openers) and (not closers or openers[-1].start() > closers[-1].start())
    if closers and not openers and _JSON_FIRST.match(text):
        # Thinking whose opening mark was in the prompt does not begin with the answer's own object.
        raise Unreadable("malformed", "a closing mark of thinking follows an object")
    last = list(_CLOSER.finditer(text, end))[-1:]
    if not last:
        return closers[-1].end() if closers else 0
    flat = flatten(text[end : last[0].start()])
    if not in_block and flat.count("{") > flat.count("}"):
        raise Unreadable("malformed", "a closing mark of thinking stands inside a damaged object")
    return last[0].end()


def _marks(mark: re.Pattern[str], text: str, found: Scan, end: int) -> list[re.Match[str]]:
    """The marks outside the objects, up to `end`."""
    return [match for start, stop in found.gaps(end) for match in mark.finditer(text, start, stop)]
