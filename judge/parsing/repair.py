"""Reading a verdict from a damaged object, only when the place of the value makes it certain.

A reason may quote a verdict: {"reason": "it says "grade": 3 here", "grade": 0}. So all values behind the key,
outside escaped quotes, must agree. One of them must be where no reason can be: the first member of the
object, or the last one before its end.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice

from judge.errors import ReplyParseError
from judge.parsing.attribution import is_disowned, may_wrap
from judge.parsing.contradictions import contradicts, find_doubt
from judge.parsing.remarks import is_refusal
from judge.parsing.stated_scale import is_other_scale
from judge.parsing.tolerant_json import FENCE, PROSE_BRACES, Scan
from judge.parsing.vocabulary import (
    ANY_KEY,
    ANY_REASON_KEY,
    KEYS,
    QUOTED_KEY,
    QUOTES,
    agree_on_grade,
    find_value,
    flatten,
    states_another,
    unescape,
)
from judge.records import Scale, ScaleName, Verdict

_CURLY = QUOTES.replace('"', "").replace("'", "")
_VALUE = rf"\"[^\"]{{0,40}}\"|'[^']{{0,40}}'|[{_CURLY}][^{_CURLY}]{{0,40}}[{_CURLY}]|[^\s,{{}}\[\]{QUOTES}]{{0,40}}"
#: What may follow a comma: a closer or another member.
_MEMBER = rf"\s{{0,64}}(?:[{QUOTES}}}]|[^\s,:={QUOTES}]{{1,20}}[{QUOTES}]?\s?[:=]|[^\w\s{QUOTES}]\s{{0,4}}[{QUOTES}])"
#: What may follow a complete value: a closer, a comma with more of the object behind it, or the next key.
_DELIMITER = re.compile(rf"\s{{0,64}}(?:,(?={_MEMBER})|\}}|[{QUOTES}](?:{ANY_KEY})[{QUOTES}])")
#: "2 | 3", "2-3", "2,5": alternatives, ranges and fractions.
_GOES_ON = re.compile(r"\s{0,8}(?:,\s{0,8}[0-9]|[|/~+*^%→–—-]|to\b|or\b|或|到|至)")
#: The end of an object behind a value: simple members, then the closer.
_END_OF_OBJECT = re.compile(
    rf"(?:\s*,\s*[{QUOTES}][^{QUOTES}{{}}]{{1,30}}[{QUOTES}]\s*:\s*(?:[{QUOTES}][^{QUOTES}{{}}]{{0,200}}[{QUOTES}]"
    r"|[\w.+%-]{1,20})){0,8}\s*(?:,\s*)?\}[\s}\])]*"
)
_KEY_END = re.compile(rf"(?i)[{QUOTES}]\s{{0,4}}[:=]|\b(?:{ANY_REASON_KEY})\s{{0,4}}:")
_WRAPPING_KEY = re.compile(
    rf"(?:(?<!\w)[{QUOTES}](?P<quoted>[\w\u4e00-\u9fff]{{1,30}})[{QUOTES}]|(?<=\{{)\s{{0,8}}(?P<bare>\w{{1,30}}))\s{{0,8}}[:=]\s{{0,8}}\{{"
)
_REASON_KEY = re.compile(rf"(?i)[{QUOTES}]?(?:{ANY_REASON_KEY})[{QUOTES}]?\s{{0,8}}:\s{{0,8}}[{QUOTES}]?")
_QUOTED_MEMBER = re.compile(
    rf"(?<!\\)[{QUOTES}](?P<key>[^{QUOTES}:\n]{{1,48}})[{QUOTES}](?=\s{{0,8}}:\s{{0,8}}(?P<value>{_VALUE}))"
)
#: A value outside the object: one that begins an answer without a brace ("3, it names the shop."), one that ends
#: a tuple or a list (("the reason", "no")), and the first cell of a row of a table (| 3 | the reason |).
_VALUES_BESIDE = (
    re.compile(rf"\A\s{{0,8}}(?:{FENCE}\s{{0,8}})?(?P<value>[^\s,.;:{{}}\[\]{QUOTES}]{{1,12}})\s?[,.;]"),
    re.compile(
        rf"[{QUOTES}]\s{{0,8}}[,，]\s{{0,8}}[{QUOTES}](?P<value>[^{QUOTES}]{{1,12}})[{QUOTES}]\s{{0,8}}[)\]）]\s{{0,8}}\Z"
    ),
    re.compile(r"(?m)^\s{0,8}\|\s{0,8}(?P<value>[^|\s]{1,12})\s{0,8}\|"),
)
#: Two objects with a comma between them, or a question mark behind an object, whether its brace is there or not.
_LIST_OR_QUESTION = re.compile(
    rf"\}}\s{{0,64}},\s{{0,64}}\{{|\}}[\s}}\])`~]{{0,8}}\?|[{QUOTES}0-9\]]\s*+,?\s*+\?[\s}}\])`~]{{0,8}}\Z"
)
#: Where an object begins: at its brace, or at the first key where the brace is missing.
_BRACE_AND_KEY = re.compile(rf"\{{\s{{0,64}}(?:[{QUOTES}]|\w{{1,20}}\s{{0,4}}:)")
_QUOTED_NAME = re.compile(rf"[{QUOTES}](?P<name>\w{{1,20}})[{QUOTES}]\s{{0,4}}:")
#: Prose behind a key, or between two braces: {"result": The grade is 3. {"grade": 2}}
_PROSE_IN_OBJECT = re.compile(
    rf"{_QUOTED_NAME.pattern}(?P<text>[^{QUOTES}{{}}]{{1,400}})|\{{(?P<prose>[^{QUOTES}{{}}]{{1,400}})(?=\{{)"
)
_BARE_REASON = re.compile(rf"(?i)\s*[{QUOTES}]?(?:{ANY_REASON_KEY})")
_BEHIND_MEMBER = re.compile(rf"[{QUOTES},{{\[\]}}]\s*\Z")
#: In a word, as in "it's", this mark quotes nothing.
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_CLOSED = re.compile(rf"[{QUOTES}\]\w]\s{{0,64}}\}}")
#: Each mention is compared with the whole text.
_MAX_MENTIONS = 40


def is_damaged(answer: str, scan: Scan) -> bool:
    """Return True when an answer holds JSON, or remains of it, outside the objects that could be read."""
    if scan.broken is not None:
        return True
    gaps = [flatten(answer[start:end]) for start, end in scan.list_gaps(len(answer))]
    # A brace too many beside an object changes nothing.
    has_brace = not scan.objects and re.search("[{}]", PROSE_BRACES.sub(" ", gaps[0])) is not None
    return has_brace or any(map(QUOTED_KEY.search, gaps))


def parse_damaged(answer: str, scale: Scale, *, cut: bool) -> Verdict:
    """Return the verdict of a damaged answer; raise ReplyParseError if its value or place is not certain."""
    flat = flatten(answer)
    mentions = list(islice(_compile_member(scale.name).finditer(flat), _MAX_MENTIONS + 1))
    if len(mentions) > _MAX_MENTIONS:
        raise ReplyParseError("malformed", f"the value is stated more than {_MAX_MENTIONS} times")
    complete = [
        candidate
        for candidate in mentions
        if candidate["value"][-1:] != "." and _DELIMITER.match(flat, candidate.end())
    ]
    unclosed = cut or flat.count("{") > flat.count("}")
    if not mentions:
        raise ReplyParseError("truncated" if unclosed else "malformed", f"no verdict in {answer[:80]!r}")
    if unclosed and not complete:
        raise ReplyParseError("truncated", f"the reply ends within the value: {answer[-80:]!r}")
    grade = _find_grade(flat, mentions, scale)
    _check_rest(flat, grade, scale)
    for mention in complete:
        first = _place_first(flat, mention)
        last = None if cut else _place_last(flat, mention)
        for leads, behind in filter(None, (first, last)):
            if not (
                is_refusal(leads[0], is_lead=True)
                or find_doubt(leads[0], behind, grade, scale, nearest=leads)
            ):
                return _make_verdict(answer, flat, mention, grade)
    raise ReplyParseError("truncated" if unclosed else "malformed", "the value may be part of the reason")


def _check_rest(flat: str, grade: int, scale: Scale) -> None:
    """Raise ReplyParseError when another member, a list or a question makes `grade` uncertain."""
    members = {
        (match["key"], match["value"].partition("</")[0].strip(QUOTES))
        for match in _QUOTED_MEMBER.finditer(flat)
    }
    if any(
        states_another(*member, grade, scale) or is_other_scale(*member, grade, scale) for member in members
    ):
        raise ReplyParseError("ambiguous", "another member of a damaged object states another value")
    beside = (match["value"] for pattern in _VALUES_BESIDE for match in pattern.finditer(flat))
    if any(find_value(text, scale) not in (None, grade) for text in beside):
        raise ReplyParseError("ambiguous", "the answer has another value than its object")
    texts = {
        match["text"] or match["prose"]
        for match in _PROSE_IN_OBJECT.finditer(flat)
        if may_wrap(match["name"] or "result")
    }
    if any(contradicts(text, grade, scale) for text in texts):
        raise ReplyParseError("ambiguous", "prose in an outer object states another value")
    if _LIST_OR_QUESTION.search(flat):
        raise ReplyParseError("ambiguous", "the object is one of a list, or a question mark follows it")


@cache
def _compile_member(scale_name: ScaleName) -> re.Pattern[str]:
    """Return the pattern of the scale's key, in quotes or bare where a member may begin, with its value."""
    keys = "|".join(KEYS[scale_name])
    return re.compile(
        rf"(?i)(?:(?<!\\)[{QUOTES}]\s?(?:{keys})\s{{0,4}}[{QUOTES}]|(?<=[{{,(])\s{{0,64}}(?P<bare>{keys}))"
        rf"\s{{0,8}}[:=]\s{{0,64}}(?P<value>{_VALUE})"
    )


