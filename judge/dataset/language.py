"""The language that a query is judged in: by its own script, else by what its results are written in."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from judge.characters import HAN
from judge.records import Lang, Snippet

_HAN = re.compile(f"[{HAN}]")
#: Hiragana and katakana letters; the middle dot and the long vowel mark occur in Chinese texts, too.
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_WORD = re.compile(r"[^\W\d_]+")


def detect_text_language(text: str) -> Lang | None:
    """Return the language of a text by its script; None when it has no letters.

    It is `zh` when the text has more Chinese characters than words in other letters, so that a Chinese
    text may name things in Latin letters; else `en`, which stands for all others. A text with a kana for
    every five Chinese characters or fewer is Japanese.
    """
    ideographs, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    words = len(_WORD.findall(_HAN.sub(" ", text)))
    if not ideographs + words:
        return None
    return "zh" if ideographs > words and ideographs > 5 * kana else "en"


def detect_query_language(text: str) -> Lang | None:
    """Return the language of a query by its own script; None when the script does not say.

    Chinese characters without kana make `zh`, other letters `en`. One word in Latin letters (`iPhone 15`,
    `GPT-4o`), digits and symbols are used by people of every language: they say nothing.
    """
    if _KANA.search(text):
        return "en"
    if _HAN.search(text):
        return "zh"
    plain = unicodedata.normalize("NFKC", text)
    letters = [char for char in plain if char.isalpha()]
    if any("LATIN" not in unicodedata.name(char, "") for char in letters):
        return "en"
    words = [word for word in plain.split() if any(map(str.isalpha, word))]
    return "en" if len(words) > 1 else None


def find_majority_language(snippets: Iterable[Snippet]) -> Lang:
    """Return the language of most snippets: `zh` when more of them are Chinese than are not, else `en`.

    Each text counts once, whatever engines return it and in whatever order.
    """
    texts = {(snippet.title, snippet.text) for snippet in snippets}
    counts = Counter(detect_text_language(f"{title}\n{text}") for title, text in texts)
    return "zh" if counts["zh"] > counts["en"] else "en"
