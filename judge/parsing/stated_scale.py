"""The scale that a reply names beside its grade: "out of 10", "on a scale of 0 to 3", "满分10分".

A grade of another scale is not a grade of this one, so the reply is refused. A mention of the reply's own
scale says nothing: its numbers are no values.
"""

import re

from judge.parsing.vocabulary import flatten, simplify_prose
from judge.records import Scale

_WORDS = {"zero": 0, "one": 1, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "hundred": 100} | dict(
    zip("一三四五六七十百", (1, 3, 4, 5, 6, 7, 10, 100), strict=True)
)
_NUMBER = (
    r"(?:(?<![0-9])(?<![0-9]\.)[0-9]{1,3}(?:\.0)?(?![0-9%]|\.[0-9])"
    r"|(?<![a-z])(?:four|five|six|seven|ten|hundred)(?![a-z])|一?[三四五六七十百])"
)
#: The first and the last grade.
_RANGE = (
    r"(?<![0-9.-])(?:[0-9]{1,3}|zero|one|一)"
    rf"(?:\s?(?:[-–—~]|\.\.|至|到)\s?|[ -](?:up )?to[ -]| and ){_NUMBER}"
)
_UNIT = r"(?:[- ]?(?:points?|stars?|levels?|grades?|marks?|likert|rating|[分级档]))"
#: What ends a mention. A noun follows in "out of 5 questions".
_END = r"(?=\s?(?:[)\].,;:!?。|]|$|[-–—](?!\s?[0-9])|because|since|as\b|overall|in total|的情况))"
#: How many grades the scale has: "5-point scale", "scale of 10", "十分制".
_COUNT = (
    rf"{_NUMBER}(?:{_UNIT}{{1,2}} scale\b{_END}|[- ]point(?: likert)?{_END}|\s?[分级]制)"
    rf"|scale of {_NUMBER}{_UNIT}?{_END}"
)
#: A range as the scale: "1-5 scale", "1到5分", "10 scale".
_RANGE_AS_SCALE = rf"{_RANGE}{_UNIT}{{0,2}}(?: scale\b|量表|\s?[分级]制?{_END})|{_NUMBER} scale\b{_END}"
#: A range behind the word: "scale from 1 to 5", "评分范围为0到10".
_SCALE_WITH_RANGE = (
    rf"(?:(?:scale|range)(?![a-z])|量表|范围)[^\n.。0-9]{{0,24}}?(?P<range>{_RANGE}){_UNIT}?{_END}"
)
#: A range in brackets right behind the answer: "(0-10)".
_RANGE_ALONE = rf"\A\W{{0,4}}(?:from )?{_RANGE}{_UNIT}?\s?(?=[)\],;])"
#: What the grades mean: "Scale: 1 = bad, 5 = good".
_MEANINGS = r"(?:scale|量表|评分标准)\s?[:=](?:[^\n()\]]|\([^\n()]{0,40}\)){1,120}"
#: The last grade behind its name: "out of a possible 10", "max score: 5", "满分为10分".
_TOP = (
    r"(?:out of|max(?:imum)?\.?|highest|满分|最高分?)"
    r"(?: (?:an?|max\w*|total|possible|grade|score|points?|value|is|of)){0,3}"
    rf"\s?[是为:=|]?\s?{_NUMBER}{_UNIT}?{_END}"
)
#: The last grade behind a grade, or in front of its name: "2 of 10", "(of 10)", "2/10", "10 is the best".
_TOP_OF_GRADE = (
    rf"(?:(?<=[0-9] )|(?<=[(\[:])|(?<=: )|\A\W{{0,4}})of {_NUMBER}{_END}"
    rf"|(?:(?<![0-9/.])[0-9] ?)?/ ?(?:[4-9]|10|100|five|ten|hundred|[五十百])(?![0-9/-]){_UNIT}?{_END}"
    rf"|{_NUMBER}{_UNIT}? (?:max(?:imum)?|(?:being|is) (?:the )?(?:best|highest|top)){_END}"
    rf"|{_NUMBER}\s?分中的?\s?(?=[0-9])"
)
_SCALE = (
    rf"(?P<count>{_COUNT})|{_RANGE_AS_SCALE}|{_SCALE_WITH_RANGE}|{_RANGE_ALONE}|{_MEANINGS}|{_TOP}"
    rf"|{_TOP_OF_GRADE}"
)
_MENTION = re.compile(rf"(?m)(?<![a-z])(?:{_SCALE})")
_IN_BRACKETS = re.compile(
    rf"(?m)[(\[]?\s?(?:\b(?:on|using|with|by) (?:an? |the )?)?(?<![a-z])(?:{_SCALE})(?:\s?[)\]])?"
)
#: The words of a clause about the grade, up to a mention. "The hotel has 4 out of 5" is about something else, and
#: "result 3 of 10" counts.
_GRADE_WORD = (
    r"(?:(?:an?|the|this|that|these|its?|my|your|our|i|we|you|is|are|was|were|be|been|am"
    r"|rat(?:e[sd]?|ings?)|grad(?:e[sd]?|ing)|scor(?:e[sd]?|ing)|mark(?:s|ed|ing)?|relevance|relevant"
    r"|giv(?:e[sn]?|ing)|gave|would|will|say|assign(?:s|ed)?|gets?|earn(?:s|ed)?|deserves?|receives?"
    r"|us(?:e[sd]?|ing)|measured|based|judged|made|on|by|with|at|in|to|of|as|for|from|within|here|note|please"
    r"|so|thus|overall|final|finally|therefore|hence|means?|equals?|equivalent|scale|roughly|about|around"
    r"|approximately|also|and|all|every|each|above|below|following|which|where|other|words|ok|okay|numerical"
    r"|default|standard|common|full|whole|likert|points?|stars?|conclusion|verdict|value|number|ha[ds]|have|goes)(?![a-z])"
    r"|(?:snippet|page|passage|document|result|answer|reply|evaluation|assessment|judge?ment)(?![a-z])(?! ?[0-9])"
    r"|[该此本这的是为我给出它其评分级等打得数结果摘要判定相关性度采使用按照基于根据依标准注备意请好如下上最终综合总所以因此即当换算约大也就应可次条个页面有了在从将与和都均则另处里中]"
    r"|说明|网页)"
)
_FILLER = rf"(?:{_GRADE_WORD}|['’](?:s|d|m|ve|ll)(?![a-z])|[0-9_]|[^\w.。;!?\n]|\.(?=[0-9]))"
_ABOUT_GRADE = re.compile(
    rf"(?:(?:\A|[。;!?\n]|\.(?![0-9])){_FILLER}*+|(?:[,:(\[–—]|- | (?=so ))\s?{_GRADE_WORD}{_FILLER}*+)\Z"
)
_MAX_CLAUSE = 120
#: Few texts have a word or sign of a mention and a number, and the search for mentions takes long.
_HINT = re.compile(r"scale|range|max|highest|best|top|point|\bof\b|[/分级]|最高|范围|量表|\w[)\]]")
_ANY_NUMBER = re.compile(_NUMBER)
#: The members that name the scale of a grade beside them, without blanks and lines in the key.
_MEMBER = re.compile(
    r"(?:grad(?:e|ing)|scor(?:e|ing)|rating)?(?:scale|range)|(?:scale|grade|score)?max(?:imum)?(?:grade|score|rating|points?|value|mark)?|outof"
    r"|total(?:points|score)?|满分[值数]?|总分|最高分|量表|分制|(?:评分)?范围"
)


