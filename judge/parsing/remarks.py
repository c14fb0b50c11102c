"""Sentences that speak of the answer alone: where it comes from, that it is rounded, that it is too high.

Such a sentence has a word for one of these, and besides it only words for an answer and its text. Any other
word gives it another subject: "rounded from 2.4" and "rounded corners", "says the page" and "the page says
when it opens".
"""

from __future__ import annotations

import re

from judge.parsing.tolerant_json import simplify_prose
from judge.parsing.vocabulary import EXAMPLE_WORDS, PARTY_WORDS

_SENTENCE = re.compile(
    r"(?<![0-9])\.|\.(?![0-9])|[。!?;\n]|//|[*]/|/[*]|\s[-–—]+\s|——|\b(?:because|since)\b|因为|由于"
    r"|(?<=如下):|(?<=follows):|:(?=\s?(?:(?:i|my|the grade)\b|我|等级))"
)
_ANSWER = (
    r"\b(?:answers?|reply|response|verdicts?|grades?|ratings?|scores?|marks?|values?|numbers?|figures?"
    r"|results?|labels?|levels?|points?)\b|答案|回答|评[定分级价判估]|判定|判断|结论|等级|分数|得分|结果|值"
)
_TEXT = (
    r"\b(?:json(?:-ld)?|objects?|lines?|strings?|texts?|words?|wording|contents?|code|blocks?|data|metadata"
    r"|microdata|markup|copy|item|input|output)\b|json|对象|文字|文本|内容|数据|代码|源码|原话|[行段条句个]"
    r"|话|一部分|输出"
)
_FUNCTION = (
    r"\b(?:the|this|that|these|those|it|its|their|an?|all|is|was|are|were|be|been|what|which|how|so|as|or"
    r"|and|not|just|only|merely|of|from|in|inside|on|at|by|to|own|above|below|here)\b|['’]s\b"
    r"|以上|上面|上述|下面|以下|[这那][么样]?|如此|该|此|只|仅|不过|就|都|是|为|的|之|所|里|中|上|由|从|自"
    r"|并非|不是"
)
#: What a party does to an answer, and what makes an answer a part of the party's text.
_ORIGIN = (
    r"\b(?:(?:told|tells|asks|asked|wants|wanted) (?:me|us|graders|raters) to \w+|s(?:ays?|aid)|assert(?:s"
    r"|ed)?|claim(?:s|ed)?|stat(?:es|ed)|demand(?:s|ed)?|want(?:s|ed)?|puts?|rate[sd]?|ask(?:s|ed)(?: for)?"
    r"|instruct(?:s|ed)|recommend(?:s|ed)|request(?:s|ed)|writes?|wrote|written|reported|self|own|itself"
    r"|quot\w+|copied|pasted|reproduced|taken|exactly|verbatim|according|per|from|in|by|as|(?:is|are"
    r"|was) (?:just )?(?:page|web|site)|(?:wording|words?|texts?|lines?|claims?|part|copy|grade|rating"
    r"|answer) of)\b|['’]s\b|自[己带称评述]|声?称|说法?|的话|如此|[撰编]?写|贴[来上出]?|所述|要求|原话|由"
    r"|来自|照?[引摘出抄]自|按照?|给|根?据(?=.{0,9}(?:说法|要求))|[是为](?=.{0,9}(?:的|原文))"
)
_FORMAT = r"\b(?:format(?:s|ting)?|layout|structure|schema|shape|shows?)\b|格式|样式|结构|形式|展示|显示|输出"
_ONLY = r"\b(?:just|only|merely|purely|nothing but)\b|[只仅]|不过|纯属"
_FRACTION = r"(?<![0-9.])[0-3]\.[0-9]*[1-9](?![0-9a-z%]|\.[0-9])"
_ROUNDS = (
    r"\b(?:round(?:s|ed|ing)?|truncat\w+|nearest|ceil\w*)\b|四舍五入|取整|[舍进]一?位|舍[入去]|去尾|保留整数"
)
_ROUNDED = (
    rf"{_ROUNDS}|{_FRACTION}|\b(?:approx\w*|roughly|more or less|estimated|(?:mean|average) of"
    r"|(?:about|around|nearly|almost)(?= [0-9]))(?![a-z])|近似|大?约|左右"
)
_CALCULATED = (
    r"\b(?:exact(?:ly)?|precise(?:ly)?|raw|true|real|up|down|off|half|whole|integer|final)\b|[0-9]|我|至|经"
    r"|过|得|估计|实际?|原始?|平均|精?确?值|小数|整数?|向[上下]|[分级取]|给|了"
)
#: A fraction that counts nothing.
_BARE_FRACTION = re.compile(
    rf"{_FRACTION}\s?[分级]?\s?(?:[^\w\s]|$|(?:to|up|down|before|after|is|was|{_ROUNDS})(?![a-z]))"
)
_MORE_OR_LESS = (
    r"\b(?:lower|higher|less|more|down|up|off|minus|plus|high|low|deduct|subtract|add|drop|bump|cut|below"
    r"|above|generous|harsh|strict|lenient)\b|低|高|[减加扣降升调]|[多少](?=给|评|一|半)"
)
_AMOUNT = (
    r"\b(?:one|two|half|slightly|somewhat|too|a (?:bit|little|notch|grade|level|point|step|mark)|[12])\b"
    r"|[一二两半12]个?[级分档等点些]"
)
_CHANGED = (
    r"\b(?:i['’](?:d|ll)|i|me|my|let|make|take|knock|go|put|set|say|think|guess|maybe|perhaps|possibly"
    r"|actually|fact|rather|really|better|should|would|could|be|second|reading|reflection|thought|look|come"
    r"|for|step|notch|steps|[0-9]|no|hmm|wait|sorry)\b|其实|实际上?|或许|严格来说|还|要|再|更|好|应该?|当|我"
    r"|改|一下|吧|了|往|向|下|给|评|判|打|得|偏|去|刚才|仔细|想|可以|合适|太|过"
)
_PARTY = re.compile(PARTY_WORDS)
#: "The post is from a forum" speaks of the post, not of the answer.
_FROM_PARTY = re.compile(
    rf"\A(?!\W*(?:(?:the|this) |[这该]个?)?(?:{PARTY_WORDS}) ?(?:is|was|comes|[是由]|来自)).*?(?:{_ORIGIN})"
)
#: A note that is no sentence: "the editor", "page text".
_PARTY_NOTE = re.compile(rf"\A(?!.*(?:\b(?:is|are|was|were)\b|是)).*?(?:{PARTY_WORDS})", re.DOTALL)
_EXAMPLE = re.compile(rf"{EXAMPLE_WORDS}|\b(?:quot(?:ed?|ation)|copied)\b|引用|原文")
_IS_ONLY, _IS_FORMAT = re.compile(_ONLY), re.compile(_FORMAT)
_ORIGIN_WORDS = re.compile(
    "|".join(("[0-9]", PARTY_WORDS, EXAMPLE_WORDS, _ORIGIN, _FORMAT, _ONLY, _ANSWER, _TEXT, _FUNCTION))
)
_ROUNDS_VALUE, _ROUNDING = re.compile(_ROUNDS), re.compile(_ROUNDED)
_ROUNDING_WORDS = re.compile("|".join((_ROUNDED, _CALCULATED, _ANSWER, _TEXT, _FUNCTION)))
_IS_AMOUNT, _IS_OFFSET = re.compile(_AMOUNT), re.compile(_MORE_OR_LESS)
_OFFSET_WORDS = re.compile("|".join((_MORE_OR_LESS, _AMOUNT, _CHANGED, _ANSWER, _FUNCTION)))


