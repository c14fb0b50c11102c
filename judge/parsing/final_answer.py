"""The final answer of a reply: the text behind its thinking, in the forms that models use."""

import json
import re
from typing import TypeVar

import msgspec

from judge.errors import ReplyParseError
from judge.files.json_text import make_object
from judge.parsing.tolerant_json import FENCE, Scan, is_strict, scan_objects
from judge.parsing.verdict import MAX_SOUND_CHARS
from judge.parsing.vocabulary import ANY_KEY, QUOTED_KEY, QUOTES, flatten
from judge.records import is_complete_reply

Answer = TypeVar("Answer")
_TAG = (
    r"(?:seed:|longcat_)?(?:(?:thought|thinking|reasoning)[_ -]process|chain[_ -]of[_ -]thought|inner[_ -]monologue|think(?:ing)?|thoughts?|reasoning|analysis"
    r"|scratchpad|reflection|思考|推理)"
)
_THOUGHT = "(?:thought|thinking|reasoning)"
#: Some servers escape tags as HTML does.
_OPENER = re.compile(
    rf"(?i)(?:[<＜]|&lt;)\|?{_TAG}(?:\s[^<>＜＞&]{{0,40}})?\|?(?:[>＞]|&gt;)|◁think▷|\[THINK\]|<\|(?:(?:start|begin)(?:_of)?_{_THOUGHT}|{_THOUGHT}_start|inner_prefix)\|>"
    r"|<\|channel\|>\s?(?:analysis|commentary)[^<]{0,40}<\|message\|>|<\|channel>thought\b|\Aanalysis(?=[A-Za-z{])|\A(?:assistant)?/think\b"
)
_CLOSER = re.compile(
    rf"(?i)(?:[<＜]|&lt;)\|?\s?/\s?{_TAG}\s?\|?(?:[>＞]|&gt;)|◁/think▷|\[/THINK\]|<\|(?:end(?:_of)?_{_THOUGHT}|{_THOUGHT}_end|inner_suffix)\|>"
    r"|<\|channel\|>\s?final[^{}]{0,40}?<\|message\|>|<channel\|>|assistantfinal"
)
#: A closing mark with wrong letters or signs. Elements of HTML have other names.
_DAMAGED_CLOSER = re.compile(
    r"(?i)(?:[<＜]|&lt;)\s?[/\\|]{1,3}\s?[think]{3,8}(?!\w)|/\s?[think]{3,8}\s?(?:[>＞]|&gt;)"
)
_BLANKS = " \t\r\n\f\v\x00\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000\u200b\u200c\u200d\u2060\ufeff"
_CONTROL = (
    r"(?:<start_of_turn>model\b|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|start\|>assistant<\|message\|>|<\|(?!channel|message|inner|[a-z_]{0,15}(?:think|thought|reason))[a-z_]{1,30}\|>|<｜[^<>｜]{1,30}｜>|</?s>|<eos>|<end_of_turn>"
    rf"|</?answer>|\[/INST\]|[\s{re.escape(_BLANKS)}])"
)
_LEADING = re.compile(rf"(?i){_CONTROL}+")
_TRAILING = re.compile(rf"(?i){_CONTROL}+\Z")
_JSON_FIRST = re.compile(rf"(?i)(?:{FENCE}\s{{0,8}})?(?:[{{｛]|(?:{ANY_KEY})\s?[:：=])")
_ANY_QUOTED_KEY = re.compile(rf"[{QUOTES}][^{QUOTES}]{{1,30}}[{QUOTES}]\s{{0,4}}:")
_FENCE = re.compile(r"\A(?:```|~~~)[A-Za-z]{0,10}\s|\s?(?:```|~~~)\Z")
#: Far above what any token limit lets through; reading must stay fast on garbage. Sound JSON is fast.
_MAX_CHARS = 40_000
#: A string that does not end, behind a known key or any quoted one; no reason is longer.
_LONGEST_STRING = 4_000
_OPEN_STRING = re.compile(
    rf"(?i)(?:(?<!\w)(?:{ANY_KEY})\s?[{QUOTES}]{{0,2}}|[{QUOTES}][^{QUOTES}]{{1,30}}[{QUOTES}])\s{{0,4}}[:：=]\s{{0,8}}(?:\"[^\"]*|“[^“”]*|'[^']*"
    r"|‘[^‘’]*)\Z"
)


