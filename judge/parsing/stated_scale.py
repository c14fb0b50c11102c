"""The scale that a reply names beside its grade: "out of 10", "on a scale of 0 to 3", "满分10分".

A grade of another scale is not a grade of this one, so the reply is refused. A mention of the reply's own
scale says nothing: its numbers are no values.
"""

import re

from judge.parsing.text_forms import flatten, simplify_prose
from judge.records import Scale

_ENGLISH_NUMBERS = {"four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "hundred": 100}
_CHINESE_NUMBERS = {"三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "十": 10, "百": 100}
_NUMBER = rf"(?:(?<![0-9])(?<![0-9]\.)[0-9]{{1,3}}(?:\.0)?(?![0-9%]|\.[0-9])|\b(?:{'|'.join(_ENGLISH_NUMBERS)})\b|一?[{''.join(_CHINESE_NUMBERS)}])"
_RANGE = rf"(?:(?:from |between )?(?<![0-9.-])(?:[0-9]{{1,3}}|zero|one)(?:\s?(?:[-–—~]|\.\.|至|到)\s?|[ -](?:up )?to[ -]|[ -]and[ -]){_NUMBER})"
#: What a scale counts. A scale of 4 points, or 4 levels, may be the one from 0 to 3.
_UNITS = r"(?:[- ]?(?:points?|stars?|levels?|grades?|marks?|likert|rating|分|级|档))"
#: What ends the mention of a scale.
_CLOSER = r"(?=\s?(?:[)\].,;:!?。|]|$|\n|[-–—]|because|since))"
#: Where a sentence about the grade begins, up to the scale.
_LEAD = (
    r"(?:(?:note|注|备注|说明)\s?:\s?)?(?:(?:that(?: is|['’]s| equals)|equivalent to|rated|i use|即"
    r"|相当于) ?)?(?:(?:(?:the|this|that|my|your|it|which) )?(?:(?:grade|score|rating|mark)s? )?(?:(?:is|was|are|uses?) )?(?:(?:scored|rated|graded"
    r"|given|measured|based) )?(?:(?:on|using|with|by|in|at|to) )?(?:an? |the )?|(?:(?:该|此|本)?(?:评分|打分|等级|分数)(?:是|为)?|我)?(?:采用|使用"
    r"|用|按照?|基于)?(?:的是?)?\s?)"
)
#: A scale in a few words: its range, its top, or how many grades it has. Each form follows words, one of which is
#: in each text that the form matches.
SCALE_FORMS = (
    ("scale", rf"(?:{_RANGE}|{_NUMBER}){_UNITS}{{0,2}} scale\b"),
    ("point", rf"{_NUMBER}(?:-point(?: likert)?| point likert){_CLOSER}"),
    (
        "scale",
        rf"(?:(?:grad|scor|rat)(?:e|ing) )?scale(?: (?:i|we) use[sd]?)?\s?(?:is|of|[:=])?\s?(?:ranging |going |running )?{_RANGE}",
    ),
    (
        "scale of|out of",
        rf"(?:scale of|out of(?: an?)?(?: max\w*| total)?(?: of)?) {_NUMBER}{_UNITS}?(?! (?!stars|points|marks|this|is|was|as|its|because"
        rf"|possible)[a-z]{{2,20}}s\b)",
    ),
    (
        "range|范围|区间",
        rf"(?:range|(?:范围|区间)(?=\s?[:=是为]?\s?[0-9]))\s?(?:is|of|是|为|[:=])?\s?{_RANGE}{_UNITS}?{_CLOSER}",
    ),
    (
        "max|highest",
        rf"(?:max(?:imum|imal)?|highest)\.?(?: possible)?(?: (?:grade|score|rating|value|mark|points?))?\s?(?:is|of|[:=|])?\s?{_NUMBER}{_UNITS}?{_CLOSER}",
    ),
    (" of ", rf"(?<=[0-9] )of {_NUMBER}{_CLOSER}"),
    (
        "max|best|highest|top",
        rf"{_NUMBER}{_UNITS}? (?:max(?:imum)?\b|(?:being|is) (?:the )?(?:best|highest|top)\b{_CLOSER})",
    ),
    ("满分|最高", rf"(?:满分|最高分?)\s?(?:为|是|[:=])?\s?{_NUMBER}\s?分?"),
    ("分制|级制", rf"{_NUMBER}\s?(?:分|级)制"),
    ("分中", rf"{_NUMBER}\s?分中的?\s?[0-9]"),
    ("分|级", rf"{_RANGE}\s?(?:分制?|级)"),
)
_SCALE = "|".join(form for _, form in SCALE_FORMS)
#: A range alone, up to its closing bracket.
_RANGE_IN_BRACKETS = rf"\s?{_RANGE}{_UNITS}?\s?[)\],;]"
#: A scale with what its grades mean: "Scale: 0 = irrelevant, 3 = perfect".
_LEGEND = r"(?:(?:(?:grad|scor|rat)(?:e|ing) )?scale(?: used)?|量表|评分标准)\s?[:=](?:[^\n()\]]|\([^\n()]{0,40}\)){1,120}"
_MENTION = re.compile(
    rf"(?m)[(\[]?\s?(?:\b(?:on|using|with|by) (?:an? |the )?)?(?:{_SCALE})(?:\s?[)\]])?",
)
#: Few texts have a word of a mention and a number, and the search for mentions takes long.
_MENTION_WORD = re.compile("|".join(words for words, _ in SCALE_FORMS))
#: A mention that begins the text or a sentence.
_LEADING_MENTION = re.compile(
    rf"(?m)(?:\A\W{{0,12}}|(?:^|[.。!?;])\W{{0,4}})(?=[\w/]){_LEAD}(?:(?:grade |score )?[0-9]{{1,3}}(?:\.[0-9])?{_UNITS}?\s?(?=out of|/|of|on"
    rf"|(?:分)?中))?(?P<scale>{_SCALE}|/\s?{_NUMBER}{_CLOSER}|of {_NUMBER}{_UNITS}?{_CLOSER}|{_LEGEND})"
    rf"|\A\s{{0,4}}[(\[]?(?P<range>{_RANGE_IN_BRACKETS})"
)
#: The grades of the scale from 0 to 3 with what they mean, best or worst first.
RUBRIC = re.compile(
    "|".join(
        r"[^0-9]{1,120}?".join(
            rf"(?<![0-9.]){grade}\s?(?:[:=]|[-–—]{{1,2}}|\s)(?=[^0-9\n]{{2}})" for grade in grades
        )
        + r"[^0-9\n]{1,120}"
        for grades in ("3210", "0123")
    )
    + r"|评分标准\s?:\s?(?:3[^0-9\n。]{2,20}2[^0-9\n。]{2,20}1[^0-9\n。]{2,20}0|0[^0-9\n。]{2,20}1[^0-9\n。]{2,20}2[^0-9\n。]{2,20}3)[^0-9\n。]{2,20}"
)
#: The rubric of the binary scale, a line a value.
BINARY_RUBRIC = re.compile(
    r"(?m)^\W{0,4}yes\s?:[^\n]{8,}\n\W{0,4}no\s?:[^\n]{8,}$|^\W{0,4}no\s?:[^\n]{8,}\n\W{0,4}yes\s?:[^\n]{8,}$"
)
_LINE_END = re.compile(r"(?: ?stars?| ?points?)?[^\w\n]{0,4}(?:\n|\Z)")
_ANY_NUMBER = re.compile(_NUMBER)
_ANY_RANGE = re.compile(_RANGE)
#: The last form is a list of two numbers.
_ANY_RANGE_ALONE = re.compile(
    rf"(?:{_RANGE}|{_NUMBER}(?=-point)|(?:[4-9]|[0-9]{{2,3}})(?![0-9])){_UNITS}?(?: \(?integers?\)?)?|{_NUMBER}, {_NUMBER}"
)
#: How many grades a scale has.
_COUNT = re.compile(rf"({_NUMBER})(?:{_UNITS}|\s?分制)|(?<=scale of )({_NUMBER})")
_IS_TOP = re.compile(r"max|满分|总分|最高|highest|out ?of")
#: The members that name the scale of a grade beside them, without blanks and lines in the key.
_MEMBER = re.compile(
    r"(?:(?:grad(?:e|ing)|scor(?:e|ing)|rating)?scale|(?:scale|grade|score)?max(?:imum)?(?:grade|score|rating|points?|value|mark)?|outof"
    r"|total(?:points|score)?|满分[值数]?|总分|最高分|量表|分制)"
)
_RANGE_MEMBER = re.compile(r"(?:(?:grade|score|rating|scale)?range|范围|评分范围)")


def names_other_scale(prose: str, scale: Scale, *, alone: bool = False) -> bool:
    """Return True when a sentence of prose begins with another scale: "(out of 10)", "Scale: 1-5".

    With `alone`, the scale is all that its line says: in front of an answer, prose names topics, too.
    """
    if scale.name != "graded":
        return False
    flat = simplify_prose(prose)
    if not _ANY_NUMBER.search(flat):  # most prose has none, and the search for mentions takes long
        return False
    matches = _LEADING_MENTION.finditer(flat)
    return any(
        _is_other(match["scale"] or match["range"], scale)
        for match in matches
        if not alone or _LINE_END.match(flat, match.end())
    )


def is_other_scale(key: str, value: str, grade: int, scale: Scale) -> bool:
    """Return True for a member that names another scale: `"max_score": 10`, `"scale": "1-5"`."""
    if scale.name != "graded":
        return False
    name, text = re.sub(r"[\s_-]", "", flatten(key).casefold()), flatten(value).strip().lower()
    if _RANGE_MEMBER.fullmatch(name):
        return _ANY_RANGE_ALONE.fullmatch(text) is not None and _is_other(text, scale)
    # The grade once more, alone or of the top.
    is_grade = _read_numbers(text) in ([grade], [grade, scale.top]) and _IS_TOP.search(name) is None
    return _MEMBER.fullmatch(name) is not None and not is_grade and _is_other(f"{name}: {text}", scale)


def drop_own_scale(flat: str, scale: Scale) -> str:
    """Return simplified prose without the mentions of the scale that is asked for."""
    if not (_MENTION_WORD.search(flat) and _ANY_NUMBER.search(flat)):
        return flat
    return _MENTION.sub(lambda match: match[0] if _is_other(match[0], scale) else " ", flat)


def _is_other(description: str, scale: Scale) -> bool:
    """Return True when the numbers of a description are not those of a scale from 0 to the scale's top."""
    if ranges := _ANY_RANGE.findall(description):
        return any(_read_numbers(text) != [0, scale.top] for text in ranges)
    if not _IS_TOP.search(description):
        counts = [match[1] or match[2] for match in _COUNT.finditer(description)]
        if any(not set(_read_numbers(text)) <= {scale.top, scale.top + 1} for text in counts):
            return True
        description = _COUNT.sub(" ", description)
    numbers = _read_numbers(description)
    return bool(numbers) and (max(numbers) != scale.top or (len(numbers) > 1 and min(numbers) != 0))


def _read_numbers(text: str) -> list[int]:
    numbers = (number.lstrip("一") for number in _ANY_NUMBER.findall(text))
    words = _ENGLISH_NUMBERS | _CHINESE_NUMBERS
    return [words[number] if number in words else int(number.partition(".")[0]) for number in numbers]
