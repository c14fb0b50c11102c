"""A missing text is not an empty text: missing texts are counted and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.dataset.clean import describe_missing
from judge.dataset.labels import select_labellable
from judge.dataset.pool import build_pool
from judge.records import Dataset
from tests.support.cases import check_each
from tests.support.datasets import read_dataset, read_trec_dataset


def load(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    return read_dataset(rows, lang="auto", max_chars=400)


def trec(folder: Path, docs: str, run: str) -> Dataset:
    for name, content in (("t.tsv", "1\tx\n2\ty\n"), ("d.tsv", docs), ("a.run", run)):
        (folder / name).write_text(content)
    return read_trec_dataset(folder / "t.tsv", folder / "d.tsv", [folder / "a.run"], lang="en", max_chars=400)


def test_a_document_that_is_not_in_the_documents_file_is_no_empty_one(tmp_path: Path) -> None:
    docs = '{"docid": "d1", "text": "one"}\n{"docid": "d2", "text": ""}\n'
    data = trec(tmp_path, docs, "1 Q0 d1 1 9 A\n1 Q0 d2 2 8 A\n1 Q0 dX 3 7 A\n1 Q0 dY 4 6 A\n")
    flags = [snippet.flags for snippet in data.rankings[0].snippets]
    assert flags == [(), ("empty_snippet",), ("no_text",), ("no_text",)]
    assert len({snippet.id for snippet in data.rankings[0].snippets}) == 4


def test_missing_documents_are_counted_down_to_the_depth_and_one_is_named(tmp_path: Path) -> None:
    run = "1 Q0 d1 1 9 A\n1 Q0 dY 2 8 A\n2 Q0 dX 1 9 A\n2 Q0 dY 2 8 A\n2 Q0 dZ 3 7 A\n"
    data = trec(tmp_path, "d1\tone\n", run)
    (text,) = describe_missing(data.rankings, 2, "d.tsv")
    assert text.startswith("2 documents are not in d.tsv, first 'dY' of topic '1': left unjudged")
    (text,) = describe_missing(data.rankings[:1], 2, "d.tsv")
    assert text.startswith("1 document is not in d.tsv, first 'dY' of topic '1'")
    (text,) = describe_missing(data.rankings, 1, "d.tsv")
    assert text.startswith("1 document is not in d.tsv, first 'dX' of topic '2'")
    assert not list(describe_missing(data.rankings[:1], 1, "d.tsv"))


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


def test_results_without_a_text_are_no_repetitions_of_each_other() -> None:
    rows = [{"query_id": "1", "query": "q", "engine": engine, "snippet": None} for engine in "aab"]
    data = load([*rows, {**rows[0], "snippet": ""}, {**rows[0], "snippet": "text"}])
    pooled = build_pool(data, 10)
    assert len(set(pooled.documents["a", "1"])) == 4
    assert len(pooled.pairs) == 5
    assert [pair.snippet.text for pair in select_labellable(pooled)] == ["text"]
    (output,) = describe_missing(data.rankings, 10, "d.jsonl")
    assert output.startswith(
        "3 results have no text or title in d.jsonl, first rank 1 of engine 'a' for query '1'"
    )
