"""The values that prose states: behind a label, alone in a line or a sentence, at the end of a clause."""

import re
from functools import cache

from judge.parsing.stated_scale import drop_own_scale
from judge.parsing.vocabulary import (
    AROUND,
    CHINESE,
    ENGLISH,
    KEYS,
    REASON_LABELS,
    build_label_pattern,
    find_value,
)
from judge.records import Scale, ScaleName

#: What begins an explanation right behind a verdict.
EXPLAINS = r"(?:\s?\(|\s?[-–—]+\s|[-–—]{2}|\s(?:because|since)\b|\s?因为)"
#: The statements of relevance, on the binary scale; "partially relevant" states nothing.
_RELEVANCE = re.compile(
    rf"(?m)(?:{ENGLISH}|{CHINESE})"
    r"(?P<hedge>\b(?:partial|partly|somewhat|margin|slight|may|might|how|whether|if|part|loose)\w*\s(?:be )?(?:\w+ly )?|部分|有些|略|稍|是否|弱"
    r"|多少|可能)?(?P<value>\b(?:not (?:\w+ly |enough to be )?relevant|isn['’]t (?:\w+ly )?relevant|irrelevant|relevant)\b|不(?:直接|太|怎么|算|够)?相关|无关"
    rf"|相关)(?=[{re.escape(AROUND)}]{{0,4}}(?:[.,;!。)}}\]】]|$|{EXPLAINS})|\s(?:to|for) (?:the|this) (?:query|topic|search|question|user|need"
    r"|request))(?![性度])",
)
_NEGATIVE = re.compile(r"n['’]t|\bnot|irr|不|无")
#: A number in front of what it counts or names ("step 3", "第2"), a scale and the number of
#: a list item state no value.
_NO_VALUE = re.compile(
    r"(?m)(?=[a-z#])\b(?:(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|v|no\.|figures?|tables?|top|type|stage|level of|phase|question"
    r"|criteri(?:on|a)|grades?|scores?|scale|error|code|http|#) ?#?(?:of |from |is )?[0-9][0-9.]*(?= ?[-–~,:]| to |(?: and [0-9])\b)"
    r"|(?:steps?|sections?|parts?|pages?|points?|items?|chapters?|versions?|figures?|tables?|top|type|stage|phase|criterion|error) ?#?[0-9][0-9.]*"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? [0-9]{1,2}(?=,? [0-9]{4}\b))"
    r"|(?:第|步骤|图|表|步) ?[0-9]+|(?:\(|from |scale of |of |(?=0))(?<![A-Za-z0-9.])0\s?(?:[-–~到至]|to)\s?3(?![A-Za-z0-9])\)?"
    r"|(?=[(\s/o])\(?\s?(?:/|out of)\s?3\b\)?|^[ \t>*-]{0,8}[0-9]{1,2}[.)、]\s{0,4}(?=[^\s0-9])|[(\[][0-9]{1,2}[)\]][^\S\n]?(?=[^\W\d_])",
)
_SECOND_POINT = re.compile(r"2[.)、]\s?[^\W\d_]")
#: The number of an item of a list with text, and a list with at least two of them, one in a line.
_ITEM_NUMBER = re.compile(r"(?m)^[ \t>*-]{0,8}[0-9]{1,2}[.)、]\s{0,4}(?=[^\W\d_])")
_LIST = re.compile(r"(?m)^[ \t>*-]{0,8}1[.)、] ?[^\W\d_].*\n(?:.*\n){0,3}?[ \t>*-]{0,8}2[.)、] ?[^\W\d_]")
#: What has grades of its own: "grade 3 pupils".
_GRADED_THINGS = (
    r"(?:pupils?|students?|teachers?|class(?:es)?|hospitals?|maths?|english|reading|science|exams?|worksheets?|syllabus|pieces?|piano|ankle|sprains?"
    r"|tumou?rs?|carcinoma|steel|titanium|curriculum)\b"
)
_UNITS = "[天日年月周条个项片次款种元粒克]|小时|分钟|(?:day|week|month|year|hour|minute)s?\\b"
#: How sure a reply says to be is not a value.
_CONFIDENCE = re.compile(
    r"(?:\b(?:confidence|certainty|probability)(?: (?:score|level))?|置信(?:度|水平)|把握)[\s*:=]{0,4}(?:is |of |[是为] ?)?[0-9.]{1,6}%?",
)
#: What a label of the binary scale has in front of an explanation: "结论：有帮助".
_HELP_WORDS = dict.fromkeys(
    ("有帮助", "有用", "部分有用", "完整回答", "useful", "helpful"), 1
) | dict.fromkeys(("没有帮助", "无帮助", "没有用", "无用", "not useful", "not helpful"), 0)
#: What each label begins with.
_LETTER = r"(?=[a-z\u4e00-\u9fff])"
_MARKS = f"[{re.escape(AROUND)}]{{0,4}}"
#: The words of a sentence that states a value and nothing else: "Ok, 3 it is.", "I go with 1 after all".
_FILLER = (
    r"(?:ok|okay|well|so|then|final|finally|really|it|is|be|i|go|going|with|after|all|would|say|settle|for|on|now|let['’]?s|i['’](?:d|ll|m)|it['’]s"
    r"|call|just|take|choose|pick|my|answer|to|an?|that['’]s|for|me)"
)
#: A clause that is nothing but a value between two of the scale, or a doubt.
_UNCERTAIN = re.compile(
    r"(?m)(?:^|[.。!?;,]"
    rf"|{_LETTER}(?<![a-z]){build_label_pattern(None)}\s?(?:is|为|是)?\s?[:=](?!\s{{0,3}}{_MARKS}[0-9]))\s{{0,3}}{_MARKS}[\[(]?(?:[0-3](?:\.(?!0+\b)[0-9]{{1,2}}"
    r"|\s?(?:[/~–-]|or|to|或|到|至)\s?[0-9]{1,2}|\s?(?:[+-]|plus|minus))|[~≈−]\s?[0-3]|[+–-][0-3]|介于[0-3]\s?[分级]?\s?[和与到至]\s?[0-3]\s?[分级]?之间(?!,)|½|(?:yes|no)\b[^\w\n]{1,4}(?:(?:and|or) )?(?:yes|no)\b|(?:(?:it|is|this|that|an?|the|definitely|certainly|really) ){0,4}(?:not|never|almost|nearly|hardly|barely) (?:an? )?(?:yes|no)"
    r"|(?:并非|不算)[是否]|maybe|perhaps|unsure|unclear|nope"
    rf"|not irrelevant|不一定|不确定|不知道|不好说|非相关|不是不相关|是否)[\])]?{_MARKS}(?:[,;。!?]|\.(?![0-9])|\s?[-–—]\s|$)"
)


