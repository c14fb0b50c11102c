"""A missing text is not an empty text: missing texts are counted and named."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judge.dataset.clean import TextOptions
from judge.dataset.dataset_warnings import describe_results_without_text
from judge.dataset.labels import select_labellable
from judge.dataset.pool import pool_dataset
from judge.dataset.rows import FIELDS, RowFormat
from judge.dataset.stored_dataset import open_dataset, store_dataset
from judge.messages import CHINESE, Message
from judge.records import Dataset
from tests.support.cases import check_each
from tests.support.datasets import describe_results, read_dataset, read_trec_dataset


def load(rows: Path | Sequence[Mapping[str, Any]]) -> Dataset:
    return read_dataset(rows, lang="auto", max_chars=400)


def describe_engines(rows: Sequence[Mapping[str, Any]]) -> list[Message]:
    """The warning about the engines most of whose results have no text."""
    row_format, options = RowFormat({}, FIELDS), TextOptions(lang="auto", max_chars=400)
    pooled = store_dataset(open_dataset(rows, row_format, options), 10, None)
    return list(describe_results_without_text(pooled.no_snippet_shares))


def read_trec(folder: Path, docs: str, run: str) -> Dataset:
    for name, content in (("t.tsv", "1\tx\n2\ty\n"), ("d.tsv", docs), ("a.run", run)):
        (folder / name).write_text(content)
    return read_trec_dataset(folder / "t.tsv", folder / "d.tsv", [folder / "a.run"], lang="en", max_chars=400)


def test_a_document_that_is_not_in_the_documents_file_is_no_empty_one(tmp_path: Path) -> None:
    docs = '{"docid": "d1", "text": "one"}\n{"docid": "d2", "text": ""}\n'
    data = read_trec(tmp_path, docs, "1 Q0 d1 1 9 A\n1 Q0 d2 2 8 A\n1 Q0 dX 3 7 A\n1 Q0 dY 4 6 A\n")
    flags = [snippet.flags for snippet in data.rankings[0].snippets]
    assert flags == [(), ("empty_snippet",), ("no_text",), ("no_text",)]
    assert len({snippet.id for snippet in data.rankings[0].snippets}) == 4


def test_missing_documents_are_counted_down_to_the_depth_and_one_is_named(tmp_path: Path) -> None:
    run = "1 Q0 d1 1 9 A\n1 Q0 dY 2 8 A\n2 Q0 dX 1 9 A\n2 Q0 dY 2 8 A\n2 Q0 dZ 3 7 A\n"
    data = read_trec(tmp_path, "d1\tone\n", run)
    (text,) = describe_results(data, 2, "d.tsv")
    assert text.startswith("results without a text in d.tsv: 3, first document 'dY' of query '1'. The")
    first = replace(data, rankings=data.rankings[:1])
    (text,) = describe_results(first, 2, "d.tsv")
    assert text.startswith("results without a text in d.tsv: 1, first document 'dY' of query '1'")
    (text,) = describe_results(data, 1, "d.tsv")
    assert "d.tsv: 1, first document 'dX' of query '2'. The" in text
    # As it is read from a file, without its template.
    assert CHINESE(str(text)).startswith("d.tsv 中没有文本的结果有 1 条，首条为查询 '2' 的文档 'dX'。")
    assert not describe_results(first, 1, "d.tsv")


def test_a_row_with_a_docno_and_no_text_is_not_called_absent() -> None:
    data = load([{"query_id": "q1", "query": "x", "docno": "d1", "snippet": None}])
    (text,) = describe_results(data, 1, "d.jsonl")
    assert "d.jsonl: 1, first document 'd1' of query 'q1'." in text


@check_each(
    ("row", "flags"),
    [
        ({"snippet": ""}, ("empty_snippet",)),
        ({"snippet": "<br>", "title": "<b></b>"}, ("empty_snippet",)),
        ({"snippet": None}, ("no_text",)),
        ({"snippet": None, "title": ""}, ("no_text",)),
        ({"snippet": float("nan"), "url": "https://x.example"}, ("no_text",)),
        ({"snippet": None, "title": "Opening hours"}, ("textless",)),
        ({"snippet": "", "title": "Opening hours"}, ("textless",)),
        ({"snippet": "<div><span></span><br/></div>", "title": "T3"}, ("textless",)),
    ],
)
def test_null_is_unknown_where_a_title_says_nothing_either(
    row: Mapping[str, Any], flags: tuple[str, ...]
) -> None:
    assert load([{"query": "q", **row}]).rankings[0].snippets[0].flags == flags


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "name", ["title", "snippet", "url", "date", "docno", "reference", "error", "engine", "query_id", "topic"]
)
def test_nan_and_infinity_are_missing_values_in_every_format(
    tmp_path: Path, name: str, number: float
) -> None:
    row = {"query": "q", "snippet": "s", "title": "t", "docno": "d", name: number}
    result = {key: row[key] for key in ("snippet", "title", "url", "date", "docno") if key in row}
    nested = {key: value for key, value in row.items() if key not in (*result, "engine", "error")}
    nested["engines"] = {"engine": [result]}
    path = tmp_path / "data.jsonl"
    for record in (row, nested):
        expected = load([json.loads(json.dumps(record), parse_constant=lambda _: None)])
        path.write_text(json.dumps(record) + "\n")
        assert load(path) == load([record]) == expected
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "data.parquet")
    assert load(tmp_path / "data.parquet") == load([row])


def test_nan_in_a_document_of_trec_is_a_missing_value(tmp_path: Path) -> None:
    docs = '{"docid": NaN, "id": "d1", "text": NaN, "title": NaN, "date": Infinity}\n'
    (snippet,) = read_trec(tmp_path, docs, "1 Q0 d1 1 9 A\n").rankings[0].snippets
    assert (snippet.raw_title, snippet.date, snippet.docno, snippet.flags) == ("", "", "d1", ("no_text",))


def test_results_without_a_text_are_no_repetitions_of_each_other() -> None:
    rows = [{"query_id": "1", "query": "q", "engine": engine, "snippet": None} for engine in "aab"]
    rows += [{**rows[0], "snippet": ""}, {**rows[0], "snippet": "text"}]
    data = load(rows)
    named, pooled = pool_dataset(data, 10)
    assert len(set(named.rankings[0].documents)) == 4
    assert len(pooled.pairs) == 5
    assert [pair.snippet.text for pair in select_labellable(pooled)] == ["text"]
    (of_engines,) = describe_engines(rows)
    assert "their share): a (50%). If the texts are in another column" in of_engines
    (output,) = describe_results(data, 10, "d.jsonl")
    assert output.startswith("results without a text in d.jsonl: 3, first rank 1 of engine 'a' of query '1'.")


def test_an_engine_whose_results_mostly_have_a_title_alone_is_named_with_their_share() -> None:
    titles = [("b", "T1", ""), ("b", "T2", ""), ("b", "T3", "text"), ("a10", "T4", ""), ("a9", "T5", "")]
    others = [("c", "T6", ""), ("c", "T7", "one"), ("c", "T8", "two"), ("c", "T9", None), ("d", "", None)]
    rows = [
        {"query": "q", "engine": engine, "title": title, "snippet": text}
        for engine, title, text in (*titles, *others)
    ]
    # Of b 2 of 3; of c 2 of 4, since a title is there; d has no result whose text is known.
    (text,) = describe_engines(rows)
    assert text.startswith(
        "results without text, except a title, of these engines (in brackets: their share): a9 (100%),"
        " a10 (100%), b (67%), c (50%). If the texts are in another column, set the option columns"
    )
    assert CHINESE(text).startswith(
        "以下引擎的部分结果除标题外没有文本（括号内为所占比例）：a9 (100%)、a10 (100%)、"
    )
    assert describe_engines(rows[-4:-2]) == []
