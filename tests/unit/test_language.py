"""The language of a query: its own script decides, and where it has none its snippets do."""

import random
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from judge.characters import detect_query_language, detect_text_language
from judge.records import Lang, LangChoice
from tests.support.cases import check_each
from tests.support.datasets import read_dataset

CHINESE = (
    "苹果公司发布的智能手机。",
    "iPhone 15 系列评测：拍照、续航和价格。",
    "arbitrary 的意思是任意的、武断的。",
)
ENGLISH = ("A phone that Apple sells.", "A song by a band.", "Based on chance (任意).")
SILENT = ("", "15 / 128 — 5999", "★★★★☆ 4.5")


def detect_lang(query: str, snippets: Iterable[str], lang: LangChoice = "auto") -> Lang:
    """The language in which a query over these snippets is judged."""
    rows = [{"query": query, "engine": "e", "snippet": snippet} for snippet in snippets]
    (result,) = read_dataset(rows, lang=lang, max_chars=400).queries.values()
    return result.lang


@check_each(
    "query",
    [
        "iPhone 15",
        "Arbitrary",
        "GPT-4o",
        "C++",
        "ｉＰｈｏｎｅ",
        "www.taobao.com",
        "Müller",
        "12306",
        "404",
        "2+2=?",
        "😀",
        "100%",
    ],
)
def test_a_query_without_a_script_of_its_own_goes_by_its_snippets(query: str) -> None:
    assert detect_query_language(query) is None
    assert detect_lang(query, CHINESE) == "zh"
    assert detect_lang(query, ENGLISH) == "en"
    assert detect_lang(query, [*CHINESE, *ENGLISH[:2], *SILENT]) == "zh"
    assert detect_lang(query, [*CHINESE[:2], *ENGLISH, *SILENT]) == "en"
    assert detect_lang(query, [*CHINESE, *ENGLISH]) == "en"
    assert detect_lang(query, SILENT) == "en"


@check_each(
    ("query", "lang"),
    [
        ("小狗贫血", "zh"), ("iPhone 15 价格", "zh"), ("404 是什么", "zh"), ("龘", "zh"),
        ("dog anaemia", "en"), ("nginx 502 error", "en"), ("a b", "en"),
        ("犬の貧血とは", "en"), ("ラーメン", "en"), ("안녕", "en"), ("погода", "en"), ("π", "en"),
    ],
)  # fmt: skip
def test_a_script_of_its_own_decides_whatever_the_snippets_are(query: str, lang: Lang) -> None:
    assert detect_query_language(query) == lang
    assert detect_lang(query, CHINESE) == detect_lang(query, ENGLISH) == lang


def test_a_language_that_is_asked_for_holds_for_every_query() -> None:
    for query in ("iPhone 15", "小狗贫血", "dog anaemia", "404"):
        for lang in ("zh", "en"):
            assert {detect_lang(query, texts, lang) for texts in (CHINESE, ENGLISH)} == {lang}


@check_each(
    ("text", "lang"),
    [
        ("牙龈发白。", "zh"), ("iPhone 的价格", "zh"), ("pale gums", "en"), ("a song named 红豆", "en"),
        ("東京駅は日本の駅です", "en"), ("서울 날씨", "en"), ("15 / 128", None), ("", None),
    ],
)  # fmt: skip
def test_the_language_of_a_text_is_the_one_it_has_more_of(text: str, lang: Lang | None) -> None:
    assert detect_text_language(text) == lang


def test_titles_count_and_a_text_that_two_engines_return_counts_once() -> None:
    rows: list[dict[str, Any]] = [
        {"query": "Arbitrary", "engine": "a", "snippet": ENGLISH[0]},
        *({"query": "Arbitrary", "engine": name, "snippet": ENGLISH[0]} for name in "bcd"),
        {"query": "Arbitrary", "engine": "e", "snippet": "4.5", "title": "任意的意思"},
        {"query": "Arbitrary", "engine": "e", "snippet": CHINESE[2]},
    ]
    (query,) = read_dataset(rows, lang="auto", max_chars=400).queries.values()
    assert query.lang == "zh"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([*CHINESE, *ENGLISH, *SILENT])), min_size=1),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_and_the_names_of_engines_do_not_matter(
    results: list[tuple[str, str]], chance: random.Random
) -> None:
    def detect_one(given: list[tuple[str, str]]) -> Lang:
        rows = [{"query": "Arbitrary", "engine": engine, "snippet": text} for engine, text in given]
        (query,) = read_dataset(rows, lang="auto", max_chars=400).queries.values()
        return query.lang

    shuffled = chance.sample(results, len(results))
    names = dict(zip("abc", chance.sample("abc", 3), strict=True))
    assert (
        detect_one(results)
        == detect_one(shuffled)
        == detect_one([(names[engine], text) for engine, text in results])
    )
    distinct = {text for _, text in results}
    chinese, english = (sum(text in some for text in distinct) for some in (CHINESE, ENGLISH))
    assert detect_one(results) == ("zh" if chinese > english else "en")
