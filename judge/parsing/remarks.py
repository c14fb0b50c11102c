"""Sentences that speak of the answer alone: where it comes from, that it is rounded, that it is too high.

Such a sentence has a word for one of these, and besides it only words for an answer and its text. Any other word
gives it another subject: "rounded from 2.4", but "rounded corners"; "says the page", but "the page says when it opens".
"""

from __future__ import annotations

import re

from judge.parsing.tolerant_json import simplify_prose
from judge.parsing.vocabulary import EXAMPLE_WORDS, PARTY_WORDS

_SENTENCE = re.compile(
    r"(?<![0-9])\.|\.(?![0-9])|[。!?;\n]|//|[*]/|/[*]|\s[-–—]+\s|——|\b(?:because|since)\b|因为|由于"
)
_ANSWER = (
    r"\b(?:answers?|reply|response|verdicts?|grades?|ratings?|scores?|marks?|values?|numbers?|figures?|results?"
    r"|labels?|levels?|points?)\b|答案|回答|评定|评分|评级|判定|判断|结论|等级|分数|得分|结果"
)
_TEXT = (
    r"\b(?:json(?:-ld)?|objects?|lines?|strings?|texts?|words?|wording|contents?|code|blocks?|data|metadata"
    r"|microdata|markup|copy|item|input|output)\b|json|对象|文字|文本|内容|数据|代码|源码|原话|[行段条句个]|话"
)
_FUNCTION = (
    r"\b(?:the|this|that|these|those|it|its|their|an?|all|is|was|are|were|be|been|what|which|how|so|as|or"
    r"|and|not|just|only|merely|of|from|in|inside|on|at|by|to|own|above|below|here)\b|['’]s\b"
    r"|以上|上面|上述|下面|以下|这|那|该|此|只|仅|不过|就|都|是|为|的|之|所|里|中|上|由|从|自|并非|不是"
)
#: What only a party other than the reply itself does to an answer, or what says that it is a part of a text.
_ORIGIN = (
    r"\b(?:s(?:ays?|aid)|claim(?:s|ed)?|assert(?:s|ed)?|stat(?:es|ed)|demand(?:s|ed)?|want(?:s|ed)?|puts?|rates?"
    r"|ask(?:s|ed)|instruct(?:s|ed)|recommend(?:s|ed)|writes?|wrote|written|reported|self|own|itself|quot\w+"
    r"|copied|pasted|taken|according|per|from|in|by|as|is|was|are|were)\b|['’]s\b"
    r"|自[己带称评述]|声?称|说法?|写|所述|要求|原话|由|来自|[引摘出抄]自|根?据(?=.*(?:说法|要求))|按照?|是|为"
)
#: What makes a text the one that is graded, not the grade.
_TO_GRADE = (
    r"\bto (?:be )?(?:assess|evaluat|grad|judg|rat|review)e?d?\b|\bunder review\b|\bcandidate\b|待评[定估]?"
)
_FORMAT = r"\b(?:formats?|formatting|layout|structure|schema|shape)\b|格式|样式|结构|形式"
_ONLY = r"\b(?:just|only|merely|purely|nothing but)\b|[只仅]|不过"
_ROUNDED = (
    r"\b(?:round(?:s|ed|ing)?|truncat\w+|approx\w*|roughly|more or less|estimated|(?:mean|average) of"
    r"|(?:about|around|nearly|almost)(?= [0-9]))(?![a-z])|四舍五入|取整|舍入|舍去|进位|近似|大?约|左右"
    r"|(?<![0-9.])[0-3]\.[0-9]*[1-9](?![0-9a-z%.])"
)
_CALCULATED = (
    r"\b(?:i|i['’]d|my|would|say|give|gave|estimate|then|really|actually|exact(?:ly)?|precise(?:ly)?|raw|true|real"
    r"|up|down|off|half|before|after|between|nearest|whole|integer|final)\b"
    r"|我|到|至|经|过|[前后]|得[来出]?|而来|分|级|估计|实际?|原|值|小?数|向[上下]|故|所以|因此|整数?|给|评|判|打|了"
)
_MORE_OR_LESS = (
    r"\b(?:lower|higher|less|down|up|off|minus|plus|high|low)\b|低|高|[减加扣降升]|[多少](?=给|评|一|半)"
)
_AMOUNT = (
    r"\b(?:one|two|half|slightly|somewhat|too|a (?:bit|little|notch|grade|level|point|step|mark)|[12])\b"
    r"|[一二两半12](?:个)?[级分档等点些]"
)
_CHANGED = (
    r"\b(?:i|i['’]d|i['’]ll|me|my|let|make|take|knock|put|set|say|think|guess|maybe|perhaps|actually|fact|rather"
    r"|really|better|should|would|could|be|second|reading|reflection|thought|look|come|for|grade|level|point|step"
    r"|notch|steps|no|hmm|wait|sorry)\b"
    r"|其实|实际上?|还|要|再|更|好|应该?|当|我|改|一下|吧|了|往|向|下|调|给|评|判|打|得|偏|刚才|仔细|想|可以|合适|太|过"
)
_PARTY, _INPUT, _EXAMPLE, _FROM, _ONLY_FORMAT, _ROUNDING, _OFFSET = map(
    re.compile,
    (
        PARTY_WORDS,
        f"{PARTY_WORDS}|{_TO_GRADE}",
        EXAMPLE_WORDS,
        _ORIGIN,
        rf"(?:{_ONLY}).*(?:{_FORMAT})",
        _ROUNDED,
        rf"(?:{_AMOUNT}).*(?:{_MORE_OR_LESS})|(?:{_MORE_OR_LESS}).*(?:{_AMOUNT})",
    ),
)
_ORIGIN_WORDS = re.compile(
    "|".join((PARTY_WORDS, EXAMPLE_WORDS, _ORIGIN, _FORMAT, _ONLY, _ANSWER, _TEXT, _FUNCTION))
)
_TEXT_WORDS = re.compile(
    "|".join(
        (
            PARTY_WORDS,
            _TO_GRADE,
            r"\b(?:again|once|more|bottom|top|end)\b",
            "再次?|一遍|末尾|底部|开头",
            _TEXT,
            _FUNCTION,
        )
    )
)
_ROUNDING_WORDS = re.compile("|".join((_ROUNDED, _CALCULATED, _ANSWER, _FUNCTION)))
_OFFSET_WORDS = re.compile("|".join((_MORE_OR_LESS, _AMOUNT, _CHANGED, _ANSWER, _FUNCTION)))