def names_origin(text: str) -> bool:
    """Return True when a sentence says only that the answer is a party's, an example or a format."""
    kinds = ((_PARTY, _FROM_PARTY), (_PARTY, _PARTY_NOTE), (_EXAMPLE,), (_IS_ONLY, _IS_FORMAT))
    return any(_has_remark(text, _ORIGIN_WORDS, *needed) for needed in kinds)


def is_rounded(text: str) -> bool:
    """Return True when a sentence rounds a fraction, or says only that the answer was one."""
    return _has_remark(text, _ROUNDING_WORDS, _ROUNDING) or _has_remark(
        text, None, _ROUNDS_VALUE, _BARE_FRACTION
    )


def is_offset(text: str) -> bool:
    """Return True when a sentence says only that the answer is to be higher or lower."""
    return _has_remark(text, _OFFSET_WORDS, _IS_AMOUNT, _IS_OFFSET)


def _has_remark(text: str, words: re.Pattern[str] | None, *needed: re.Pattern[str]) -> bool:
    """Return True when a sentence consists of `words`, if given, and each of `needed` matches it."""
    flat = simplify_prose(text)
    return needed[0].search(flat) is not None and any(
        all(pattern.search(sentence) for pattern in needed)
        and not (words and any(map(str.isalnum, words.sub(" ", sentence))))
        for sentence in _SENTENCE.split(flat)
    )