def find_values(flat: str, scale: Scale) -> set[int | None]:
    """Return the values that simplified prose states; None means a value that is not on the scale.

    Counts ("3 steps"), dates and the numbers of a list state nothing.
    """
    flat = _CONFIDENCE.sub(" ", drop_own_scale(flat, scale))
    if _SECOND_POINT.search(flat) and _LIST.search(flat):  # "My grade:" in front of a list has no value
        flat = _ITEM_NUMBER.sub("; ", flat)
    labelled = {
        match["value"].rstrip(".").removesuffix(f"/{scale.top}")
        for pattern in _compile_labelled_value_patterns(scale.name)
        for match in pattern.finditer(flat)
    }
    if _SECOND_POINT.search(flat):  # few replies have one, and each line takes time
        flat = "\n".join(map(_drop_point_numbers, flat.split("\n")))
    if re.search("[0-9]", flat):
        flat = _NO_VALUE.sub(" ", flat)
    bare = {
        match["value"]
        for pattern in _compile_bare_value_patterns(scale.name)
        for match in pattern.finditer(flat)
    }
    values = {find_value(text, scale) for text in bare} - {None}
    help_words = _HELP_WORDS if scale.name == "binary" else {}
    values |= {help_words.get(text, find_value(text, scale)) for text in labelled}
    if _UNCERTAIN.search(flat):
        values.add(None)
    if scale.name == "binary":
        stated = (match["value"] for match in _RELEVANCE.finditer(flat) if not match["hedge"])
        values |= {0 if _NEGATIVE.search(text) else 1 for text in stated}
    return values


