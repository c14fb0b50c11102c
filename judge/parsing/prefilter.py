"""Patterns that are searched only in a text that holds some words.

A text without one of the words cannot match the pattern. The search for words is many times faster than that for a
pattern of many alternatives, and most texts have none of the words. `FilteredPattern` has the methods of `re.Pattern`
that the package uses.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

#: The digits of grades, and all, as a group of words.
GRADES, DIGITS = "0|1|2|3", "0|1|2|3|4|5|6|7|8|9"


@dataclass(frozen=True, slots=True)
class FilteredPattern:
    """A pattern, and groups of words: each match has at least one word of each group, or lies beside it."""

    pattern: re.Pattern[str]
    groups: tuple[tuple[str, ...], ...]

    def may_match(self, text: str) -> bool:
        """Return True when the text holds a word of each group."""
        for words in self.groups:
            for word in words:  # a loop: `any` with a generator takes twice the time
                if word in text:
                    break
            else:
                return False
        return True

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in the text, None when there is none."""
        return self.pattern.search(text) if self.may_match(text) else None

    def finditer(self, text: str) -> Iterable[re.Match[str]]:
        """Return all matches in the text."""
        return self.pattern.finditer(text) if self.may_match(text) else ()

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return the text with each match replaced."""
        return self.pattern.sub(replacement, text) if self.may_match(text) else text


def compile_filtered(pattern: str, *groups: str) -> FilteredPattern:
    """Return a pattern and groups of words, the words of a group separated by `|`."""
    return FilteredPattern(re.compile(pattern), tuple(tuple(group.split("|")) for group in groups))
