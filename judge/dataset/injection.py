"""Detection of text that seems to address the assessor, in Chinese and English (prompt injection).

A flag never changes a grade. Text is searched as it is shown, without what it only mentions (`mentions`),
and as it reads when it is decoded (`decoding`). Comments and attributes of HTML are searched, too.
"""

import codecs
import re
import unicodedata
from functools import cache, lru_cache

from judge.dataset.decoding import REVERSED, ROT13, decode
from judge.dataset.grade_demands import GRADING_STEMS, urges_grade
from judge.dataset.injection_patterns import (
    INJECTION_PATTERNS,
    LOOKALIKES,
    InjectionPattern,
    compile_pattern,
    contains_any,
)
from judge.dataset.mentions import drop_mentions
from judge.flags import ENCODED, HIDDEN_TEXT, INSTRUCTION

# Blanks for all bytes but the letters a-z.
_LETTERS = bytes(byte if byte in b"abcdefghijklmnopqrstuvwxyz" else ord(" ") for byte in range(256))
#: The comments of HTML, and the attributes that hold text.
_HIDDEN_MARKUP = re.compile(
    r"<!--((?:(?!-->).){1,2000})|\b(?:alt|title|content|aria-label)\s?=\s?(?:\"([^\"<>]{1,400})\"|'([^'<>]{1,400})')",
    re.DOTALL,
)
#: Shorter stems are words when they are reversed, too.
_MIN_REVERSED = 5
#: Stands among the names of patterns for a text about grading.
_GRADING = "grading"
_WORD = re.compile(r"[a-z0-9]+|[㐀-鿿]")
#: The characters of a raw text that are searched, or twice as many as its cleaned form has.
_MAX_CHARS = 8000
# Invisible characters that encode ASCII.
_TAGS = re.compile("[\U000e0020-\U000e007e]")
# `INJECTION_PATTERNS` use these; NFKC would turn them into ASCII.
_CHINESE_MARKS = "，：；！？（）"
# Characters that folding leaves alone, whichever others are around them.
_STABLE = (
    "\x00-\x7f\u2013\u2014\u2018\u2019\u201c\u201d\u3001\u3002\u3008-\u3011\u3400-\u4dbf\u4e00-\u9fff"
    f"{_CHINESE_MARKS}\u00a1-\u00a7\u00a9\u00ab-\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf-\u00ff\u2022\u2030\u20ac\u30fb"
)
# A run is found faster by its first character.
_UNSTABLE = re.compile(f"[^{_STABLE}][^{_STABLE}]*")
# A pattern that begins with one plain character is found fast.
_BREAK_IN_CHINESE = re.compile(r"\n(?<=[㐀-鿿，、]\n) ?(?=[㐀-鿿])")
_BLANK_AND_BREAK_IN_CHINESE = r" \n(?<=[㐀-鿿，、] \n) ?(?=[㐀-鿿])"


def detect_injection(raw: str, cleaned: str) -> tuple[str, ...]:
    """Return the sorted flags of the forms of injection in `raw` or its `cleaned` form.

    Names: instruction, fake_verdict, fake_turn, fence, overthink, secrets, hidden_text, encoded,
    persuasion. Of `raw`, only the beginning is searched.
    """
    raw = raw[: max(_MAX_CHARS, 2 * len(cleaned))]
    folded = _fold_lookalikes(cleaned)
    visible = folded.lower()
    folded_raw = folded if raw == cleaned else _fold_lookalikes(raw)
    raw_text = visible if folded_raw is folded else folded_raw.lower()
    if folded_raw is not raw and (hidden := "".join(_TAGS.findall(raw))):
        visible += "\n" + "".join(chr(ord(char) - 0xE0000) for char in hidden).lower()
    triggered = _find_triggered(visible)
    # Most raw texts have other blanks and line breaks only.
    if raw_text is not visible and raw_text.split() != visible.split():
        triggered |= _find_triggered(raw_text) - {ROT13, REVERSED}
    flags = _find_flags(triggered, visible, raw_text)
    if flags:
        flags = _find_flags(triggered, drop_mentions(visible), drop_mentions(raw_text))
    if hidden := _find_hidden_markup(raw_text) if raw_text is not visible else "":
        flags |= {HIDDEN_TEXT} if _find_flags(_find_triggered(hidden), hidden, hidden) else set()
    for decoded in decode(cleaned, raw, triggered):
        if more := _find_flags(_find_triggered(decoded), decoded, decoded):
            flags |= more | {ENCODED}
    return tuple(sorted(flags))


def _find_flags(triggered: set[str], visible: str, raw_text: str) -> set[str]:
    """Return the flags of the patterns among `triggered` that match, and of an urged grade."""
    flags = {
        name.partition(":")[0]
        for name in triggered
        if name in INJECTION_PATTERNS and _matches(INJECTION_PATTERNS[name], visible, raw_text)
    }
    if _GRADING in triggered and urges_grade(visible):
        flags.add(INSTRUCTION)
    return flags


def _find_hidden_markup(raw_text: str) -> str:
    """Return the comments and the attributes with text of an HTML text, a line each."""
    if "<" not in raw_text:
        return ""
    return "\n".join("".join(match.groups("")) for match in _HIDDEN_MARKUP.finditer(raw_text))


