"""Recognise a message in its English text, such as a remark that was read from the files of a run.

Files hold messages in English, without their templates and values. A template that gives a text is found by
its literal parts; what is between them are the values. The text can be from another person, so the time grows
with its length only. A value ends where the next literal part first occurs outside quotation marks that the
value begins with.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from string import Formatter
from typing import NamedTuple

#: Fewer letters than these say too little: such a template counts only if a value in it is a message, too.
_FEW_LETTERS = 8
#: Longer texts are not messages, and messages are not deeper in each other.
_LONGEST, DEPTH = 4_000, 20
#: A value with a format such as `:,.2f`.
_NUMBER = r"[-+]?(?:[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)%?"
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


class _Template:
    """A template that begins with a literal part, followed by fields."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._literals = [""]
        #: The name of each field, and whether its value is a number.
        self._fields: list[tuple[str, bool]] = []
        for literal, name, spec, conversion in Formatter().parse(text):
            self._literals[-1] += literal  # a brace ends a part
            if name is not None:
                self._fields.append((name, bool(spec) and not conversion and str(spec)[-1] in ",f%gde"))
                self._literals.append("")
        self.letters = sum(char.isalpha() for literal in self._literals for char in literal)
        self._longest = max(self._literals, key=len)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern of the texts of the template; it never goes back to a value that has ended."""
        first, *others = map(re.escape, self._literals)
        parts = []
        for (_, is_number), literal in zip(self._fields, others, strict=True):
            if is_number:
                parts.append(f"({_NUMBER}){literal}")
            elif len(parts) == len(others) - 1:
                parts.append(f"(.*){literal}")
            else:  # where another field follows, nothing says where a value that is no number ends
                parts.append(f"(?>((?:{_QUOTED})?+.*?){literal})" if literal else "()")
        return re.compile(first + "".join(parts), re.DOTALL)

    def match(self, text: str) -> dict[str, str] | None:
        """Return the values in `text`, None where the template does not give it."""
        if self._longest not in text or not text.startswith(self._literals[0]):
            return None
        match = self._pattern.fullmatch(text)
        # A template of fields alone would give any text.
        if match is None or text in match.groups():
            return None
        return {name: value for (name, _), value in zip(self._fields, match.groups(), strict=True)}


class MessageIndex:
    """The templates of a catalogue, and the names in it that can be values."""

    def __init__(self, templates: Iterable[str], names: Iterable[str] = ()) -> None:
        self._texts = frozenset(templates)
        self._names = frozenset(names)
        with_fields = [_Template(text) for text in self._texts if "{" in text]
        self._templates = sorted(with_fields, key=lambda template: (-template.letters, template.text))
        self.recognise = lru_cache(maxsize=1024)(self._recognise)

    def _recognise(
        self, text: str, depth: int = DEPTH, is_clear: dict[str, bool] | None = None
    ) -> RecognisedMessage | None:
        """Return the message that gives `text`: that with the most letters in its literal parts.

        `is_clear` has the values in the whole text that are certainly of judge or not. Without it, the time
        would grow exponentially, because many templates give the same values.
        """
        if text in self._texts:
            return RecognisedMessage(text, {})
        if len(text) > _LONGEST or " " not in text or not depth:
            return None
        is_clear = {} if is_clear is None else is_clear
        for template in self._templates:
            values = template.match(text)
            if values is None:
                continue
            if template.letters >= _FEW_LETTERS:
                return RecognisedMessage(template.text, values)
            for value in values.values():
                if value not in is_clear:
                    is_clear[value] = value in self._names or self._is_message(value, depth - 1, is_clear)
            # A word such as "to" is also in the words of others, which can follow a message.
            is_certain = not template.letters or all(
                " " not in value or is_clear[value] for value in values.values()
            )
            if is_certain and any(is_clear[value] for value in values.values()):
                return RecognisedMessage(template.text, values, is_weak=True)
        return None

    def _is_message(self, value: str, depth: int, is_clear: dict[str, bool]) -> bool:
        """Return whether a value is a message; a short word, such as "no", can be another's."""
        if value in self._texts:
            return sum(map(str.isalpha, value)) >= _FEW_LETTERS
        return self._recognise(value, depth, is_clear) is not None


def is_quoted(value: str) -> bool:
    """Return whether a value is a text in quotation marks, which is from outside and no message."""
    return _QUOTED_TEXT.fullmatch(value) is not None


def split_names(value: str, *, has_spaces: bool = False) -> tuple[list[str], bool]:
    """Return the names in a list such as `a, b and c`, and whether "and" is in it.

    Another text is one name. With `has_spaces`, names without quotes can have spaces.
    """
    if has_spaces:
        others, separator, last = value.rpartition(" and ")
        return [*others.split(", "), last] if separator else last.split(", "), bool(separator)
    names = _NAME_IN_LIST.findall(value) if _NAMES.fullmatch(value) else [value]
    return names, len(names) > 1 and f" and {names[-1]}" in value