def _find_grade(flat: str, mentions: Sequence[re.Match[str]], scale: Scale) -> int:
    """Return the one grade that all mentions state, and all keys that lack a quote."""
    if any(_GOES_ON.match(flat, mention.end()) for mention in mentions):
        raise ReplyParseError("malformed", "the text after a value changes it")
    grade = agree_on_grade([mention["value"] for mention in mentions], scale)
    # The scale's key and its value, with quotes on both sides, one or none.
    keys = "|".join(KEYS[scale.name])
    member = rf"(?<![\w\\])(?:{keys})\s?[{QUOTES}]?\s{{0,8}}[:=]\s{{0,64}}(?P<value>{_VALUE})"
    for text in {match["value"] for match in re.finditer(member, flat, re.IGNORECASE)}:
        value = find_value(text, scale)
        if value != grade and (value is not None or re.search("[0-9]", text)):
            raise ReplyParseError("ambiguous", "a key that lacks a quote states another value")
    return grade


def _place_first(flat: str, mention: re.Match[str]) -> tuple[list[str], str] | None:
    """Return the prose before and behind the object if the value is its first member, else None."""
    before, after = flat[: mention.start()], flat[mention.end() :]
    lead, brace, inner = before.rpartition("{") if "{" in before else (before, "", "")
    end = len(before.rstrip())
    if not brace and end and before[end - 1] not in ":>`([" and "\n" not in before[end:]:
        return None
    if any(map(str.isalnum, inner)) or _KEY_END.search(before):
        return None
    outer = lead[lead.rfind("{") + 1 :] if lead.count("{") > lead.count("}") else ""
    if set(outer) & set(QUOTES):
        return None  # a text of the outer object quotes the inner one
    # The object ends at its brace or behind its last quotation mark, whichever comes first.
    last = max(after.rfind(mark) for mark in '"“”„＂')
    if last < 0:
        last = _APOSTROPHE.sub(" ", after).rfind("'")
    closed = _CLOSED.search(after)
    behind = after[min(last + 1, closed.end() if closed else len(after)) :]
    if closed and is_disowned(after[last + 1 :]):
        return None
    return [lead, before], behind