def _fold_lookalikes(text: str) -> str:
    """Return `text` with compatibility forms (NFKC) and letters that look like Latin ones as those.

    A stable character composes only with unstable ones behind it, so each run of these is folded together
    with the character in front of it. Chinese marks stay as they are.
    """
    if text.isascii():
        return text
    pieces: list[str] = []
    end = 0
    for match in _UNSTABLE.finditer(text):
        start = match.start()
        if start > end and text[start - 1] not in _CHINESE_MARKS:
            start -= 1
        pieces += text[end:start], _fold_run(text[start : match.end()])
        end = match.end()
    return "".join([*pieces, text[end:]]) if pieces else text


@lru_cache(maxsize=8192)
def _fold_run(run: str) -> str:
    return unicodedata.normalize("NFKC", run).translate(LOOKALIKES)


def _find_triggered(text: str) -> set[str]:
    """Return the names of all patterns that can match in `text` (lower case), and perhaps of others."""
    words, marks, _ = _group_stems()
    if "\n" in text:
        text = f"{_join_lines(text)}\n"  # one of the marks
    matches = words.keys() & text.encode("ascii", "replace").translate(_LETTERS).split()
    names = {name for word in matches for name in words[word]}
    names.update(name for mark in marks if mark in text for name in marks[mark])
    if not text.isascii():
        names.update(*map(_list_patterns, set(compile_pattern(_join_stems()).findall(text))))
    return names


@cache
def _group_stems() -> tuple[dict[bytes, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """Return the names of the patterns by word, by mark in ASCII, and by other stem, the longest first."""
    words: dict[bytes, list[str]] = {}
    marks: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    pairs = [(stem, name) for name, pattern in INJECTION_PATTERNS.items() for stem in pattern.stems]
    pairs += [(stem, _GRADING) for stem in GRADING_STEMS]
    for stem, name in sorted(pairs, key=lambda pair: (-len(pair[0]), pair)):
        if len(stem) == 1 or (stem.isascii() and not stem.isalpha()):
            marks.setdefault(stem.rstrip("*"), []).append(name)
        elif not stem.isascii():
            others.setdefault(stem, []).append(name)
        else:
            words.setdefault(stem.encode(), []).append(name)
            if name != _GRADING and not INJECTION_PATTERNS[name].raw:
                words.setdefault(codecs.encode(stem, "rot13").encode(), []).append(ROT13)
                if len(stem) >= _MIN_REVERSED:
                    words.setdefault(stem[::-1].encode(), []).append(REVERSED)
    return words, marks, others


@cache
def _join_stems() -> str:
    """Return one pattern of the stems with characters beyond ASCII.

    Each place in a text is passed over by its first two characters, before the stems are tried by these two.
    """
    by_second: dict[str, dict[str, list[str]]] = {}
    for stem in _group_stems()[2]:
        by_second.setdefault(stem[1], {}).setdefault(stem[0], []).append(stem[2:])
    firsts = "".join(sorted({first for by_first in by_second.values() for first in by_first}))
    endings = []
    for second, by_first in by_second.items():
        rests = [f"(?<={first}.)(?:{'|'.join(each)})" for first, each in by_first.items()]
        endings.append(f"{second}(?:{'|'.join(rests)})")
    return f"[{firsts}](?=[{''.join(by_second)}])(?:{'|'.join(endings)})"


@cache
def _list_patterns(match: str) -> frozenset[str]:
    """Return the patterns with a stem that can begin inside `match`, where a search would pass over it."""
    # Of stems that begin with the match, it is the longest one.
    ends = [match[start:] for start in range(1, len(match))]
    return frozenset(
        name
        for stem, names in _group_stems()[2].items()
        if stem in match or any(stem.startswith(end) for end in ends)
        for name in names
    )


def _matches(pattern: InjectionPattern, visible: str, raw_text: str) -> bool:
    """Return True when a text has a trigger and a match of `pattern`; the faster search comes first."""
    if pattern.raw:
        # Entities and invisible characters can hide a mark in the raw text.
        return any(
            _has_match(pattern, text) and contains_any(pattern.triggers, text)
            for text in dict.fromkeys((raw_text, visible))
        )
    # A line break can part a sentence.
    return any(
        contains_any(pattern.triggers, text) and _has_match(pattern, text)
        for text in dict.fromkeys((visible, _join_lines(visible)))
    )


def _has_match(pattern: InjectionPattern, text: str) -> bool:
    return any(compile_pattern(expression).search(text) for expression in pattern.patterns)


def _join_lines(text: str) -> str:
    """Return the text on one line, without a blank where Chinese goes on."""
    if "\n" not in text:
        return text
    if " \n" in text:
        text = compile_pattern(_BLANK_AND_BREAK_IN_CHINESE).sub("", text)
    return _BREAK_IN_CHINESE.sub("", text).replace("\n", " ")


def is_stuffed(query: str, text: str) -> bool:
    """Return True when the words of the query are repeated and make up most of the text.

    Two occurrences are common in titles ("novel.txt, free download of novel.txt"). A title beside its text
    repeats the query, too, so each is tested alone.
    """
    wanted, text = _list_words(query), text.lower()
    if len(wanted) < 2 or any(text.count(word) < 2 for word in wanted):
        return False
    words = _WORD.findall(text)
    hits = sum(word in wanted for word in words)
    return hits >= 2.5 * len(wanted) and hits / len(words) > 0.6


@lru_cache(maxsize=64)
def _list_words(query: str) -> frozenset[str]:
    return frozenset(_WORD.findall(query.lower()))
