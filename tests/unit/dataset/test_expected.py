"""Expected documents of a dataset as labels, and the measures of LlamaIndex on them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import judge
from judge.dataset.labels import label_expected
from judge.dataset.pool import pool_dataset
from judge.errors import InputError
from tests.support.cases import check_each
from tests.support.datasets import read_dataset


def make_row(
    docno: str = "", url: str = "", snippet: str | None = "text", **fields: object
) -> dict[str, Any]:
    return {"query_id": "q", "query": "a query", "docno": docno, "url": url, "snippet": snippet, **fields}


def label(rows: Sequence[dict[str, Any]], depth: int = 10) -> tuple[list[int], int | None]:
    """The grades in the order of the rows, and the number of expected documents not returned."""
    dataset, _ = pool_dataset(read_dataset(rows, lang="en", max_chars=4000, expected=True), depth)
    labels = label_expected(dataset)
    (ranking,) = dataset.rankings
    return [labels.grades["q", snippet.id] for snippet in ranking.snippets[:depth]], labels.unreturned


def test_documents_match_by_docno_and_by_page() -> None:
    expected = ["d1", "https://a.example/b/?utm_source=x", "d9", "http://a.example/c", "https://a.example/c/"]
    rows = [
        make_row("d1", snippet="one", expected=expected),
        make_row(url="http://www.a.example/b", snippet="two"),
        make_row("d2", snippet="three"),
    ]
    assert label(rows) == ([1, 1, 0], 2)
    assert label(rows, depth=1) == ([1], 3)


@check_each(
    ("value", "grades"),
    [
        ("d1 d2", [1, 1]),
        ('["d2"]', [0, 1]),
        ("[]", [0, 0]),
        ([], [0, 0]),
        ("d1", [1, 0]),
        (["d1", 7], [1, 0]),
    ],
)
def test_a_cell_is_a_list_or_names(value: object, grades: list[int]) -> None:
    assert label([make_row("d1", snippet="one", expected=value), make_row("d2", snippet="two")])[0] == grades


@check_each(
    ("rows", "message"),
    [
        (
            [make_row("d1"), make_row("d2", expected="")],
            "1 of 1 queries have no field 'expected', first query 'q'",
        ),
        ([make_row("d1", expected={"d1": 1})], "row 1: field 'expected' is {'d1': 1}, not a list of docnos"),
        ([make_row("d1", expected=[1.5])], "not a list of docnos"),
        ([make_row("d1", expected="d1"), make_row("d2", expected="d2")], "a query has one value of it"),
        (
            [make_row("d1", snippet="", expected="d1"), make_row("d2", snippet="")],
            "results without a text show an expected document and another one",
        ),
    ],
)
def test_unclear_rows_are_refused(rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError) as error:
        label(rows)
    assert message in str(error.value)


def test_for_other_models_the_column_is_like_any_other() -> None:
    rows = [make_row("d1", expected=3), make_row("d2", expected=[{"any": "thing"}])]
    (query,) = read_dataset(rows, lang="en", max_chars=4000).queries.values()
    assert query.expected is None


def test_a_text_that_an_expected_document_shares_with_another_one_is_a_warning() -> None:
    rows = [make_row("d1", expected="d1"), make_row("d7"), make_row("d8", snippet="other")]
    dataset, _ = pool_dataset(read_dataset(rows, lang="en", max_chars=4000, expected=True), 10)
    labels = label_expected(dataset)
    assert labels.warnings == (
        "results that are not expected and show the text of an expected document count as relevant: 1, the"
        " first is 'd7' of query 'q'; equal texts are one pair",
    )
    dataset, _ = pool_dataset(read_dataset(rows[::2], lang="en", max_chars=4000, expected=True), 10)
    assert not label_expected(dataset).warnings


def test_unknown_texts_are_labelled_each_for_itself() -> None:
    assert label([make_row("d1", snippet=None, expected="d1"), make_row("d2", snippet=None)])[0] == [1, 0]


_MEASURES = "Success@10 R RR RR(granular) SetP AP nDCG nDCG(dcg='exp-log2')"
#: Expected and retrieved documents, and the values of `_MEASURES`: those of the tests of LlamaIndex
#: (llama-index-core/tests/evaluation/test_metrics.py), None where it has no test; the last is one of its
#: documentation.
_LLAMAINDEX: list[tuple[str, str, list[float | None]]] = [
    ("1 2 3", "3 1 2 4", [1, 1, 1, 0.6111111111, 0.75, 1, 1, 1]),
    ("1 2 3 4", "1 5 2", [None, 0.5, None, None, None, None, None, None]),
    ("1 2", "3 4", [0, 0, 0, None, 0, 0, 0, None]),
    ("1 2", "2 1 7", [None, 1, 1, None, 0.6666666667, 1, 1, None]),
    ("1 2 3 4", "5 1", [None, 0.25, 0.5, None, 0.5, 0.125, 0.2463023887, None]),
    ("1 2 3 4", "1 2 5", [None, 0.5, None, 0.75, 0.6666666667, 0.5, None, 0.6366824387]),
    ("1 2", "1 7 15 2", [None, 1, None, 0.625, 0.5, 0.75, None, 0.8772153153]),
    ("1 2 3", "1 3 4", [1, 0.6666666667, 1, 0.75, 0.6666666667, 0.6666666667, 0.7654, 0.7654]),
]


def test_the_measures_are_those_of_llamaindex(tmp_path: Path) -> None:
    rows = [
        {"query_id": f"q{at}", "query": f"query {at}", "expected": expected}
        | {"engines": {"e": [{"docno": name, "snippet": f"document {name}"} for name in retrieved.split()]}}
        for at, (expected, retrieved, _) in enumerate(_LLAMAINDEX)
    ]
    judge.run(rows, "expected", measures=[_MEASURES], out=str(tmp_path / "run"))
    result = judge.score(tmp_path / "run")  # read from the folder
    assert result.summary.labels is not None
    assert result.summary.labels.unreturned == 2 + 2 + 3 + 2 + 1
    assert result.summary.cost is not None
    assert result.summary.cost.calls == 0
    for number, (*_, values) in enumerate(_LLAMAINDEX):
        given = [row.value for row in result.scores.to_records() if row.query_id == f"q{number}"]
        for value, expected in zip(given, values, strict=True):
            assert expected is None or value == pytest.approx(expected, abs=1e-4 if number == 7 else 1e-9)


def test_trec_files_name_what_no_engine_returned(tmp_path: Path) -> None:
    import pytrec_eval

    rows = [
        make_row("d1", snippet="one", expected="d1 d5 d6", engine="e"),
        make_row("d2", snippet="two", engine="e"),
    ]
    result = judge.run(rows, "expected", measures=["nDCG@10 AP@10"], out=str(tmp_path / "run"))
    qrels = [line.split() for line in (tmp_path / "run" / "qrels.txt").read_text().splitlines()]
    assert [(docno, grade) for _, _, docno, grade in qrels] == [
        ("d1", "1"),
        ("d2", "0"),
        ("d5", "1"),
        ("d6", "1"),
    ]
    table = {"q": {docno: int(grade) for _, _, docno, grade in qrels}}
    theirs = pytrec_eval.RelevanceEvaluator(table, {"ndcg_cut.10", "map_cut.10"}).evaluate(
        {"q": {"d1": 2, "d2": 1}}
    )
    assert [score.value for score in result.scores.to_records()] == pytest.approx(
        [theirs["q"]["ndcg_cut_10"], theirs["q"]["map_cut_10"]]
    )
    entry = json.loads((tmp_path / "run" / "results.json").read_text())["queries"][0]
    assert entry["expected"] == ["d1", "d5", "d6"]


@check_each(
    "options",
    [
        {"scale": "graded"},
        {"repeats": 2},
        {"qrels": "labels.csv"},
        {"panel": ("lexical",)},
        {"controls": True},
    ],
)
def test_options_of_an_assessor_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        judge.run([make_row("d1", expected="d1")], "expected", **options)
