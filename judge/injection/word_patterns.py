"""Patterns that are made of words, and are searched only in a text that has their words.

In the source of a pattern,

- `{ignore|disregard}` stands for one of these words; an English word is whole: no letter is beside it;
- a name in capitals stands for what a dictionary has under it, also between braces: `{IGNORE}`;
- `~12` stands for up to 12 characters of one sentence, `~~12` for up to 12 characters of one line.

All else is a regular expression in lower case. Each match has a word of each pair of braces that stands in no
round brackets. These words are needed: a text without them is not searched, and the pattern is not compiled.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from judge.injection.decoding import LOOKALIKES

_NAME = re.compile(r"[A-Z]{2}[A-Z_]*")
_GAP = re.compile(r"(~~?)([0-9]+)")
_WORDS = re.compile(r"\{(?![0-9,]+\})([^{}]*)\}")
#: Words at the beginning of a pattern, behind what only tests their surroundings.
_FIRST_WORDS = re.compile(rf"(?:\\b|\(\?<?![^()]*\))*{_WORDS.pattern}")
#: A name, braces with words, or a round bracket, which in an escape or a set of characters groups nothing.
_TOKEN = re.compile(rf"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|({_NAME.pattern}|\{{(?![0-9,]+\}})[^{{}}]*\}}|[()])")
_INNER_GROUP = re.compile(r"\([^()]*\)")
_WORDS_OR_NAME = re.compile(r"\{[^{}]*\}|\S+")
_LETTERS = re.compile("[a-z]+")
# Blanks for all bytes but the letters a-z.
_BLANKS = bytes(byte if byte in b"abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))


def contains_any(words: Sequence[str], text: str) -> bool:
    """Return whether one of `words` is a part of `text`."""
    # A loop is faster than any(…), and this runs a dozen times for every snippet.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def list_words(text: str) -> list[bytes]:
    """Return the runs of the letters a-z in a text in lower case."""
    return text.encode("ascii", "replace").translate(_BLANKS).split()


@dataclass(frozen=True, slots=True)
class Need:
    """Words of which a text must have one: English ones by their longest run of the letters a-z, and parts.

    The runs of an English word are whole in the text; a part stands anywhere.
    """

    whole: Mapping[bytes, Sequence[str]]
    parts: Sequence[str]

    def is_met(self, text: str, keys: Set[bytes | str]) -> bool:
        """Return True when a text, or the words among its `keys`, have one of these."""
        return not self.whole.keys().isdisjoint(keys) or contains_any(self.parts, text)

    def measure_shortest(self) -> int:
        """Return the length of the shortest run or part in UTF-8."""
        return min(map(len, (*self.whole, *map(str.encode, self.parts))))


@dataclass(frozen=True, eq=False)
class WordPattern:
    """A pattern as it is written, what its names stand for, and its needs; the first is rarely met."""

    source: str
    names: Mapping[str, str]
    needs: tuple[Need, ...]

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern; most are never needed, so they are not compiled at import."""
        expression = _expand(self.source, self.names)
        expression = _GAP.sub(
            lambda gap: ("[^\\n.。]" if gap[1] == "~" else "[^\\n]") + f"{{0,{gap[2]}}}?", expression
        )
        first = _FIRST_WORDS.match(expression)
        expression = _WORDS.sub(lambda words: join_words(words[1].split("|")), expression)
        if first:
            # A pattern that begins with a set of characters is found fast.
            letters = "".join(word[0] for word in first[1].split("|"))
            expression = f"[{re.escape(letters)}](?<=(?={expression}).)"
        return re.compile(expression.translate(LOOKALIKES))


def make_word_pattern(source: str, names: Mapping[str, str]) -> WordPattern:
    """Return the pattern of a source, with look-alikes of Latin letters folded as in the texts."""
    # The longer its shortest run or part is, the fewer texts meet a need.
    needs = sorted(_find_needs(source, names), key=Need.measure_shortest, reverse=True)
    return WordPattern(source, names, tuple(needs))


def _expand(source: str, names: Mapping[str, str]) -> str:
    while _NAME.search(source):
        source = _NAME.sub(lambda match: names[match[0]], source)
    return source


def _find_needs(source: str, names: Mapping[str, str]) -> Iterator[Need]:
    """Yield the need for each pair of braces that stands in no round brackets."""
    outside = " ".join(_TOKEN.findall(source))
    while "(" in outside:
        outside = _INNER_GROUP.sub("", outside)
    for token in _WORDS_OR_NAME.findall(outside):
        if token[0] == "{":
            yield make_need(_expand(token[1:-1], names).split("|"))
        else:
            yield from _find_needs(names[token], names)


def make_need(words: Iterable[str]) -> Need:
    """Return the need for one of some words, of which an English one is whole."""
    whole: dict[bytes, list[str]] = {}
    parts = []
    for word in words:
        if word.isascii() and word[0].isalpha():
            whole.setdefault(max(_LETTERS.findall(word), key=len).encode(), []).append(word)
        else:
            parts.append(word.translate(LOOKALIKES))
    return Need(whole, parts)


def join_words(words: Sequence[str]) -> str:
    """Return a regular expression for one of some words, of which an English one is whole."""
    english = [word for word in words if word.isascii() and word[0].isalpha()]
    others = "|".join(re.escape(word) for word in words if word not in english)
    if not english:
        return f"(?:{others})"
    whole = f"(?<![a-z])(?:{'|'.join(map(re.escape, english))})(?![a-z])"
    return f"(?:{whole}|{others})" if others else whole
