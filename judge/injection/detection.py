"""Detection of text that seems to address the assessor, in Chinese and English (prompt injection).

A flag never changes a grade. Text is searched as it is shown, without what it only mentions (`mentions`),
and as it reads when it is decoded (`decoding`). Comments and attributes of HTML are searched, too.
"""

import codecs
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from judge.flags import ENCODED, HIDDEN_TEXT, INSTRUCTION
from judge.injection.decoding import REVERSED, ROT13, decode
from judge.injection.lookalikes import fold_lookalikes
from judge.injection.mentions import drop_mentions
from judge.injection.model import addresses_assessor
from judge.injection.patterns import INJECTION_FORMS, InjectionForm
from judge.injection.word_patterns import list_words

#: The comments of HTML, and the attributes that hold text.
_HIDDEN_MARKUP = re.compile(
    r"<!--((?:(?!-->).){1,2000})|\b(?:alt|title|content|aria-label)\s?=\s?(?:\"([^\"<>]{1,400})\"|'([^'<>]{1,400})')",
    re.DOTALL,
)
#: Shorter stems are words when they are reversed, too.
_MIN_REVERSED = 5
_WORD = re.compile(r"[a-z0-9]+|[㐀-鿿]")
_PAIR = re.compile("[^\x00-\x7f]{2}")
#: The characters of a raw text that are searched, or twice as many as its cleaned form has.
_MAX_CHARS = 8000
# Invisible characters that encode ASCII.
_TAGS = re.compile("[\U000e0020-\U000e007e]")
# A word in these, which is no flag of a region; and letters or Chinese characters with invisible ones between
# each two. No script needs them there.
_HIDDEN_WORD = re.compile(
    "(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{3}"
    "|[\u200b-\u200d\u2060-\u2064\ufeff](?:[0-9A-Za-z㐀-鿿][\u200b-\u200d\u2060-\u2064\ufeff]+){2}"
)
# A pattern that begins with one plain character is found fast.
_BREAK_IN_CHINESE = re.compile(r"\n(?<=[㐀-鿿，、]\n) ?(?=[㐀-鿿])")
_BLANK_AND_BREAK_IN_CHINESE = re.compile(r" \n(?<=[㐀-鿿，、] \n) ?(?=[㐀-鿿])")


def detect_injection(raw: str, cleaned: str) -> tuple[str, ...]:
    """Return the sorted flags of the forms of injection in `raw` or its `cleaned` form.

    Names: instruction, fake_verdict, fake_turn, fence, overthink, secrets, hidden_text, encoded,
    persuasion. Of `raw`, only the beginning is searched.
    """
    raw = raw[: max(_MAX_CHARS, 2 * len(cleaned))]
    folded = fold_lookalikes(cleaned)
    visible = folded.lower()
    folded_raw = folded if raw == cleaned else fold_lookalikes(raw)
    raw_text = visible if folded_raw is folded else folded_raw.lower()
    if folded_raw is not raw and (hidden := "".join(_TAGS.findall(raw))):
        visible += "\n" + "".join(chr(ord(char) - 0xE0000) for char in hidden).lower()
    forms, encodings = _find_possible(visible)
    # Most raw texts have other blanks and line breaks only.
    if raw_text is not visible and raw_text.split() != visible.split():
        forms |= _find_possible(raw_text)[0]
    flags = _find_flags(forms, visible, raw_text)
    if flags:
        flags = _find_flags(forms, drop_mentions(visible), drop_mentions(raw_text))
    # Few texts have such a score, and what they mention takes long to drop.
    if not flags and addresses_assessor(visible) and addresses_assessor(drop_mentions(visible)):
        flags = {INSTRUCTION}
    if folded_raw is not raw and _HIDDEN_WORD.search(raw):
        flags.add(HIDDEN_TEXT)
    if hidden := _find_hidden_markup(raw_text) if raw_text is not visible else "":
        flags |= {HIDDEN_TEXT} if _search(hidden) else set()
    for decoded in decode(cleaned, raw, encodings):
        if more := _search(decoded):
            flags |= more | {ENCODED}
    return tuple(sorted(flags))