def names_origin(text: str) -> bool:
    """Return True when a sentence says only that the answer is a party's, an example or a format."""
    return (
        _has_sentence(text, _ORIGIN_WORDS, _PARTY, _FROM)
        or _has_sentence(text, _ORIGIN_WORDS, _EXAMPLE)
        or _has_sentence(text, _ORIGIN_WORDS, _ONLY_FORMAT)
    )


def presents_text(text: str) -> bool:
    """Return True when a sentence names only a text: "the passage again", "text to grade"."""
    return _has_sentence(text, _TEXT_WORDS, _INPUT)


def is_rounded(text: str) -> bool:
    """Return True when a sentence says only that the answer is rounded, or was a fraction."""
    return _has_sentence(text, _ROUNDING_WORDS, _ROUNDING)


def is_offset(text: str) -> bool:
    """Return True when a sentence says only that the answer is to be higher or lower."""
    return _has_sentence(text, _OFFSET_WORDS, _OFFSET)


def _has_sentence(text: str, words: re.Pattern[str], *needed: re.Pattern[str]) -> bool:
    """Return True when a sentence consists of `words`, and matches each of the patterns `needed`."""
    return any(
        all(pattern.search(sentence) for pattern in needed)
        and not any(map(str.isalpha, words.sub(" ", sentence)))
        for sentence in _SENTENCE.split(simplify_prose(text))
    )
