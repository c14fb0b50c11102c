"""Near-duplicates: snippets of one query that differ so little that they share one judgment.

The rule is exact and strict, because a wrong match gives a snippet the grade of another text. Two snippets
of a query match when

1. their titles, dates and flags are equal,
2. the words of their texts overlap without a gap: one text holds the other, or ends as the other begins;
   upper and lower case differ, and only quotes, brackets and the marks between words and sentences are
   ignored,
3. the overlap has at least `MIN_OVERLAP` of the characters of both texts together, and
4. no word outside the overlap is a number, has a capital letter, is a Latin word beside Chinese, expresses
   negation or contrast, is a symbol, or occurs in the query.

A similarity of n-grams would match "is safe" and "is not safe" in long texts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

from judge.characters import HAN, HAN_CHARACTER
from judge.records import Pair, PairKey

#: The least share of the overlap in the characters of both texts together.
MIN_OVERLAP = 0.9
#: Words by which other texts are found: to compare a text with all others takes too long for many results.
_MIDDLE = 8
#: One of this many characters of a text, at most, is outside the overlap.
_OUTSIDE = round(1 / (1 - MIN_OVERLAP))
_Words = tuple[str, ...]
#: The number of a pair, and the id and the words of its snippet.
_JudgedText = tuple[int, str, _Words]
#: A number with sign, separators and unit; a Chinese character; a word with hyphens, apostrophes; a symbol.
#: `re` compiles it at the first use, which takes 5 ms.
_WORD = rf"[+\-−]?\d(?:[\d.,:/\-–]*\d)?[^\W{HAN}]*|[{HAN}]|[^\W{HAN}]+(?:['’\-][^\W{HAN}]+)*|[^\w\s]"
_IGNORED = frozenset(".,;:…·|\"'“”‘’()[]、，。；：（）《》「」【】-–—")
_DECISIVE_WORDS = frozenset(
    "no not never none nor neither nothing nobody without cannot hardly barely rarely seldom unless"
    " except only but however although though yet false wrong myth untrue fake unlike instead rather"
    " fails failed lacks lack refuted denied banned avoid stop stopped impossible dangerous harmful"
    " allegedly former formerly few little half dozen twice two three four five six seven eight nine"
    " ten".split()
)
_DECISIVE_HAN = frozenset(
    "不没沒未无無非否莫勿别別禁免误誤假伪偽谣謠骗騙仅僅但却卻而两兩几幾拒反缺除停止少难難废廢"
)


def find_near_duplicates(pairs: Iterable[Pair]) -> dict[PairKey, str]:
    """Return the near-duplicates among the pairs of each query, with the id of the snippet that is judged.

    A pair matches the first pair before it that is judged itself. Therefore the result does not depend on the
    engines, and small differences do not add up.
    """
    texts_by_title: dict[tuple[object, ...], dict[_Words, list[_JudgedText]]] = {}
    judged_ids: dict[PairKey, str] = {}
    last_id = ""
    for number, pair in enumerate(pairs):
        if pair.query.id != last_id:  # the pairs of a query are neighbours
            texts_by_title.clear()
            last_id = pair.query.id
        query, snippet, words = pair.query, pair.snippet, _split_words(pair.snippet.text)
        query_words = frozenset(_split_words(query.text.lower()))
        others = texts_by_title.setdefault((_split_words(snippet.title), snippet.date, snippet.flags), {})
        for _, other_id, other in _find_candidates(words, others):
            if is_near_duplicate(words, other, query_words):
                judged_ids[pair.key] = other_id
                break
        else:
            others.setdefault(_find_middle(words), []).append((number, snippet.id, words))
    return judged_ids


def _find_candidates(words: _Words, others: Mapping[_Words, Sequence[_JudgedText]]) -> list[_JudgedText]:
    """Return those of `others`, by their middle, whose middle is in a text, in the order of the pool."""
    if not others:
        return []
    parts = {words[at : at + size] for size in (1, _MIDDLE) for at in range(len(words) - size + 1)}
    return sorted(chain.from_iterable(others[part] for part in parts & others.keys()))


def _find_middle(words: _Words) -> _Words:
    """Return words of a text that each near-duplicate of it contains: `_MIDDLE`, or 1 of a short text.

    At either end, at most one of `_OUTSIDE` characters is outside the overlap.
    """
    ends = list(accumulate(map(len, words)))
    inside = [
        at
        for at, (word, end) in enumerate(zip(words, ends, strict=True))
        if _OUTSIDE * end > ends[-1] and _OUTSIDE * (end - len(word)) < (_OUTSIDE - 1) * ends[-1]
    ]
    size = _MIDDLE if len(inside) >= _MIDDLE else 1
    start = inside[(len(inside) - size) // 2] if inside else 0
    return words[start : start + size]


def is_near_duplicate(one: _Words, other: _Words, query: frozenset[str]) -> bool:
    """Return whether texts with the words `one` and `other` match.

    `query` has the query's words in lower case.
    """
    text = "".join(one + other)
    total = len(text)
    for first, second in ((one, other), (other, one)):
        ends: list[int] = []
        for start, size in _iter_overlaps(first, second):
            ends = ends or [0, *accumulate(map(len, second))]
            length = total - 2 * ends[size]
            # The characters of the overlap are in both texts.
            if (total - length) / (total + length) >= MIN_OVERLAP:
                outside = (*first[:start], *first[start + size :], *second[size:])
                has_han = HAN_CHARACTER.search(text) is not None
                return not any(_changes_grade(word, query, beside_han=has_han) for word in outside)
    return False


def _iter_overlaps(first: _Words, second: _Words) -> Iterator[tuple[int, int]]:
    """Yield where `second`, or its beginning up to the end of `first`, is in `first`, and its size in words.

    It takes linear time (the Z function: Gusfield 1997, chapter 1).
    """
    words = (*second, "\n", *first)  # no word is a line feed
    lengths = [0] * len(words)
    left = right = 0
    for at in range(1, len(words)):
        size = min(lengths[at - left], right - at) if at < right else 0
        while at + size < len(words) and words[size] == words[at + size]:
            size += 1
        lengths[at] = size
        if at + size > right:
            left, right = at, at + size
        start = at - len(second) - 1
        if start >= 0 and size == min(len(first) - start, len(second)) > 0:
            yield start, size


def _changes_grade(word: str, query: frozenset[str], *, beside_han: bool) -> bool:
    """Return whether `word`, which is in one of two texts, may change the grade."""
    if word.lower() in query or any(map(str.isnumeric, word)):
        return True
    if HAN_CHARACTER.match(word):
        return word in _DECISIVE_HAN
    # A word without a lower case is a symbol or of a script in which names look like other words.
    if word != word.lower() or word == word.upper() or beside_han:
        return True
    return word in _DECISIVE_WORDS or word.startswith("non-") or word.endswith(("n't", "n’t"))


def _split_words(text: str) -> _Words:
    return tuple(word for word in re.findall(_WORD, text) if word not in _IGNORED)
