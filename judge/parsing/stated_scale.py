"""The scale that a reply names beside its grade: "out of 10", "on a scale of 0 to 3", "满分10分".

A grade of another scale is not a grade of this one, so the reply is refused. A mention of the reply's own
scale says nothing: its numbers are no values.
"""

import re

from judge.parsing.text_forms import flatten, simplify_prose
from judge.records import Scale

_WORDS = {"zero": 0, "one": 1, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "hundred": 100} | dict(
    zip("一三四五六七十百", (1, 3, 4, 5, 6, 7, 10, 100), strict=True)
)
_NUMBER = r"(?:(?<![0-9])(?<![0-9]\.)[0-9]{1,3}(?:\.0)?(?![0-9%]|\.[0-9])|(?<![a-z])(?:four|five|six|seven|ten|hundred)(?![a-z])|一?[三四五六七十百])"
_RANGE = rf"(?<![0-9.-])(?:[0-9]{{1,3}}|zero|one|一)(?:\s?(?:[-–—~]|\.\.|至|到)\s?|[ -](?:up )?to[ -]| and ){_NUMBER}"
_UNIT = r"(?:[- ]?(?:points?|stars?|levels?|grades?|marks?|likert|rating|[分级档]))"
#: What ends a mention. A noun goes on, as in "out of 5 questions".
_END = r"(?=\s?(?:[)\].,;:!?。|]|$|[-–—](?!\s?[0-9])|because|since|as\b|overall|in total|的情况))"
_SCALE = (
    # How many grades the scale has; the one from 0 to 3 has 4.
    rf"(?P<count>(?:scale of (?={_NUMBER}{_UNIT}?{_END}))?{_NUMBER}(?:(?:{_UNIT}{{1,2}} scale\b|[- ]point(?: likert)?){_END}|\s?[分级]制)"
    rf"|scale of {_NUMBER}{_UNIT}?{_END})"
    # Its first and last grade, and what the grades mean.
    rf"|{_NUMBER} scale\b{_END}|{_RANGE}{_UNIT}{{0,2}}(?: scale\b|\s?[分级]制?{_END})"
    rf"|(?:scale|range|量表|范围)[^\n.。0-9]{{0,24}}?{_RANGE}{_UNIT}?{_END}|\A\W{{0,4}}(?:from )?{_RANGE}{_UNIT}?\s?(?=[)\],;])"
    r"|(?:scale|量表|评分标准)\s?[:=](?:[^\n()\]]|\([^\n()]{0,40}\)){1,120}"
    # Its last grade. "The hotel has 4 out of 5" is about something else.
    rf"|(?:(?:(?:(?:\A|[.;。(\[\n])\W{{0,4}}|equivalent to |equals )(?:[4-9]|[0-9]\.[0-9]) |(?<![4-9] )(?<!\.[0-9] ))out of|max(?:imum)?\.?|highest|满分|最高分?)(?: (?:an?|max\w*|total|possible|grade|score|points?|value|is|of)){{0,3}}"
    rf"\s?[是为:=|]?\s?{_NUMBER}{_UNIT}?{_END}|(?:(?<=(?:grade|score) [0-9] )|(?:\A|[:(\[])\W{{0,4}}(?:[0-9] )?)of {_NUMBER}{_END}"
    rf"|{_NUMBER}{_UNIT}? (?:max(?:imum)?|(?:being|is) (?:the )?(?:best|highest|top)){_END}|{_NUMBER}\s?分中的?\s?(?=[0-9])"
)
_MENTION = re.compile(rf"(?m)(?<![a-z])(?:{_SCALE})")
_IN_BRACKETS = re.compile(
    rf"(?m)[(\[]?\s?(?:\b(?:on|using|with|by) (?:an? |the )?)?(?<![a-z])(?:{_SCALE})(?:\s?[)\]])?"
)
#: "2/10", which is no grade where it is the value, not "1/2-inch".
_FRACTION_OF_TEN = re.compile(
    rf"(?:(?<![0-9/.])[0-3] ?|(?:\A|:)\W{{0,4}})/ ?(?:[4-9]|10|100|five|ten|hundred|[五十百])(?![0-9/-]){_UNIT}?{_END}"
)
#: Few texts have a word or sign of a mention and a number, and the search for mentions takes long.
_HINT = re.compile(r"scale|range|max|highest|best|top|point|\bof\b|[/分级]|范围|量表|\w[)\]]")
_ANY_NUMBER = re.compile(_NUMBER)
#: The members that name the scale of a grade beside them, without blanks and lines in the key.
_MEMBER = re.compile(
    r"(?:grad(?:e|ing)|scor(?:e|ing)|rating)?(?:scale|range)|(?:scale|grade|score)?max(?:imum)?(?:grade|score|rating|points?|value|mark)?|outof"
    r"|total(?:points|score)?|满分[值数]?|总分|最高分|量表|分制|(?:评分)?范围"
)


def names_other_scale(prose: str, scale: Scale) -> bool:
    """Return True when prose names another scale: "(out of 10)", "Scale: 1-5"."""
    if scale.name != "graded":
        return False
    flat = simplify_prose(prose)
    return _may_mention(flat) and (
        any(_is_other(match, scale) for match in _MENTION.finditer(flat))
        or _FRACTION_OF_TEN.search(flat) is not None
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


def _is_other(mention: re.Match[str], scale: Scale) -> bool:
    numbers = _read_numbers(mention[0])
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
