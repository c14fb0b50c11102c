"""Near-duplicates: which texts share a judgment, and which never do."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.dataset.near_duplicates import MIN_OVERLAP, find_near_duplicates, is_near_duplicate
from judge.records import Pair, Query, Snippet
from tests.support.cases import check_each, count_examples
from tests.support.counted_calls import count_calls
from tests.support.scaling import MOST, measure_growth

QUERY = Query("q", "signs of anaemia in a puppy", "", "en")
#: 57 characters without spaces and marks.
TEXT = "Pale gums are a sign of anaemia in puppies, and so is a fast pulse at rest."
HAN_TEXT = (
    "幼犬贫血的常见表现包括牙龈发白、舌头颜色变淡、精神差、食欲差，走几步就会气喘，严重的时候会晕倒在地上。"
)


def make_snippet(snippet_id: str, text: str, title: str = "", flags: tuple[str, ...] = ()) -> Snippet:
    return Snippet(snippet_id, text, title, flags=flags)


def make_pairs(*snippets: Snippet, query: Query = QUERY) -> list[Pair]:
    return [Pair(query, each) for each in snippets]


def match(a: str, b: str, query: Query = QUERY) -> bool:
    """Whether the texts match, which must not depend on their order."""
    matches = {
        bool(find_near_duplicates(make_pairs(make_snippet("1", x), make_snippet("2", y), query=query)))
        for x, y in ((a, b), (b, a))
    }
    assert len(matches) == 1
    return matches.pop()


TEN_WORDS = " ".join(f"{letter * 10}" for letter in "abcdefghij")


@check_each(
    ("one", "other"),
    [
        (TEXT, "“Pale gums” are a sign of anaemia in puppies – and so is a fast pulse at rest …"),
        (TEXT, TEXT.removesuffix(" rest.")),  # 53 of 57 characters
        (TEXT, "also " + TEXT),  # 57 of 61
        (TEN_WORDS, TEN_WORDS.removesuffix(" jjjjjjjjjj")),  # 90 of 100
        (f"x {TEN_WORDS}", f"{TEN_WORDS} y"),  # 100 of 102: one begins earlier, one ends later
        (HAN_TEXT, HAN_TEXT.removesuffix("地上。") + "……"),
    ],
)
def test_texts_that_hardly_differ_match(one: str, other: str) -> None:
    assert match(one, other)


@check_each(
    ("one", "other"),
    [
        (TEXT, TEXT.removesuffix("at rest.")),  # 51 of 57 characters
        (TEN_WORDS, TEN_WORDS.removesuffix(" jjjjjjjjjj") + " k"),  # another word instead
        (TEXT, TEXT.replace("are a", "are no")),
        (TEXT, TEXT.replace("fast", "slow")),
        (TEXT, TEXT.replace("Pale", "pale")),
        (TEXT, TEXT.replace("Pale gums", "gums Pale")),
        (TEXT, TEXT.removeprefix("Pale ")),  # a capital letter
        (TEXT, TEXT + " 3"),
        (TEXT, TEXT + " 2½"),
        (TEXT, TEXT + " not"),
        (TEXT, TEXT + " but"),
        (TEXT, TEXT + " isn't"),
        (TEXT, TEXT + " seldom"),
        (TEXT, TEXT + " twice"),
        (TEXT, TEXT + " non-urgent"),
        (TEXT, TEXT + " ?"),
        (TEXT, TEXT + " puppy"),  # a word of the query
        (TEXT, TEXT + " ไทย"),  # no upper and lower case
        (f"{TEXT} Since 2019", f"{TEXT} Since 2020"),
        (f"{TEXT} 3.5 mg", f"{TEXT} 3,5 mg"),
        (f"{TEXT} 3.5 mg", f"{TEXT} 35 mg"),
        (f"{TEXT} -5", f"{TEXT} 5"),
        (f"{TEXT} C++", f"{TEXT} C"),
        (HAN_TEXT, HAN_TEXT + "三"),
        (HAN_TEXT, HAN_TEXT + "不"),
        (HAN_TEXT, HAN_TEXT + "，無效"),
        (HAN_TEXT, HAN_TEXT + "，已被证伪"),
        (HAN_TEXT, "但" + HAN_TEXT),
        (HAN_TEXT, HAN_TEXT + "iphone"),
        (HAN_TEXT, HAN_TEXT.replace("常见", "罕见")),
        (HAN_TEXT, HAN_TEXT.replace("发白", "不发白")),
        ("", "…"),
    ],
)
def test_texts_with_a_difference_that_may_count_do_not_match(one: str, other: str) -> None:
    assert not match(one, other)


def test_titles_flags_and_queries_must_be_equal() -> None:
    other = TEXT.removesuffix(" rest.")
    for one, two in (
        (make_snippet("1", TEXT, "Gums"), make_snippet("2", other, "Pulse")),
        (make_snippet("1", TEXT), make_snippet("2", other, flags=("addresses_grader",))),
    ):
        assert not find_near_duplicates(make_pairs(one, two))
    pairs = (Pair(QUERY, make_snippet("1", TEXT)), Pair(replace(QUERY, id="r"), make_snippet("2", other)))
    assert not find_near_duplicates(pairs)


def test_small_differences_do_not_add_up() -> None:
    texts = [TEXT, "also " + TEXT, "and also " + TEXT]  # 57 of 61 match, 61 of 64 would, 57 of 64 do not
    result = find_near_duplicates(
        make_pairs(*(make_snippet(str(number), text) for number, text in enumerate(texts)))
    )
    assert result == {("q", "1"): "0"}


WORDS = ["a", "of", "rest", "pulses", "x" * 30]


@settings(max_examples=count_examples(60))
@given(
    st.lists(st.sampled_from(WORDS), max_size=40),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from(["", *WORDS])), max_size=12),
)
def test_no_near_duplicate_is_missed(words: list[str], cuts: list[tuple[int, int, str]]) -> None:
    """Parts of one text are compared with all earlier ones, which are those that have no match."""
    parts = [
        " ".join(words),
        *(" ".join([more, *words[start : max(0, len(words) - end)]]) for start, end, more in cuts),
    ]
    texts = [tuple(part.split()) for part in parts]
    expected: dict[str, str] = {}
    for at, text in enumerate(texts):
        judged = (str(other) for other in range(at) if str(other) not in expected)
        matching = (each for each in judged if is_near_duplicate(text, texts[int(each)], frozenset()))
        if (first := next(matching, None)) is not None:
            expected[str(at)] = first
    query = replace(QUERY, text="?")
    snippets = [make_snippet(str(at), part) for at, part in enumerate(parts)]
    judged_ids = find_near_duplicates(make_pairs(*snippets, query=query))
    assert judged_ids == {("q", at): other for at, other in expected.items()}


def test_a_text_is_not_compared_with_all_results_of_its_query() -> None:
    draw = random.Random(1)
    texts = [" ".join(draw.choices(TEXT.split(), k=40)) for _ in range(200)]
    snippets = [make_snippet(str(at), text) for at, text in enumerate([*texts, texts[7] + " at"])]
    with count_calls(is_near_duplicate) as calls:
        assert find_near_duplicates(make_pairs(*snippets)) == {("q", "200"): "7"}
    assert calls[0] < len(snippets)


def _matches_by_definition(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Rules 2 and 3, by trying every place: the first overlap that is long enough decides."""
    for first, second in ((a, b), (b, a)):
        for start in range(len(first) if second else 0):
            size = min(len(first) - start, len(second))
            if first[start : start + size] != second[:size]:
                continue
            outside = (*first[:start], *first[start + size :], *second[size:])
            total, length = len("".join(a + b)), len("".join(outside))
            if (total - length) / (total + length) >= MIN_OVERLAP:
                return "not" not in outside
    return False


_FEW_WORDS = st.lists(st.sampled_from(["a", "bb", "not"]), max_size=40).map(tuple)


@given(_FEW_WORDS, st.integers(0, 3), st.integers(0, 3), _FEW_WORDS)
def test_overlaps_are_those_that_trying_every_place_gives(
    words: tuple[str, ...], before: int, behind: int, others: tuple[str, ...]
) -> None:
    part = words[before : len(words) - behind]
    for a, b in ((words, part), (part + words[:2], words), (words, others)):
        assert is_near_duplicate(a, b, frozenset()) == _matches_by_definition(a, b)


@pytest.mark.parametrize("piece", ["的", "a ", "a b "])
def test_texts_that_repeat_a_word_take_linear_time(piece: str) -> None:
    def make(times: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        words = tuple(piece.split()) * times
        return (*words, "x"), ("y", *words)

    assert measure_growth(lambda texts: is_near_duplicate(*texts, frozenset()), make, 20_000) < MOST