def extract_final_answer(text: str, *, cut: bool) -> str:
    """Return the part of a reply behind its thinking, without blanks and control tokens around it.

    Raise ReplyParseError: `empty` when nothing is left, `truncated` when the thinking never ends or the
    reply was `cut` after it, `malformed` when marks of thinking leave the answer's place uncertain.
    """
    reply = _strip_control_tokens(text)
    rest = _drop_thinking_blocks(reply)
    if len(rest) > _MAX_CHARS and not (len(rest) <= MAX_SOUND_CHARS and is_strict(rest)):
        raise ReplyParseError("malformed", f"an answer of {len(rest)} characters is no verdict")
    scan = scan_objects(rest)
    start = _find_thinking_end(rest, scan)
    answer = rest[start:]
    scan = scan_objects(answer) if start else scan
    if _find_marks(_OPENER, answer, scan, len(answer)):
        raise ReplyParseError("truncated", "the thinking in the reply has no end")
    if _find_marks(_DAMAGED_CLOSER, answer, scan, len(answer)):
        raise ReplyParseError("malformed", "a closing mark of thinking is misspelt")
    answer = _strip_control_tokens(answer)
    if not answer or (cut and answer != reply):
        raise ReplyParseError("truncated" if cut else "empty", "the reply holds no whole answer")
    begin = reply.rfind(answer)
    if _OPEN_STRING.search(reply, max(0, begin - _LONGEST_STRING), begin):
        raise ReplyParseError("malformed", "a closing mark of thinking is inside a string")
    return answer


def strip_fence(answer: str) -> str:
    """Return the answer without the marks of a Markdown fence around it."""
    return _FENCE.sub("", answer).strip()


def parse_json_answer(text: str, kind: type[Answer], finish_reason: str | None = "stop") -> Answer:
    """Return the record of the type `kind` that the final answer of a reply holds.

    The answer is one JSON object, in a Markdown fence or not, without repeated keys. Raise ReplyParseError
    for any other reply.
    """
    answer = extract_final_answer(text, cut=not is_complete_reply(finish_reason))
    try:
        return msgspec.convert(json.loads(strip_fence(answer), object_pairs_hook=make_object), kind)
    except msgspec.ValidationError as error:
        raise ReplyParseError("missing_key", f"the object has another form: {error}") from error
    except (ValueError, RecursionError) as error:
        kind_of_error = "malformed" if is_complete_reply(finish_reason) else "truncated"
        raise ReplyParseError(kind_of_error, f"the reply is no JSON object: {error}") from error


def _strip_control_tokens(text: str) -> str:
    """Return the text without blanks and control tokens at its ends."""
    if leading := _LEADING.match(text):
        text = text[leading.end() :]
    text = text.rstrip(_BLANKS)
    # Every control token ends like this: most replies need no search.
    if text.endswith((">", "]")) and (trailing := _TRAILING.search(text, max(0, len(text) - 200))):
        text = text[: trailing.start()]
    return text


def _drop_thinking_blocks(text: str) -> str:
    """Return the text behind the thinking blocks that it begins with."""
    position = 0
    while opener := _OPENER.match(text, position):
        closer = _CLOSER.search(text, opener.end())
        if not closer:
            raise ReplyParseError("truncated", "the thinking in the reply has no end")
        position = closer.end()
        while position < len(text) and text[position] in _BLANKS:
            position += 1
    return text[position:]


def _find_thinking_end(text: str, scan: Scan) -> int:
    """Return where the answer begins: behind the last closing mark that is not part of an object's string."""
    end = len(text) if scan.broken is None else scan.broken
    closers = [*_find_marks(_CLOSER, text, scan, end), *_CLOSER.finditer(text, end)]
    if not closers:
        return 0
    openers = _find_marks(_OPENER, text, scan, end)
    last = closers[-1]
    thought = text[: last.start()]
    in_block = any(opener.start() < last.start() for opener in openers)
    # Thinking whose opening mark was in the prompt holds no answer of its own, nor begins with one.
    if not in_block and (
        _JSON_FIRST.match(text) or _find_marks(QUOTED_KEY, text, scan, min(end, last.start()))
    ):
        raise ReplyParseError("malformed", "a closing mark of thinking follows an object")
    head = flatten(text[: openers[0].start()]) if in_block else ""
    if _ANY_QUOTED_KEY.search(head) or (head and _JSON_FIRST.match(head)):
        raise ReplyParseError("malformed", "thinking is inside a damaged object")
    broken = flatten(thought[end:])
    if broken.count("{") > broken.count("}"):
        raise ReplyParseError("malformed", "a closing mark of thinking is inside a damaged object")
    return last.end()


def _find_marks(mark: re.Pattern[str], text: str, scan: Scan, end: int) -> list[re.Match[str]]:
    """Return the marks outside the objects, up to `end`."""
    return [match for start, stop in scan.list_gaps(end) for match in mark.finditer(text, start, stop)]
