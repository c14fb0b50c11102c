"""The pool holds every pair once, and knows which snippets show one document, and which repeat it."""

import random
from operator import attrgetter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import judge
from judge.dataset.pool import build_pool, canonicalise_url, list_firsts, mark_repeated, pool_dataset
from judge.records import Dataset, Pool, Ranking, Snippet
from tests.support.cases import check_each
from tests.support.counted_text import CountedText, count_comparisons
from tests.support.datasets import describe_results, read_dataset


def pool_rows(rows: list[dict[str, object]], depth: int = 10) -> Pool:
    return build_pool(read_dataset(rows, lang="en", max_chars=400), depth)


def make_row(engine: str, snippet: str, url: str = "", **more: object) -> dict[str, object]:
    return {"query_id": "q", "query": "q", "engine": engine, "snippet": snippet, "url": url, **more}


def test_equal_texts_are_one_pair_and_depth_cuts() -> None:
    rows = [
        make_row("a", "one"),
        make_row("a", "two"),
        make_row("b", "two"),
        make_row("b", "three"),
        make_row("b", "four"),
    ]
    assert len(pool_rows(rows).pairs) == 4
    assert pool_rows(rows).results == 5
    assert sorted(pair.snippet.text for pair in pool_rows(rows, depth=1).pairs) == ["one", "two"]
    assert pool_rows(rows, depth=1).results == 2


def test_the_date_makes_no_other_pair_unless_prompts_show_it() -> None:
    days = ("2026-01-02", "3 days ago", "")
    rows = [make_row(engine, "one", title="t", date=day) for engine, day in zip("abc", days, strict=True)]
    data = read_dataset(rows, lang="en", max_chars=400)
    (pair,) = build_pool(data, 10).pairs
    assert pair.snippet.date == ""
    assert describe_results(data, 10) == []
    assert [ranking.snippets[0].date for ranking in data.rankings] == list(days)
    dated = read_dataset(rows, lang="en", max_chars=400, dates=True)
    assert sorted(pair.snippet.date for pair in build_pool(dated, 10).pairs) == sorted(days)
    (text,) = describe_results(dated, 10)
    assert text.startswith("pairs that differ from another one only in the date")


def test_the_same_text_for_two_queries_is_two_pairs() -> None:
    rows = [make_row("a", "one"), {**make_row("a", "one"), "query_id": "p", "query": "p"}]
    assert len(pool_rows(rows).pairs) == 2


def list_documents(rows: list[dict[str, object]]) -> dict[tuple[str, str], tuple[str, ...]]:
    data, _ = pool_dataset(read_dataset(rows, lang="en", max_chars=400), 10)
    return {ranking.key: ranking.documents for ranking in data.rankings}


def name_documents(rows: list[dict[str, object]]) -> dict[str, tuple[int, ...]]:
    """Return the documents of each engine as numbers, in the order in which they occur."""
    documents = {engine: names for (engine, _), names in sorted(list_documents(rows).items())}
    numbers: dict[str, int] = {}
    return {
        engine: tuple(numbers.setdefault(name, len(numbers)) for name in names)
        for engine, names in documents.items()
    }


def test_a_url_or_a_text_makes_results_one_document() -> None:
    rows = [
        make_row("a", "text of the page", "https://www.site.example/p?utm_source=x"),
        make_row("a", "second page", "https://www.site.example/second"),
        make_row("b", "another excerpt", "http://site.example/p/"),
        make_row("b", "second page", "https://mirror.example/copy"),
        make_row("b", "unrelated", "https://other.example/"),
        make_row("c", "second page"),
        make_row("c", "text of the page"),
        make_row("c", "text without a page"),
        make_row("d", "text without a page"),
        make_row("d", "", "https://mirror.example/copy#top"),
    ]
    assert name_documents(rows) == {"a": (0, 1), "b": (0, 1, 2), "c": (1, 0, 3), "d": (3, 1)}


def test_one_text_for_many_pages_does_not_join_them_in_the_lists_of_others() -> None:
    pages = [f"https://s.example/{number}" for number in range(3)]
    notice = [make_row("a", "We use cookies.", page) for page in pages]
    rows = [make_row("b", f"about {page}", page) for page in pages]
    assert name_documents([*notice, *rows]) == {"a": (0, 0, 0), "b": (0, 1, 2)}
    assert name_documents([*notice, make_row("c", "We use cookies."), *rows])["c"] == (3,)
    assert name_documents([*notice, *rows[:1]]) == {"a": (0, 0, 0), "b": (0,)}


def test_a_list_shows_a_document_again_by_its_url_or_its_text() -> None:
    rows = [
        make_row("a", "one", "https://s.example/1"),
        make_row("a", "two", "https://s.example/1"),
        make_row("a", "two", "https://s.example/2"),
        make_row("a", "three", "https://s.example/3"),
        make_row("b", "one", "https://s.example/1"),
        make_row("b", "other", "https://s.example/2"),
    ]
    assert name_documents(rows) == {"a": (0, 0, 0, 1), "b": (0, 2)}


