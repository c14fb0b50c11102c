"""A tolerant JSON reader.

It accepts any quote style, full-width punctuation, raw line breaks in strings, trailing commas, bare words
and missing closers at the end of the text. Every string must still end where the grammar requires it: an
object with a quote at the wrong place is not read here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from judge.parsing.vocabulary import flatten, unescape

#: The mark of a Markdown fence, with the language behind the first one.
FENCE = r"(?:```|~~~)\w{0,10}"
_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_STRING = re.compile(
    r'"([^"\\]*(?:\\.[^"\\]*)*)"'
    r"|'([^'\\]*(?:\\.[^'\\]*)*)'"
    r"|[“”„＂]([^“”„＂\\]*(?:\\.[^“”„＂\\]*)*)[“”„＂]"
    r"|[‘’＇]([^‘’＇\\]*(?:\\.[^‘’＇\\]*)*)[‘’＇]",
    re.DOTALL,
)
_BARE = re.compile(r"[-+.]?[0-9][\w.+\-/%]*|[A-Za-z_]\w*|[\u4e00-\u9fff]{1,6}|<[^<>\"{}/]{1,40}>")
_END = re.compile(r"(?:```|~~~)?\s*\Z")
#: Braces in prose that only group words, as in "the set {1, 2}" or "{query}".
PROSE_BRACES = re.compile(r"\{[^{}\"'“”„＂‘’＇:\\]{1,80}\}")
#: A template's escape that a model copied: "{{" for "{".
_DOUBLED = re.compile(r"\{(?=\s{0,8}\{\s{0,8}[^{\s])")
#: A longer bare word of Chinese is prose; "不相关" is the longest value.
_LONGEST_WORD = 3
_MAX_DEPTH = 16
_MAX_NODES = 4_000


@dataclass(frozen=True, slots=True)
class JsonText:
    """A string, or a bare word or number as it was written."""

    value: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The members of an object in the order written, duplicates included, and where it is in the text.

    `unended` is True when the text stopped right behind the last value, with no delimiter, or with a comma
    behind a bare value, which could have become a decimal comma.
    """

    pairs: tuple[tuple[str, Node], ...]
    start: int
    end: int
    unended: bool


Node = JsonText | JsonObject | list["Node"]


@dataclass(frozen=True, slots=True)
class Scan:
    """The readable objects of a text, and where reading broke off (None: nowhere)."""

    objects: tuple[JsonObject, ...]
    broken: int | None

    def list_gaps(self, size: int) -> list[tuple[int, int]]:
        """Return the stretches of a text of `size` characters before, between and after the objects."""
        edges = [0, *(edge for each in self.objects for edge in (each.start, each.end)), size]
        return list(zip(edges[::2], edges[1::2], strict=True))


class _SyntaxBroken(Exception):
    """The text leaves the grammar."""


def is_strict(text: str) -> bool:
    """Return True when the standard JSON grammar reads the text as it is."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# The search for the final answer scans a reply, then what is parsed is mostly the same text.
@lru_cache(maxsize=1)
def scan_objects(text: str) -> Scan:
    """Return the objects of a text from left to right, up to the first one that cannot be read."""
    reader = _Reader(text)
    objects: list[JsonObject] = []
    position = 0
    while (brace := reader.flat.find("{", position)) >= 0:
        try:
            reader.count()
            if aside := PROSE_BRACES.match(reader.flat, brace) or _DOUBLED.match(reader.flat, brace):
                position = aside.end()
                continue
            objects.append(reader.read_object(brace, 0))
        except _SyntaxBroken:
            return Scan(tuple(objects), brace)
        position = objects[-1].end
    return Scan(tuple(objects), None)


class _Reader:
    """Reads one text. Each method takes a position and returns what is there and where it ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.flat = flatten(text)
        self._nodes = 0

    def count(self) -> None:
        """Count one node; stop when a text holds more nodes than a reply would."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise _SyntaxBroken

    def skip(self, position: int) -> int:
        match = _SPACE.match(self.flat, position)
        return match.end() if match else position

    def read_object(self, brace: int, depth: int) -> JsonObject:
        """Return the object that begins with a brace."""
        pairs, end, unended = self._read_parts(brace + 1, depth, "}")
        return JsonObject(tuple(pairs), brace, end, unended)

    def _read_parts(self, position: int, depth: int, closer: str) -> tuple[list[tuple[str, Node]], int, bool]:
        """Return the parts up to `closer`, items under an empty key, and whether the text may end early."""
        parts: list[tuple[str, Node]] = []
        while True:
            position = self.skip(position)
            if self.flat.startswith(closer, position):
                return parts, position + 1, False
            if parts and _END.match(self.flat, position):
                last = parts[-1][1]
                return parts, len(self.flat), isinstance(last, JsonText) and not last.quoted
            key = JsonText("", quoted=False)
            if closer == "}":
                key, position = self._read_text(position)
                position = self.skip(position)
                if not self.flat.startswith(":", position):
                    raise _SyntaxBroken
                position = self.skip(position + 1)
            value, position = self._read_value(position, depth)
            parts.append((key.value, value))
            after = self.skip(position)
            if self.flat.startswith((",", closer), after):
                position = after + self.flat.startswith(",", after)
                continue
            # A bare number that touches the end of the text may have been longer.
            is_whole = not isinstance(value, JsonText) or value.quoted
            if (is_whole or self.flat.startswith(("```", "~~~"), after)) and _END.match(self.flat, after):
                return parts, len(self.flat), True
            raise _SyntaxBroken

    def _read_value(self, position: int, depth: int) -> tuple[Node, int]:
        self.count()
        if depth > _MAX_DEPTH:
            raise _SyntaxBroken
        if self.flat.startswith("{", position):
            node = self.read_object(position, depth + 1)
            return node, node.end
        if self.flat.startswith("[", position):
            items, position, _ = self._read_parts(position + 1, depth + 1, "]")
            return [item for _, item in items], position
        text, end = self._read_text(position)
        if not text.quoted and not text.value.isascii() and len(text.value) > _LONGEST_WORD:
            raise _SyntaxBroken
        return text, end

    def _read_text(self, position: int) -> tuple[JsonText, int]:
        if match := _STRING.match(self.flat, position):
            start, end = match.span(match.lastindex or 0)
            return JsonText(unescape(self.text[start:end]), quoted=True), match.end()
        match = _BARE.match(self.flat, position)
        if match and not match[0].endswith("."):  # no number ends with its point: digits may be missing
            return JsonText(match[0], quoted=False), match.end()
        raise _SyntaxBroken
