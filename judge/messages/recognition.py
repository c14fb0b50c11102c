"""Recognise a message in its English text, such as a remark that was read from the files of a run.

Files hold messages in English, without their templates and values. A template that gives a text is found by
its literal parts; what stands between them are the values. The text can be from another person, so the time
grows with its length only: a value ends where the next literal part first occurs outside quotation marks that
the value begins with.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from string import Formatter
from typing import NamedTuple

#: Fewer letters than these say too little: such a template counts only if a value in it is a message, too.
_FEW_LETTERS = 8
#: Longer texts are not messages, and messages are not deeper in each other.
_LONGEST, DEPTH = 4_000, 20
#: A value with a format such as `:,.2f`.
_NUMBER = re.compile(r"[-+]?(?:[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)%?")
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_QUOTED_TEXT = re.compile(_QUOTED, re.DOTALL)
#: A name in a list: in quotes, or a word such as `nDCG(own)@5`, and what can follow: ` (12)` or ` 12`.
_NAME = rf"""
    (?:{_QUOTED} | [^\s'"(),]+(?:\([^()]*\)[^\s'"(),]*)?)
    (?:[ ]\([^()]*\) | [ ]\d+(?:[.,]\d+)*%?)?
"""
_NAMES = re.compile(rf"{_NAME}(?:,[ ]{_NAME})*(?:[ ]and[ ]{_NAME})?", re.VERBOSE)
_NAME_IN_LIST = re.compile(rf"({_NAME})(?:,[ ]|[ ]and[ ]|$)", re.VERBOSE)
#: The parts of a place in a dataset, and how to find them in it.
PLACE_PARTS = {
    part: re.compile(
        (":" if part[0] == ":" else "^")
        + part.removeprefix(":").format(number=r"(?P<number>\d+)", name=f"(?P<name>{_QUOTED})")
    )
    for part in (
        "row {number}",
        ": row {number}",
        ": record {number}",
        ": sheet {name} row {number}",
        ": engine {name}",
        ": result {number}",
    )
}


class RecognisedMessage(NamedTuple):
    """A template, and the texts of its values by the names of their fields.

    It `is_weak` when only a value shows that the text is a message.
    """

    template: str
    values: Mapping[str, str]
    is_weak: bool = False


class _Field(NamedTuple):
    """A field of a template, and the literal part after it."""

    name: str
    is_number: bool
    literal: str


class _Template:
    """A template that begins with a literal part, followed by fields."""

    def __init__(self, text: str) -> None:
        self.text = text
        literals = [""]
        names: list[tuple[str, bool]] = []
        for literal, name, spec, conversion in Formatter().parse(text):
            literals[-1] += literal  # a brace ends a part
            if name is not None:
                names.append((name, bool(spec) and not conversion and str(spec)[-1] in ",f%gde"))
                literals.append("")
        self.first = literals[0]
        self.fields = [_Field(*name, literal) for name, literal in zip(names, literals[1:], strict=True)]
        self.letters = sum(char.isalpha() for literal in literals for char in literal)
        self.longest = max(literals, key=len)

    def match(self, text: str) -> dict[str, str] | None:
        """Return the values in `text`, None where the template does not give it."""
        if self.longest not in text or not text.startswith(self.first):
            return None
        values: dict[str, str] = {}
        start = len(self.first)
        for number, field in enumerate(self.fields, start=1):
            if number == len(self.fields):
                end = len(text) - len(field.literal)
            elif field.literal:
                quoted = _QUOTED_TEXT.match(text, start)
                end = text.find(field.literal, quoted.end() if quoted else start)
            else:  # another field follows: only the end of a number is certain
                number_text = _NUMBER.match(text, start) if field.is_number else None
                end = number_text.end() if number_text else start
            if end < start or not text.startswith(field.literal, end):
                return None
            values[field.name] = value = text[start:end]
            # A template of fields alone would give any text.
            if len(value) == len(text) or (field.is_number and not _NUMBER.fullmatch(value)):
                return None
            start = end + len(field.literal)
        return values


class MessageIndex:
    """The templates of a catalogue, and the names in it that can be values."""

    def __init__(self, templates: Iterable[str], names: Iterable[str] = ()) -> None:
        self._texts = frozenset(templates)
        self._names = frozenset(names)
        with_fields = [_Template(text) for text in self._texts if "{" in text]
        self._templates = sorted(with_fields, key=lambda template: (-template.letters, template.text))
        self.recognise = lru_cache(maxsize=1024)(self._recognise)

    def _recognise(self, text: str, depth: int = DEPTH) -> RecognisedMessage | None:
        """Return the message that gives `text`: that with the most letters in its literal parts."""
        if text in self._texts:
            return RecognisedMessage(text, {})
        if len(text) > _LONGEST or " " not in text or not depth:
            return None
        for template in self._templates:
            values = template.match(text)
            if values is None:
                continue
            if template.letters >= _FEW_LETTERS:
                return RecognisedMessage(template.text, values)
            is_clear = {value: self._is_clear(value, depth - 1) for value in values.values()}
            # A word such as "to" also stands in the words of others, which can follow a message.
            is_certain = not template.letters or all(
                " " not in value or is_clear[value] for value in is_clear
            )
            if is_certain and any(is_clear.values()):
                return RecognisedMessage(template.text, values, is_weak=True)
        return None

    def _is_clear(self, value: str, depth: int) -> bool:
        """Return whether a value is certainly of judge; a short word, such as "no", can be another's."""
        is_short = value in self._texts and sum(map(str.isalpha, value)) < _FEW_LETTERS
        return value in self._names or not (is_short or self.recognise(value, depth) is None)


def is_quoted(value: str) -> bool:
    """Return whether a value is a text in quotation marks, which is from outside and no message."""
    return _QUOTED_TEXT.fullmatch(value) is not None


def split_names(value: str, *, has_spaces: bool = False) -> tuple[list[str], bool]:
    """Return the names in a list such as `a, b and c`, and whether "and" stands in it.

    Another text is one name. With `has_spaces`, names without quotes can have spaces.
    """
    if has_spaces:
        others, separator, last = value.rpartition(" and ")
        return [*others.split(", "), last] if separator else last.split(", "), bool(separator)
    names = _NAME_IN_LIST.findall(value) if _NAMES.fullmatch(value) else [value]
    return names, len(names) > 1 and f" and {names[-1]}" in value