def _search(text: str) -> set[str]:
    """Return the flags of all forms that a text (lower case) has, or that of the model."""
    flags = _find_flags(_find_possible(text)[0], text, text)
    return flags or ({INSTRUCTION} if addresses_assessor(text) else set())


def _find_flags(forms: Collection[InjectionForm], visible: str, raw_text: str) -> set[str]:
    """Return the flags of the forms that a text has."""
    if not forms:
        return set()
    # A line break can part a sentence. Entities and invisible characters can hide a mark in the raw text.
    texts = dict.fromkeys((visible, _join_lines(visible)))
    raw_texts = dict.fromkeys((raw_text, visible))
    flags: set[str] = set()
    for form in forms:
        search = form.pattern.compiled.search
        if form.flag not in flags and any(map(search, raw_texts if form.raw else texts)):
            flags.add(form.flag)
    return flags


def _find_hidden_markup(raw_text: str) -> str:
    """Return the comments and the attributes with text of an HTML text, a line each."""
    if "<" not in raw_text:
        return ""
    return "\n".join("".join(match.groups("")) for match in _HIDDEN_MARKUP.finditer(raw_text))


def _find_possible(text: str) -> tuple[set[InjectionForm], set[str]]:
    """Return the forms that a text (lower case) may have, and the encodings that it may be in."""
    index = _make_index()
    text = _join_lines(text)
    words = list_words(text)
    keys: list[bytes | str] = [mark for mark in index.marks if mark in text]
    keys += index.words & words
    if not text.isascii():
        keys += index.pairs & {first + second for first, second in index.pair.findall(text)}
    forms = {form for key in keys for word, form in index.forms[key] if word in text}
    return (
        {form for form in forms if all(need.is_met(text, words) for need in form.pattern.needs[1:])},
        {index.encodings[word] for word in index.encoded & words},
    )


class _Index(NamedTuple):
    """The forms, each with one of its words, by a key that a text with this word has.

    A key is a whole word, two characters beyond ASCII, or one character.
    """

    forms: Mapping[bytes | str, Sequence[tuple[str, InjectionForm]]]
    words: frozenset[bytes]
    pairs: frozenset[str]
    #: The two characters of each pair.
    pair: re.Pattern[str]
    marks: Sequence[str]
    #: Words in ROT13 or REVERSED, and which of these.
    encoded: frozenset[bytes]
    encodings: Mapping[bytes, str]


@cache
def _make_index() -> _Index:
    """Return the index of all forms by the words that are needed and rarely met."""
    forms: dict[bytes | str, list[tuple[str, InjectionForm]]] = {}
    words: set[bytes] = set()
    pairs: set[str] = set()
    marks: set[str] = set()
    encodings: dict[bytes, str] = {}
    for form in INJECTION_FORMS:
        need = form.pattern.needs[0]
        for word in need.whole:
            words.add(word)
            forms.setdefault(word, []).append((word.decode(), form))
            if not form.raw:
                encodings[codecs.encode(word.decode(), "rot13").encode()] = ROT13
                if len(word) >= _MIN_REVERSED:
                    encodings[word[::-1]] = REVERSED
        for part in need.parts:
            is_pair = _PAIR.search(part)
            key = is_pair[0] if is_pair else part[0] if part.isascii() else max(part)
            (pairs if is_pair else marks).add(key)
            forms.setdefault(key, []).append((part, form))
    firsts, seconds = (re.escape("".join(sorted(chars))) for chars in map(set, zip(*pairs, strict=True)))
    pair = re.compile(f"([{firsts}])(?=([{seconds}]))")
    return _Index(
        forms, frozenset(words), frozenset(pairs), pair, sorted(marks), frozenset(encodings), encodings
    )


def _join_lines(text: str) -> str:
    """Return the text on one line, without a blank where Chinese goes on."""
    if "\n" not in text:
        return text
    if " \n" in text:
        text = _BLANK_AND_BREAK_IN_CHINESE.sub("", text)
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