def names_other_scale(prose: str, scale: Scale) -> bool:
    """Return True when prose names another scale of the grade: "(out of 10)", "Scale: 1-5"."""
    if scale.name != "graded":
        return False
    flat = simplify_prose(prose)
    return _may_mention(flat) and any(
        _is_other(match, scale) and _is_about_grade(flat, match.start()) for match in _MENTION.finditer(flat)
    )


def is_other_scale(key: str, value: str, grade: int, scale: Scale) -> bool:
    """Return True for a member that names another scale: `"max_score": 10`, `"scale": "1-5"`."""
    if scale.name != "graded" or not _MEMBER.fullmatch(re.sub(r"[\s_-]", "", flatten(key).casefold())):
        return False
    numbers = _read_numbers(re.sub(rf"{scale.top + 1} ?(?:levels|级)", "", flatten(value).lower()))
    # The grade once more, alone or of the top, is no scale.
    return numbers not in ([grade], [grade, scale.top]) and not _is_own(numbers, scale)


def drop_own_scale(flat: str, scale: Scale) -> str:
    """Return simplified prose without the mentions of the scale that is asked for."""
    if not _may_mention(flat):
        return flat
    return _IN_BRACKETS.sub(lambda match: match[0] if _is_other(match, scale) else " ", flat)


def _may_mention(flat: str) -> bool:
    return _HINT.search(flat) is not None and _ANY_NUMBER.search(flat) is not None


def _is_about_grade(flat: str, place: int) -> bool:
    """Return True when the clause up to a place has no word but those of a sentence about the grade."""
    return _ABOUT_GRADE.search(flat, max(0, place - _MAX_CLAUSE), place) is not None


def _is_other(mention: re.Match[str], scale: Scale) -> bool:
    numbers = _read_numbers(mention["range"] or mention[0])
    return not _is_own([scale.top] if mention["count"] and numbers == [scale.top + 1] else numbers, scale)


def _is_own(numbers: list[int], scale: Scale) -> bool:
    """Return True for no numbers, and for those of a scale from 0 to the scale's top."""
    return not numbers or (max(numbers) == scale.top and (len(numbers) == 1 or min(numbers) == 0))


def _read_numbers(text: str) -> list[int]:
    words = re.findall(rf"{_NUMBER}|zero|one\b|一(?=[至到])", text)
    return [
        _WORDS.get(word.lstrip("一") or word, 0) if not word[0].isdigit() else int(word.partition(".")[0])
        for word in words
    ]