def _drop_point_numbers(line: str) -> str:
    """Return a line without the numbers of its points: "Reason: 1. On topic. 2. No dates."."""
    for number in range(1, 10):
        shorter = _compile_point_pattern(number).sub(r"\g<before> ", line, count=1)
        if shorter == line:
            break
        line = shorter
    return line


@cache
def _compile_point_pattern(number: int) -> re.Pattern[str]:
    """Return the pattern of a point's number: 1 begins a line or a reason, another one follows a point's end."""
    first = rf"^[^\w\n]{{0,8}}+(?:(?:{REASON_LABELS})\s?:[^\w\n]{{0,4}}+)?"
    before = first if number == 1 else r"[.。;!,]\s?|[^\W\d] (?=.\))"
    return re.compile(rf"(?P<before>{before}){number}[.)、]\s?(?=[^\W\d_])")


@cache
def _compile_labelled_value_patterns(scale_name: ScaleName) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a label with its value, of the scale's key with a few words, and of a box."""
    value = r"[-+]?[0-9][0-9./]*+(?:[分级](?!钟))?|[零一二两三](?![\u4e00-\u9fff])" if scale_name == "graded" else (
        r"(?:not relevant|irrelevant|relevant|yes|no)(?![a-z])|不相关|相关|无关|[是否](?![\u4e00-\u9fff])"
    )  # fmt: skip
    joint = r"(?:[:=>→|]|\b(?:is|of|as|be|to)\b|是|为)"
    bare = r"(?=[0-9])" if scale_name == "graded" else r"(?=(?:yes|no|不?相关|否)[^\w:]{0,4}$)"
    # "Grade: 2-3" and "verdict = maybe", but not what announces an object.
    word = r"[^\s\u4e00-\u9fff,;。(){}\[\]]{1,16}"
    words = (
        r"(?:[0-9]|yes\b|no\b)(?:(?!\.\s|\s?[-–—]{1,2}\s?[^\W0-9])[^\n,;。(){}]){0,12}?|[\u4e00-\u9fff]{1,5}"
        rf"|(?!json\b|see\b|below\b|as\b|here\b)(?:[~-]{{1,2}}\w|[^\W0-9]){word}(?: {word})?"
    )
    return (
        re.compile(
            rf"(?m){_LETTER}(?<![a-z])(?:(?:final|overall|my)?{build_label_pattern(None)}|correction|更正)(?: value)?{_MARKS}(?:{joint}|{bare}){_MARKS}(?:a "
            rf"|just )?(?P<value>{value})(?!\s{_GRADED_THINGS})(?!{_MARKS}(?:-|–|~|to|到|至)\s?3)(?!\s(?:of"
            rf"|steps?)\b(?! 3))(?!\s?(?:{_UNITS}))",
        ),
        re.compile(
            rf"(?m){_LETTER}(?<![a-z])(?:{'|'.join(KEYS[scale_name])}){_MARKS}[:=]{_MARKS}(?P<value>{words}){_MARKS}(?=(?: out of 3)?[.。!]?\s*$|[,;()}}])",
        ),
        re.compile(r"\\boxed\{(?P<value>[^{}\n]{0,24})"),
    )


