"""Patterns that are compiled when they are needed, and searched only in a text that has their words.

Each match of a pattern has some words, which are read off the pattern: a text without them is not searched. The search
for words is many times faster than that for a pattern of many alternatives, and most texts have none of them.
`FilteredPattern` has the methods of `re.Pattern` that the package uses.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

#: More words take longer than the pattern.
_MOST_WORDS = 80
_REPEAT = r"(?P<repeat>(?:[*+?]|\{[0-9]+,?[0-9]*\})[+?]?)"
#: A set of characters, what else stands for other characters than itself, and a character that is repeated.
_NO_LITERAL = re.compile(
    rf"(?s)\\(?P<mark>[?])(?![*+?{{])|(?:\[(?P<set>\^?\]?(?:\\.|[^\]\\])*)\]|\\.|[.^$]){_REPEAT}?"
    rf"|(?P<group_end>\){_REPEAT.replace('repeat', 'of_group')})|(?P<literal>[^()|]){_REPEAT.replace('repeat', 'often')}"
)
_INNER_GROUP = re.compile(rf"\((?P<kind>\?(?:P<\w+>|<?[=!]|[a-z]*:|>|[a-z]+))?(?P<body>[^()]*)\){_REPEAT}?")
_MAYBE_NONE = ("*", "?", "{0")
_RANGE = re.compile(r"([0-9])-([0-9])")
#: Characters for private use stand for groups of words, a line break for anything.
_WORD_OR_GROUP = re.compile("[\ue000-\uf8ff]|[^\n\ue000-\uf8ff]{2,}|[0-9?:='’]|[^\\s\x00-\x7f\ue000-\uf8ff]")


@dataclass(frozen=True, eq=False)
class FilteredPattern:
    """A pattern with its flags in front of it."""

    source: str

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.source)

    @cached_property
    def groups(self) -> Sequence[Sequence[str]]:
        """Groups of words: each match has a word of each group, or lies beside it."""
        groups = [] if re.match(r"\(\?[a-z]*i", self.source) else _find_words(self.source)
        return [sorted(group) for group in groups if len(group) <= _MOST_WORDS]

    def may_match(self, text: str) -> bool:
        """Return True when the text has a word of each group."""
        for words in self.groups:
            for word in words:  # a loop: `any` with a generator takes twice the time
                if word in text:
                    break
            else:
                return False
        return True

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in the text, None when there is none."""
        return self.compiled.search(text) if self.may_match(text) else None

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the match that begins at `start`, None when there is none."""
        return self.compiled.match(text, start)

    def finditer(self, text: str) -> Iterable[re.Match[str]]:
        """Return all matches in the text."""
        return self.compiled.finditer(text) if self.may_match(text) else ()

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """Return the text with each match replaced."""
        return self.compiled.sub(replacement, text) if self.may_match(text) else text


def _find_words(source: str) -> list[frozenset[str]]:
    """Return groups of words of which each match of a pattern has one each."""
    groups: dict[str, list[frozenset[str]]] = {}

    def choose_words(body: str) -> list[frozenset[str]]:
        alternatives = [
            [
                group
                for part in _WORD_OR_GROUP.findall(each)
                for group in groups.get(part) or [frozenset((part,))]
            ]
            for each in body.split("|")
        ]
        if len(alternatives) == 1 or not all(alternatives):
            return alternatives[0] if len(alternatives) == 1 else []
        # The longer its shortest word is in UTF-8, the fewer texts have a word of a group.
        best = (
            max(each, key=lambda group: min(len(word.encode()) for word in group)) for each in alternatives
        )
        words = frozenset[str]().union(*best)
        return [frozenset(word for word in words if not any(part in word for part in words - {word}))]

    def replace_group(match: re.Match[str]) -> str:
        kind, repeat = match["kind"] or "", match["repeat"] or ""
        is_part = kind in ("", "?:", "?>", "?m:") or kind.startswith("?P")
        words = choose_words(match["body"]) if is_part and not repeat.startswith(_MAYBE_NONE) else []
        name = chr(0xE000 + len(groups))
        groups[name] = words
        return name if words else "\n"

    flat = _NO_LITERAL.sub(_replace_no_literal, source)
    while "(" in flat:
        flat = _INNER_GROUP.sub(replace_group, flat)
    return choose_words(flat)


def _replace_no_literal(match: re.Match[str]) -> str:
    """Return a small set as alternatives, a character that is repeated, and a line break for anything else."""
    if match["mark"] or match["group_end"]:
        return match["mark"] or match[0]
    if match["literal"]:
        return "\n" if match["often"].startswith(_MAYBE_NONE) else f"{match['literal']}\n"
    members = match["set"] or ""
    if digits := _RANGE.fullmatch(members):
        members = "".join(map(str, range(int(digits[1]), int(digits[2]) + 1)))
    elif not members or members.isascii() or not re.fullmatch(r"[^\\^()|-]{1,12}", members):
        return "\n"
    return f"(?:{'|'.join(members)}){match['repeat'] or ''}"