@given(st.integers(0, 10_000))
def test_whether_a_list_has_repeats_depends_on_no_other_list(seed: int) -> None:
    generator = random.Random(seed)
    rows = [
        make_row(engine, f"text {generator.randrange(5)}", f"https://s.example/{generator.randrange(5)}")
        for engine in "abc"
        for _ in range(4)
    ]
    together = list_documents(rows)
    for engine in "abc":
        (alone,) = list_documents([row for row in rows if row["engine"] == engine]).values()
        assert mark_repeated(together[engine, "q"]) == mark_repeated(alone)


def test_a_dataset_that_names_its_documents_has_said_which_are_the_same() -> None:
    rows = [make_row("a", "x", docno="D7"), make_row("b", "x", docno="D3"), make_row("c", "y", docno="D7")]
    assert list_documents(rows) == {("a", "q"): ("D7",), ("b", "q"): ("D3",), ("c", "q"): ("D7",)}
    assert len(pool_rows(rows).pairs) == 2  # judged once all the same


@check_each(
    ("url", "canonical"),
    [
        ("HTTPS://WWW.Example.COM:443/Path/?b=2&a=1&utm_medium=x#frag", "example.com/Path?a=1&b=2"),
        ("http://example.com", "example.com"),
        ("example.com/a%7Eb", "example.com/a~b"),
        ("https://example.com:8080/", "example.com:8080"),
        ("https://example.com:80/a", "example.com/a"),
        ("http://example.com:443/a", "example.com/a"),
        ("https://例子.example/搜索?q=狗", "例子.example/%E6%90%9C%E7%B4%A2?q=%E7%8B%97"),
        ("https://example.com/?id=1", "example.com?id=1"),
        ("not a url", ""),
        ("mailto:someone@example.com", ""),
        ("javascript:alert('a.b')", ""),
        ("//example.com/a", "example.com/a"),
        ("example.com:8080/a", "example.com:8080/a"),
        ("http://www.com/", "www.com"),
        ("https://example.com/\ud800?q=\ud800", "example.com/%EF%BF%BD?q=%EF%BF%BD"),
        ("http://[::1", ""),
        ("", ""),
    ],
)
def test_canonical_urls(url: str, canonical: str) -> None:
    assert canonicalise_url(url) == canonical


@given(
    st.builds(
        "".join,
        st.tuples(
            st.sampled_from(["", "http://", "https://"]),
            st.sampled_from(["", "www.", "www.www.", "www.www..", "-."]),
            st.text("abcxyz", min_size=1, max_size=5),
            st.sampled_from([".com", ".cn", ".de"]),
            st.sampled_from(["", ":80", ":443", ":8080", ":0", ":0080"]),
            st.lists(st.text("abAB%059~.+/", max_size=6).map("/".__add__), max_size=3).map("".join),
            st.one_of(st.just(""), st.text("abz&=%+059", max_size=12).map("?".__add__)),
        ),
    )
)
def test_a_canonical_url_is_canonical(url: str) -> None:
    once = canonicalise_url(url)
    assert canonicalise_url(once) == once
    # With a fragment no URL is plain.
    assert canonicalise_url(f"{url}#") == once


@given(st.integers(0, 10_000))
def test_engines_and_their_order_leave_no_trace(seed: int) -> None:
    generator = random.Random(seed)
    rows = [
        make_row(
            engine, f"text {generator.randrange(6)}", f"https://s.example/{generator.randrange(4)}", rank=rank
        )
        for engine in "abc"
        for rank in range(1, 5)
    ]
    data = read_dataset(rows, lang="en", max_chars=400)
    shuffled = list(data.rankings)
    generator.shuffle(shuffled)
    other, other_pool = pool_dataset(Dataset(data.queries, tuple(shuffled), data.engines), 10)
    data, pool = pool_dataset(data, 10)
    assert other_pool.pairs == pool.pairs
    assert sorted(other.rankings, key=attrgetter("engine")) == list(data.rankings)


def test_a_document_counts_where_it_is_shown_first() -> None:
    snippets = tuple(Snippet(id_, id_) for id_ in "abcd")
    # The last result is below the depth of the pool.
    ranking = Ranking("engine", "q", snippets, documents=("one", "two", "one"))
    assert list_firsts(ranking) == ["a", "b", ""]
    assert list_firsts(Ranking("other", "q", ())) == []
    assert mark_repeated(["x", "x", "y", "x"]) == [False, True, False, True]


def test_the_results_of_a_long_list_are_not_compared_with_all_others() -> None:
    names = [CountedText(f"document {number // 2}") for number in range(400)]
    count_comparisons()
    assert sum(mark_repeated(names)) == 200
    assert count_comparisons() <= 2 * len(names)


def test_the_name_of_a_repeated_document_is_no_other_document_s(tmp_path: Path) -> None:
    names = {"a": ("d1", "d1", "d1#repeat2"), "b": ("d1#repeat3", "d2", "d2")}
    rows = [
        {"query": "tea", "engine": engine, "rank": rank, "docno": name, "snippet": f"tea {name}"}
        for engine in names
        for rank, name in enumerate(names[engine], start=1)
    ]
    judge.run(rows, "lexical", out=str(tmp_path))
    texts = {engine: (tmp_path / f"run.{engine}.trec").read_text(encoding="utf-8") for engine in names}
    lists = {engine: [line.split()[2] for line in text.splitlines()] for engine, text in texts.items()}
    assert lists == {"a": ["d1", "d1#repeat4", "d1#repeat2"], "b": ["d1#repeat3", "d2", "d2#repeat2"]}