def _build_sentence_pattern(values: str) -> re.Pattern[str]:
    """Return the pattern of a sentence with one of `values`, an alternation, and filling words alone."""
    return re.compile(
        r"(?m)(?:^"
        rf"|[.。!?](?![0-9]))\W{{0,4}}(?:{_FILLER}\b\W{{1,3}}){{0,6}}(?P<value>{values})(?:\W{{1,3}}{_FILLER}){{0,5}}[^\w.]{{0,3}}(?=\.(?![0-9])|!|$)",
    )


@cache
def _compile_bare_value_patterns(scale_name: ScaleName) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a value without a label."""
    stop = rf"(?={_MARKS}(?:[.,:](?![0-9])|[。!;)\]}}】|?→]|[-–—](?![0-9A-Za-z])|$))"
    if scale_name == "binary":
        value = r"(?P<value>(?:yes|no)(?![A-Za-z])|[是否](?![\u4e00-\u9fff]))"
        start = r"(?:^|[.。!?;:,=>→{(\[【]|\b(?:so|thus|hence|therefore|or|is|be|say|make that|to)\b|或者?|所以|因此|严格来?说|[是为成判评])"
        return (
            _build_sentence_pattern("yes|no"),
            re.compile(rf"(?m){start}[,\s]{{0,2}}{_MARKS}{value}{stop}"),
            re.compile(
                rf"(?m)(?<![A-Za-z\u4e00-\u9fff])(?P<value>yes|no|[是否]){_MARKS}[.。!]?{_MARKS}[)\]}}】]?$",
            ),
        )
    number = r"(?<![0-9A-Za-z.$¥￥€£])(?<![0-9][-/:,])(?P<value>[0-9](?:\.0+)?)"
    copula = (
        r"(?=\s?[分级](?![钟布之析子类支开享别数医台运方球甲建])|\s(?:is|was|would|seems|fits|because|since|as|for|so|and|or|instead|rather|at (?:the )?(?:very )?(?:best|least|most)|tops"
        r"|points?\b)\b|\s?(?:更|比较|较|才|吧|因为|合适|或))"
    )
    words = "(?P<value>zero|one|two|three)"
    spelled = rf"\b(?:a|an?|grade|score|rating|be|is|to|at|as|give|give it|give this|say)\s{words}{stop}"
    limit = r"(?:at (?:the )?(?:very )?(?:best|least|most)|tops)"
    return (
        _build_sentence_pattern("[0-9]|zero|one|two|three"),
        re.compile(rf"(?m){number}(?:{stop}|{copula})"),
        re.compile(f"(?m){spelled}"),
        re.compile(  # "2 (useful part)", not "2 (two) signs"
            r"(?m)^[^\w\n]{0,4}(?P<value>[0-3])\s?\((?=[^\W\d])(?!of\b|out of)[^()\n]{1,80}\)(?=[.。;,!]|[^\w\n]{0,4}$"
            r"|\s(?:because|since)\b)"
        ),
        re.compile(rf"(?m)(?:^|[.!?;] )(?={limit}|\w+ {limit})(?:{limit} )?{words}(?: {limit})?{stop}"),
        re.compile(  # "It is a 1 in my view"
            r"(?m)\ba(?:(?<=^a)|(?<=[.!?;,] a)|(?<=\b(?:is|be|as) a)|(?<=\b(?:was|see|say) a)|(?<=\b(?:only|just) a)|(?<=\bworth a)|(?<=\bdeserves a))"
            r"\s(?:(?:solid|weak|strong|clear|low|high|mere|bare|good|fair|generous|firm)\s)?"
            r"(?P<value>[0-9])\s(?:at|in|on|to|by|from|with|overall|here|now|then|though|again)\b(?!\s[0-9])",
        ),
        re.compile(
            r"(?m)(?:[评给判按]为?|符合\s?)(?P<value>[零一二两三0-3])\s?(?=[。,;!]|计(?:[。,;!]|$)|$|[分级]?的(?:标准|要求|定义))",
        ),
        re.compile(r"(?P<value>[零一二两三])[分级](?![钟布之析子类支开享医台运方球甲建])"),
    )
