"""Owns making hostile text fit to be read on a page: cut, with nothing hidden in it, and set apart.

What comes out is still text, to be escaped where it enters the page.
"""

from __future__ import annotations

from collections.abc import Iterator

from judge.dataset.clean import escape_controls
from judge.dataset.text_cleaning import drop_invisible, has_invisible

#: Unicode's own marks around a name that must not turn the direction of what stands beside it.
ISOLATE, END = "\u2068", "\u2069"
_JOINERS = "\u200c\u200d"
# Blanks of other widths (Unicode's category Zs), which hide nothing.
_BLANKS = frozenset("\t\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))


def legible(text: str) -> str:
    """`text` with every control and hidden character shown as an escape.

    Line breaks stay, and so do blanks of every width, the joiners that emoji and some scripts need, and
    emoji that are newer than Python.
    """
    if all(map(str.isprintable, text.split("\n"))) and not has_invisible(text):
        return text
    return "".join(_shown(char, kept) for char, kept in _marked(text))


def _marked(text: str) -> Iterator[tuple[str, bool]]:
    """Every character, and whether it is more than something hidden."""
    seen = iter(drop_invisible(text)[0])
    following = next(seen, "")
    for char in text:
        kept = char == following
        if kept:
            following = next(seen, "")
        yield char, kept


def _shown(char: str, kept: bool) -> str:
    if not kept:
        return f"\\x{ord(char):02x}"
    if char in _BLANKS:
        return " "
    return char if char in _JOINERS or "\U0001f000" <= char <= "\U0001faff" else escape_controls(char)


def cut(text: str, most: int) -> tuple[str, int]:
    """The first `most` characters of `text`, legible, and how many more there are."""
    return legible(text[:most]), max(0, len(text) - most)


def short(text: str, most: int) -> str:
    """`text` legible and at most `most` characters long, with an ellipsis where it goes on."""
    shown, more = cut(text, most)
    return f"{shown}…" if more else shown


def name(text: str) -> str:
    """A name on one line: an engine's, a column's, a run's."""
    return short(text, 200).replace("\n", "\\n")


def isolated(text: str) -> str:
    """A name as it stands in a sentence, between marks that keep its direction to itself."""
    return f"{ISOLATE}{name(text)}{END}"
