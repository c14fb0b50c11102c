"""What is asked about: whole queries, in an order that says nothing, and nothing that gives it away."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.annotate import session
from judge.annotate.session import ShownPair
from judge.dataset.pool import build_pool, pool_dataset
from judge.errors import InputError
from judge.measure.ppi import draw_queries_to_label as draw
from judge.records import Dataset, Pair, Pool, Query, Snippet
from judge.runs.labelling_plan import make_rows, write_plan
from tests.support.cases import check_each
from tests.support.datasets import read_dataset

IDS = ["q1", "=2", "'=2", "007", "1e5", "a b", "日本 x", "1-2"]


def make_dataset(query_ids: list[str], engines: str = "ab", texts: int = 4) -> tuple[Dataset, Pool]:
    data = read_dataset(
        [
            {
                "query_id": query_id,
                "query": f"about {query_id}",
                "engine": f"engine-{engine}",
                "snippet": f"{text} {query_id} {engine}",
                "url": f"https://engine-{engine}.example/{text}",
                "docno": f"doc-{engine}-{text}",
                "reference": "the answer",
            }
            for query_id in query_ids
            for engine in engines
            for text in range(texts)
        ],
        lang="en",
        max_chars=400,
    )
    return pool_dataset(data, 10)


def list_names(result: tuple[Pair, ...]) -> list[tuple[str, str]]:
    return [pair.key for pair in result]


def test_a_query_is_finished_before_the_next_begins() -> None:
    _, pool = make_dataset(["p", "q", "r"])
    keys = [(pair.query.id, pair.snippet.id) for pair in pool.pairs]
    result = session.order_pairs(pool, sorted(keys, key=lambda key: "rpq".index(key[0])), "ann")
    assert [pair.query.id for pair in result] == ["r"] * 8 + ["p"] * 8 + ["q"] * 8
    assert sorted(list_names(result)) == sorted(keys)


def test_each_person_has_an_order_of_their_own_that_stays() -> None:
    _, pool = make_dataset(["p", "q"], texts=6)
    keys = session.draw_pairs_to_label(pool)
    ann, bob = (list_names(session.order_pairs(pool, keys, who)) for who in ("ann", "bob"))
    assert ann == list_names(session.order_pairs(pool, keys, "ann")) != bob
    assert {key for key in ann if key[0] == ann[0][0]} == {key for key in bob if key[0] == ann[0][0]}


def test_the_order_knows_neither_engine_nor_rank() -> None:
    one, other = (
        read_dataset(
            [{"query": "x", "query_id": "q", "engine": engine, "snippet": text} for text in texts],
            lang="en",
            max_chars=99,
        )
        for engine, texts in (("a", "abcdefgh"), ("z", "hgfedcba"))
    )
    orders = [
        list_names(
            session.order_pairs(build_pool(data, 9), session.draw_pairs_to_label(build_pool(data, 9)), "ann")
        )
        for data in (one, other)
    ]
    assert orders[0] == orders[1]


def test_without_a_plan_the_queries_are_those_that_agree_would_draw() -> None:
    _, pool = make_dataset([f"q{number}" for number in range(8)], engines="a", texts=2)
    query_ids = {pair.query.id for pair in pool.pairs}
    result = list(dict.fromkeys(key[0] for key in session.draw_pairs_to_label(pool, 5)))
    assert result == list(draw(sorted(query_ids), 5))
    assert set(session.draw_pairs_to_label(pool)) == {(pair.query.id, pair.snippet.id) for pair in pool.pairs}
    with pytest.raises(InputError, match="no pair to label"):
        session.draw_pairs_to_label(Pool(10, 0, ()))


def test_snippets_without_text_are_not_asked_about(tmp_path: Path) -> None:
    rows = [{"query": "x", "query_id": query, "engine": "e", "snippet": text} for query, text in
            (("p", "one"), ("p", ""), ("q", ""))]  # fmt: skip
    content = build_pool(read_dataset(rows, lang="en", max_chars=99), 9)
    ids = {(pair.query.id, pair.snippet.text): pair.snippet.id for pair in content.pairs}
    assert len(ids) == 3
    assert session.draw_pairs_to_label(content) == (("p", ids["p", "one"]),)
    path = tmp_path / "plan.csv"
    path.write_text("query_id,snippet_id\n" + "".join(f"{query},{key}\n" for (query, _), key in ids.items()))
    assert session.read_plan(path, content) == session.draw_pairs_to_label(content)


@pytest.mark.parametrize("first_line", ["", "sep={}\n"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_plan_names_its_pairs_whatever_a_spreadsheet_made_of_it(
    tmp_path: Path, separator: str, first_line: str
) -> None:
    data, pool = make_dataset(IDS)
    path = write_plan(tmp_path / "plan.csv", make_rows(data, pool, IDS[::-1]))
    text = path.read_text(encoding="utf-8-sig")
    if separator != ",":
        text = text.replace(",", separator)
    text = first_line.format(separator) + text.replace("snippet_id", " Snippet_ID ", 1)
    path.write_text(text, encoding="utf-8")
    result = session.read_plan(path, pool)
    assert set(result) == {(pair.query.id, pair.snippet.id) for pair in pool.pairs}
    assert list(dict.fromkeys(key[0] for key in result)) == IDS[::-1]


def test_rows_that_were_taken_out_of_a_plan_are_not_asked_about(tmp_path: Path) -> None:
    data, pool = make_dataset(["p", "q"])
    path = write_plan(tmp_path / "plan.csv", make_rows(data, pool, ["p", "q"]))
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    path.write_text("\n".join([lines[0], "", lines[2], lines[2], ",,,"]))
    assert len(session.read_plan(path, pool)) == 1


@check_each(
    ("text", "expected"),
    [
        ("query_id,snippet_id\np,nothing\n", "plan.csv:2: query 'p' with snippet 'nothing' is not a pair"),
        ("query_id,snippet_id\n", "contains no pair"),
        ("query,grade\nx,1\n", "needs the columns query_id and snippet_id"),
        ("", "needs the columns"),
        ("\udcff", "is not UTF-8"),
    ],
)
def test_another_file_is_refused_in_a_line(tmp_path: Path, text: str, expected: str) -> None:
    _, pool = make_dataset(["p"])
    path = tmp_path / "plan.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=expected.replace("(", r"\(")):
        session.read_plan(path, pool)
    with pytest.raises(InputError, match="no such file"):
        session.read_plan(tmp_path / "absent.csv", pool)


def test_nothing_shown_tells_engine_rank_or_address() -> None:
    data, pool = make_dataset(["p"])
    text = json.dumps([asdict(ShownPair.from_pair(pair, "2026-05-01")) for pair in pool.pairs])
    for secret in (*data.engines, "example", "doc-"):
        assert secret not in text
    one = ShownPair.from_pair(pool.pairs[0], None)
    assert one.reference == "the answer"
    assert one.today == ""
    assert asdict(one).keys() == {
        *("query_id", "snippet_id", "lang", "query", "reference", "today", "title", "date", "snippet"),
    }


def show_snippet(text: str) -> str:
    """What the page shows of a snippet of that text."""
    query = Query("q", text, text, "en", reference=text)
    return ShownPair.from_pair(Pair(query, Snippet("s", text, text, text)), text).snippet


def test_what_hides_is_made_visible_and_what_writes_is_left() -> None:
    assert show_snippet("a\u202eb\x1b[2K\u2028c") == "a\\x202eb\\x1b[2K\\x2028c"
    for text in ("می\u200cخواهم", "👩\u200d🔬 ❤\ufe0f", "क्\u200dष", "两行\n小狗", "\U0001fae8"):
        assert show_snippet(text) == text


@given(st.text())
def test_no_text_breaks_what_is_shown(text: str) -> None:
    assert not any(char in show_snippet(text) for char in "\x00\x1b\u202e\u2066\ufeff")