def _place_last(flat: str, mention: re.Match[str]) -> tuple[list[str], str] | None:
    """Return the prose before and behind the object if the value is its last member, else None."""
    before = flat[: mention.start()]
    end = _END_OF_OBJECT.match(flat, mention.end())
    inner = _APOSTROPHE.sub("", before.rpartition("{")[2])
    has_reason = set(inner) & set(QUOTES) and any(map(str.isalnum, inner))
    is_member = mention["bare"] is None or _BARE_REASON.match(inner)
    wrappers = (match["quoted"] or match["bare"] for match in _WRAPPING_KEY.finditer(before))
    if end is None or not (has_reason and is_member and all(map(may_wrap, wrappers))):
        return None
    behind = flat[end.end() :]
    if re.search(r'[{}"“”„＂]', behind):
        return None
    keys = list(_QUOTED_NAME.finditer(before))[:_MAX_MENTIONS]
    first = keys[0].start() if keys else max(before.find("{"), 0)
    ends = [*(key.start() for key in keys if key.start() > first), len(before)]
    if not all(_BEHIND_MEMBER.search(before, max(0, end - 80), end) for end in ends):
        return None  # prose may lead to a key
    begins = [first, *(match.start() for match in _BRACE_AND_KEY.finditer(before))][: _MAX_MENTIONS + 1]
    return [before[:begin] for begin in begins], behind


def _make_verdict(answer: str, flat: str, mention: re.Match[str], grade: int) -> Verdict:
    """Return the verdict with the part of its reason that can be read."""
    match = _REASON_KEY.search(flat)
    if not match:
        return Verdict(grade, "", ("repaired", "no_reason"))
    if match.start() < mention.start():
        raw, closed = answer[match.end() : mention.start()], True
    else:
        end = flat.rfind("}")
        closed = end > match.end()
        raw = answer[match.end() : end if closed else None]
    raw = raw.rstrip(" \t\r\n,，")
    if raw[-1:] in tuple(QUOTES):
        raw, closed = raw[:-1], True
    return Verdict(grade, unescape(raw), ("repaired",) if closed else ("repaired", "reason_truncated"))
