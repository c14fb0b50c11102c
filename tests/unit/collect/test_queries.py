"""Files of queries: every form, and what is wrong with one."""

import gzip
from pathlib import Path

import pytest

from judge.collect.query_file import read_query_file
from judge.dataset.field_values import make_query_id
from judge.errors import InputError
from tests.support.cases import check_each

TEA = make_query_id("tea")


@check_each(
    ("name", "text", "expected"),
    [
        ("q.txt", "\ufefftea\n\n 茶 \r\n", [(TEA, "tea"), (make_query_id("茶"), "茶")]),
        ("q.tsv", "a\ttea\nb\twhat ever\n", [("a", "tea"), ("b", "what ever")]),
        ("q.tsv", "query_id\tquery\na\ttea\n", [("a", "tea")]),
        ("q.tsv", "\nquery\tlang\nred tea\ten\n", [(make_query_id("red tea"), "red tea")]),
        ("q.tsv", "qid\tquery\n1\ttea\n", [("1", "tea")]),
        ("q.tsv", "Query_ID\tquery\na\ttea\n", [("a", "tea")]),
        ("q.csv", "query_id,query\ra,tea\rb,wine\r", [("a", "tea"), ("b", "wine")]),
        ("q.tsv", "q1\tquery\nq2\ttea\n", [("q1", "query"), ("q2", "tea")]),
        ("q.csv", "sep=|\nquery_id|query\na|tea, red\n", [("a", "tea, red")]),
        ("q.csv", 'query_id,query,topic\na,tea,food\n7,"red, wine",\n', [("a", "tea"), ("7", "red, wine")]),
        ("q.csv", "query;topic\r\ntea;food\r\n", [(TEA, "tea")]),
        ("q.jsonl", '{"query": "tea"}\n{"query_id": 7, "query": "红茶"}\n', [(TEA, "tea"), ("7", "红茶")]),
    ],
)
def test_forms(name: str, text: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    assert [(query.id, query.text) for query in read_query_file(tmp_path / name, pytest.fail)] == expected


def test_other_columns_are_kept_and_old_answers_are_not(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "tea", "reference": "a drink", "topic": 3, "engines": {"x": []}}\n', "utf-8")
    [query] = read_query_file(path, pytest.fail)
    assert query.row == {"query_id": TEA, "query": "tea", "reference": "a drink", "topic": 3}


@check_each(
    ("name", "text", "expected"),
    [
        ("q.xlsx", "", "unknown file type"),
        ("q.txt", "\n", "holds no queries"),
        ("q.tsv", "tea\n", "q.tsv:1: is 'tea'; a line is"),
        ("q.tsv", "a\ttea\ten\n", r"q.tsv:1: is 'a\\ttea\\ten'; .*names, such as query_id and query"),
        ("q.tsv", "a\ttea\na\twine\n", "q.tsv:2: query 'a' .* is already at .*q.tsv:1"),
        ("q.txt", "tea\ntea\n", "is already at .*; give"),
        ("q.csv", "question\ntea\n", "the header lacks 'query'"),
        ("q.csv", "Query\ntea\n", "lacks 'query'; its columns are 'Query'. Rename the columns that hold"),
        ("q.csv", "query,query\ntea,x\n", "given twice"),
        ("q.csv", "query,topic\ntea\n", "the number of cells is 1, and that of the header 2"),
        ("q.csv", "query,topic\n,food\n", "field 'query' is missing"),
        ("q.jsonl", '{"query": 3}\n', "q.jsonl:1: field 'query' is 3; every query needs visible text"),
        ("q.jsonl", '{"query": "\\u200b"}\n', "needs visible text"),
        ("q.jsonl", '{"query": "tea \\ud800"}\n', "half of a surrogate pair"),
        ("q.jsonl", '{"query": "tea", "query_id": "a/b"}\n', "field 'query_id'"),
    ],
)
def test_what_is_wrong_is_named(name: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=expected):
        read_query_file(tmp_path / name, pytest.fail)


def test_files_of_other_systems(tmp_path: Path) -> None:
    """A gzip file, UTF-16 with a mark, and GB18030, which is a guess."""
    text = "query_id,query\na,红茶的功效\n"
    (tmp_path / "q.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "wide.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "gb.csv").write_bytes(text.encode("gb18030"))
    (tmp_path / "gb.tsv").write_bytes(text.replace(",", "\t").encode("gb18030"))
    warnings: list[str] = []
    for name in ("q.csv.gz", "wide.csv", "gb.csv", "gb.tsv"):
        [query] = read_query_file(tmp_path / name, warnings.append)
        assert (query.id, query.text) == ("a", "红茶的功效"), name
    expected = "{}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong"
    assert warnings == [expected.format(tmp_path / name) for name in ("gb.csv", "gb.tsv")]


def test_nan_and_infinity_are_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"query_id": NaN, "query": "tea", "weight": NaN, "length": -Infinity}\n', encoding="utf-8"
    )
    (query,) = read_query_file(path, pytest.fail)
    assert query.id.startswith("q-")
    assert query.row == {"query_id": query.id, "query": "tea", "weight": None, "length": None}
    path.write_text('{"query": NaN}\n', encoding="utf-8")
    with pytest.raises(InputError, match="field 'query' is missing"):
        read_query_file(path, pytest.fail)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_query_file(tmp_path / "q.txt", pytest.fail)
