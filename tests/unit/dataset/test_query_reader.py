"""Every form of input is read as meant, and bad input is refused with its place."""

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.dataset.parsed_rows import RowsByQuery
from judge.dataset.rows import InputRow, RowFormat
from judge.errors import InputError
from judge.messages import CHINESE
from judge.records import Dataset
from tests.support.cases import check_each
from tests.support.datasets import read_dataset, read_trec_dataset
from tests.support.factories import write_rows

CASES = Path(__file__).resolve().parents[2] / "cases" / "attacks.jsonl"
ATTACKS = [json.loads(line) for line in CASES.read_text("utf-8").split("\n") if line]


def load(
    source: Path | Sequence[Mapping[str, Any]],
    columns: Mapping[str, str] | None = None,
    *,
    is_complete: bool = False,
) -> Dataset:
    return read_dataset(source, lang="auto", max_chars=4000, columns=columns, is_complete=is_complete)


def get_refusal(path: Path, columns: Mapping[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load(path, columns=columns)
    text = str(caught.value)
    assert "\n" not in text
    return text


def list_texts(data: Dataset, engine: str, query_id: str) -> list[str]:
    (ranking,) = [each for each in data.rankings if (each.engine, each.query_id) == (engine, query_id)]
    return [snippet.text for snippet in ranking.snippets]


def test_flat_rows_are_put_in_rank_order(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "1", "query": "q", "engine": "a", "rank": 2, "snippet": "second"},
        {"query_id": "1", "query": "q", "engine": "a", "rank": "1", "snippet": "first"},
        {"query_id": "1", "query": "q", "engine": "a", "rank": 3.0, "snippet": "third"},
    ]
    assert list_texts(load(write_rows(tmp_path / "d.jsonl", rows)), "a", "1") == ["first", "second", "third"]


def test_query_and_snippet_are_enough(tmp_path: Path) -> None:
    data = load(write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": s} for s in ("one", "two")]))
    (query_id,) = data.queries
    assert data.engines == ("engine",)
    assert list_texts(data, "engine", query_id) == ["one", "two"]
    assert query_id == next(iter(load([{"query": " q ", "snippet": "other"}]).queries))


def test_csv_keeps_ids_as_text_and_reads_empty_cells_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(
        '\ufeffquery_id,query,engine,rank,snippet,title\n007,"a, b",x,1,"two\nlines",\n'.encode()
    )
    data = load(path)
    assert list(data.queries) == ["007"]
    assert list_texts(data, "x", "007") == ["two\nlines"]


def test_parquet_reads_like_csv(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "d.parquet"
    frame = pandas.DataFrame([{"query": "q", "engine": "x", "rank": 1, "snippet": "t", "title": None}])
    frame.to_parquet(path)
    assert load(path).rankings[0].snippets[0].text == "t"


def test_a_table_s_midnight_is_the_day_that_other_forms_write(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    day, noon = pandas.Timestamp("2026-05-01"), pandas.Timestamp("2026-05-01 12:30")
    for stamp, shown in ((day, "2026-05-01"), (day.tz_localize("UTC"), "2026-05-01"), (noon, str(noon))):
        path = tmp_path / "d.parquet"
        rows: list[dict[str, Any]] = [{"query": "q", "snippet": "t", "date": stamp}]
        pandas.DataFrame(rows).to_parquet(path)
        (table,), (memory,) = load(path).rankings, load(rows).rankings
        (text,) = load([{**rows[0], "date": shown}]).rankings
        assert (table.snippets[0].date, table.snippets[0].id) == (shown, text.snippets[0].id)
        assert memory.snippets == table.snippets


def test_nested_lines_tell_nothing_from_broken(tmp_path: Path) -> None:
    record = {
        "query": "q", "query_id": "1", "reference": "42",
        "engines": {
            "a": [{"title": "T", "url": "https://x.example", "snippet": "s", "date": "2026-01-02"}],
            "b": [],
            "c": {"error": "HTTP 503"},
        },
    }  # fmt: skip
    data = load(write_rows(tmp_path / "d.jsonl", [record]))
    a, b, c = data.rankings
    assert (a.snippets[0].title, a.snippets[0].date, data.queries["1"].reference) == ("T", "2026-01-02", "42")
    assert (b.snippets, b.error) == ((), None)
    assert (c.snippets, c.error) == ((), "HTTP 503")


def test_results_of_a_nested_list_have_a_rank_all_or_none(tmp_path: Path) -> None:
    both: list[dict[str, Any]] = [{"snippet": "last", "rank": 5}, {"snippet": "first", "rank": 1}]
    data = load([{"query": "q", "engines": {"a": both}}])
    assert [snippet.text for snippet in data.rankings[0].snippets] == ["first", "last"]
    path = write_rows(tmp_path / "d.jsonl", [{"query": "q", "engines": {"a": [both[0], "other"]}}])
    with pytest.raises(InputError, match=r"result 2: field 'rank' is given for some results of a list only"):
        load(path)


def test_an_engine_of_a_nested_row_has_results_or_an_error(tmp_path: Path) -> None:
    answer = {"error": "HTTP 503", "results": ["text"]}
    path = write_rows(tmp_path / "d.jsonl", [{"query": "q", "engines": {"a": answer}}])
    expected = r"d.jsonl:1: engine 'a': is {'error': 'HTTP 503', .*; write a list of results"
    with pytest.raises(InputError, match=expected):
        load(path)


def test_an_error_of_a_nested_row_can_be_a_number_as_in_a_flat_row(tmp_path: Path) -> None:
    nested = load([{"query": "q", "engines": {"a": {"error": 503}, "b": ["text"]}}])
    of_b = {"query": "q", "engine": "b", "snippet": "text"}
    flat = load([{"query": "q", "engine": "a", "error": 503}, of_b])
    assert [ranking.error for ranking in nested.rankings] == ["503", None]
    assert list(nested.rankings) == list(flat.rankings)
    path = write_rows(tmp_path / "d.jsonl", [{"query": "q", "engines": {"a": {"error": ["down"]}}}])
    with pytest.raises(InputError, match=r"d.jsonl:1: engine 'a': field 'error' is \['down'\], not text"):
        load(path)


@pytest.mark.parametrize("wrap", [lambda cases: cases, lambda cases: {"test_cases": cases}])
def test_deepeval_test_cases(tmp_path: Path, wrap: Any) -> None:
    cases = [
        {"input": "q", "expected_output": "r", "retrieval_context": ["one", "two"]},
        {"input": "p", "retrieval_context": []},
    ]
    path = tmp_path / "d.json"
    path.write_text(json.dumps(wrap(cases)))
    data = load(path)
    first, second = data.rankings
    assert [snippet.text for snippet in first.snippets] == ["one", "two"]
    assert data.queries[first.query_id].reference == "r"
    assert second.snippets == ()


@pytest.mark.parametrize(
    ("encoding", "is_guess"), [("utf-8-sig", False), ("utf-16", False), ("gb18030", True)]
)
def test_trec_files_have_the_encodings_of_other_datasets(
    encoding: str, is_guess: bool, tmp_path: Path
) -> None:
    texts = {
        "topics.tsv": "1\t龙井茶怎么泡最好\n",
        "docs.tsv": "d1\t水温八十度左右最适合冲泡绿茶\n",
        "a.run": "1 Q0 d1 1 0.5 检索系统甲乙\n",
    }
    topics, docs, run = (tmp_path / name for name in texts)
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode(encoding))
    data = read_trec_dataset(topics, docs, [run], lang="auto", max_chars=4000)
    assert data.queries["1"].text == "龙井茶怎么泡最好"
    assert list_texts(data, "检索系统甲乙", "1") == ["水温八十度左右最适合冲泡绿茶"]
    assert data.warnings == tuple(
        f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong"
        for path in ((topics, run, docs) if is_guess else ())
    )


def test_trec_files_are_ordered_by_score_as_trec_eval_does(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("0\tno result\n1\twhat is x\n2\tand y\n3\tnone, too\n")
    with gzip.open(tmp_path / "docs.jsonl.gz", "wt") as file:
        for docno in ("d1", "d2", "d3"):
            file.write(json.dumps({"docid": docno, "text": f"text of {docno}"}) + "\n")
    (tmp_path / "a.run").write_text(
        "1 Q0 d1 1 0.5 bm25\n1 Q0 d2 2 0.9 bm25\n1 Q0 d9 3 0.1 bm25\n2 Q0 d3 1 3 bm25\n"
    )
    data = read_trec_dataset(
        tmp_path / "topics.tsv", tmp_path / "docs.jsonl.gz", [tmp_path / "a.run"], lang="auto", max_chars=4000
    )
    assert data.engines == ("bm25",)
    assert list_texts(data, "bm25", "1") == ["text of d2", "text of d1", ""]
    assert [snippet.docno for snippet in data.rankings[0].snippets] == ["d2", "d1", "d9"]
    assert data.rankings[0].snippets[2].flags == ("no_text",)
    assert list(data.queries) == ["1", "2"]
    assert data.warnings[0] == (
        f"{tmp_path / 'topics.tsv'}: topics without a result in any run are left out: 2 of 4, first '0'"
    )


TAGGED_TOPICS = (
    # The ad hoc tracks, whose elements have no end.
    """
<top>
<num> Number: 301
<title> International Organized
Crime &amp; Law

<desc> Description:
Identify organizations.
</top>

<top>

<num> Number: 302
<title>Topic: Poliomyelitis
<narr> Narrative: <b>any</b>
</top>
""",
    # The web tracks.
    """<?xml version="1.0"?>
<topics>
<topic number="301" type="faceted">
  <query>international organized crime &#38; law</query>
  <description>Identify organizations.</description>
</topic>
<topic type='ambiguous' number='302'><query>poliomyelitis</query></topic>
</topics>
""",
    # Without line breaks.
    '<topics><topic number="301"><query>international organized crime &#38; law</query></topic>'
    '<topic number="302"><query>poliomyelitis</query></topic></topics>\n',
)


@pytest.mark.parametrize("content", TAGGED_TOPICS)
def test_topics_with_tags_are_read(tmp_path: Path, content: str) -> None:
    (tmp_path / "t.txt").write_text(content)
    (tmp_path / "d.tsv").write_text("d1\tsome text\n")
    (tmp_path / "a.run").write_text("301 Q0 d1 1 0.5 a\n302 Q0 d1 1 0.5 a\n")
    data = read_trec_dataset(
        tmp_path / "t.txt", tmp_path / "d.tsv", [tmp_path / "a.run"], lang="auto", max_chars=400
    )
    assert {query_id: query.text.lower() for query_id, query in data.queries.items()} == {
        "301": "international organized crime & law",
        "302": "poliomyelitis",
    }


@check_each(
    "line",
    [
        '{"_id": "7", "text": "tea", "metadata": {}}',
        '{"qid": 7, "query": " tea "}',
        '{"id": "7", "title": "tea"}',
    ],
)
def test_topics_can_be_json_lines(line: str, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(f"{line}\n")
    (tmp_path / "d.tsv").write_text("d1\tsome text\n")
    (tmp_path / "a.run").write_text("7 Q0 d1 1 0.5 a\n")
    data = read_trec_dataset(
        tmp_path / "t.jsonl", tmp_path / "d.tsv", [tmp_path / "a.run"], lang="auto", max_chars=400
    )
    assert {query_id: query.text for query_id, query in data.queries.items()} == {"7": "tea"}


@check_each(
    ("content", "words"),
    [
        ('{"id": "1"}\n', """t.txt:1: is '{"id": "1"}'; a topic is an id"""),
        ('{"id": "1", "query": ["x"]}\n', ":1: field 'query' is ['x'], not text"),
        ("<top>\n<num> Number: 1\n<desc> x\n</top>\n", ":1: is '<top>'; a topic is an id"),
        ("\n<topics>\n<topic>\n<query>tea</query>\n</topic>\n", ":3: is '<topic>'; a topic is an id"),
        ("<top>\n<num>1\n<title>a\n<top>\n<num>1\n<title>b\n", ":4: topic '1' is given twice"),
        ("1\ttea\n<top>\n", ":2: is '<top>'; a topic is an id, a tab"),
        ("<top>\n<num>2\n<title>a\n", "a.run:1: topic '1' is not in the topics file; add it there"),
    ],
)
def test_a_topic_that_lacks_a_part_is_named_with_its_line(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(content)
    (tmp_path / "d.tsv").write_text("d1\tsome text\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 0.5 a\n")
    with pytest.raises(InputError, match=re.escape(words)):
        read_trec_dataset(
            tmp_path / "t.txt", tmp_path / "d.tsv", [tmp_path / "a.run"], lang="auto", max_chars=400
        )


def test_a_document_that_is_cut_off_is_named_and_an_empty_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\ttea\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 2 a\n1 Q0 d2 2 1 a\n")
    files = tmp_path / "t.tsv", tmp_path / "d.tsv", [tmp_path / "a.run"]
    (tmp_path / "d.tsv").write_text("d1\ttext\r\nd2\t\r\n\n")
    data = read_trec_dataset(*files, lang="auto", max_chars=400)
    assert [each.flags for each in data.rankings[0].snippets] == [(), ("empty_snippet",)]
    for cut in ("d2", "d2 "):
        (tmp_path / "d.tsv").write_text(f"d1\ttext\n{cut}")
        with pytest.raises(InputError, match=r"d\.tsv:2: is 'd2'; a document is an id, a tab and its text"):
            read_trec_dataset(*files, lang="auto", max_chars=400)


def test_two_runs_with_one_tag_are_told_apart_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n")
    (tmp_path / "d.tsv").write_text("d1\tsome text\n")
    for names, engines in (
        (("one.run", "two.run"), ("one", "two")),
        ((".run", ".run.gz.txt"), (".run", ".run.gz.txt")),  # nothing is left without the suffixes
    ):
        runs = [tmp_path / name for name in names]
        for run in runs:
            run.write_text("1 Q0 d1 1 0.5 same\n")
        files = tmp_path / "t.tsv", tmp_path / "d.tsv", runs
        assert read_trec_dataset(*files, lang="en", max_chars=400).engines == engines


def test_a_run_of_two_tags_is_no_engine_of_its_own_nor_part_of_another(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n")
    (tmp_path / "d.tsv").write_text("d1\tone\nd2\ttwo\nd3\tthree\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 3 a\n1 Q0 d2 2 2 b\n")
    (tmp_path / "b.run").write_text("1 Q0 d3 1 2.5 b\n")
    runs = [tmp_path / "a.run", tmp_path / "b.run"]
    with pytest.raises(InputError, match=r"a\.run:2: has tag 'b' after tag 'a'"):
        read_trec_dataset(tmp_path / "t.tsv", tmp_path / "d.tsv", runs, lang="en", max_chars=400)


@check_each("case", [case for case in ATTACKS if "raw_lines" in case])
def test_bad_rows_of_the_attack_cases_are_refused_with_line_field_and_value(
    case: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(case["raw_lines"]) + "\n", encoding="utf-8")
    text = get_refusal(path)
    line, field = {"bad_rank": (1, "rank"), "dup_id": (2, "rank"), "path_id": (1, "")}[case["attack_type"]]
    assert text.startswith(f"{path}:{line}: ")
    assert f"'{field}'" in text or "../../" in text


ROW: dict[str, Any] = {"query_id": "1", "query": "q", "engine": "a", "rank": 1, "snippet": "s"}


@check_each(
    ("changes", "words"),
    [
        ({"rank": 0}, "field 'rank' is 0"),
        ({"rank": -1}, "field 'rank' is -1"),
        ({"rank": 1.5}, "field 'rank' is 1.5"),
        ({"rank": True}, "field 'rank' is True"),
        ({"rank": "first"}, "field 'rank' is 'first'"),
        ({"rank": 10**9}, "field 'rank' is 1000000000"),
        ({"rank": float("nan")}, "field 'rank' is nan"),
        ({"rank": [1]}, "field 'rank' is [1]"),
        ({"query": ""}, "field 'query' is missing or empty"),
        ({"query": "", "query_id": "0"}, "field 'query' is missing or empty"),
        ({"query": " \u200b "}, "field 'query' is"),
        ({"query": None}, "field 'query' is missing"),
        ({"query": [7]}, "field 'query' is [7], not text"),
        ({"snippet": ["x"]}, "field 'snippet' is ['x']"),
        ({"engine": "a/b"}, "field 'engine' is 'a/b'"),
        ({"engine": "..\\x"}, "field 'engine'"),
        ({"engine": ""}, "field 'engine' is ''"),
        ({"query_id": ".."}, "field 'query_id' is '..'"),
        ({"query_id": "a\u0000b"}, "field 'query_id'"),
        ({"query_id": "x" * 201}, "field 'query_id'"),
        ({"query_id": 1.5}, "field 'query_id' is 1.5"),
        ({"query_id": {"a": 1}}, "field 'query_id'"),
        ({"engine": "a\u202eb"}, "field 'engine'"),
        ({"engine": "引擎" * 40}, "field 'engine'"),
        ({"title": ["x"]}, "field 'title' is ['x'], not text"),
        ({"error": "boom"}, "has a result, and the error 'boom'"),
    ],
)
def test_a_bad_field_is_named_with_its_place_and_value(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    good = {**ROW, "query_id": "0", "query": "p"}
    text = get_refusal(write_rows(tmp_path / "d.jsonl", [good, {**ROW, **changes}]))
    assert text.startswith(f"{tmp_path / 'd.jsonl'}:2: ")
    assert words in text


def test_the_source_is_closed_at_the_first_wrong_row() -> None:
    ends = []

    def yield_rows() -> Iterator[InputRow]:
        try:
            yield from RowFormat().expand_record("row 1", {"query": "q", "snippet": "s", "rank": 0})
        finally:
            ends.append("closed")

    rows = yield_rows()
    assert "field 'rank' is 0" in str(RowsByQuery(rows, None).error)
    assert ends == ["closed"]


def test_whole_numbers_that_a_table_holds_as_floats_are_ids() -> None:
    dataset = load([{**ROW, "query_id": 7.0}, {**ROW, "query_id": 7, "rank": 2}])
    assert list(dataset.queries) == ["7"]


@pytest.mark.parametrize("year", [2024, 2024.0, "2024"])
def test_a_query_that_a_table_holds_as_a_number_is_its_digits(year: object) -> None:
    [query] = load([{**ROW, "query": year}]).queries.values()
    assert query.text == "2024"


def test_contradictions_name_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    twice = get_refusal(write_rows(path, [ROW, {**ROW, "snippet": "other"}]))
    assert "d.jsonl:2" in twice
    assert "d.jsonl:1" in twice
    two_texts = get_refusal(write_rows(path, [ROW, {**ROW, "rank": 2, "query": "another"}]))
    assert ": the query of '1' is 'another' here and 'q' at" in two_texts
    assert "field" not in two_texts
    two_answers = get_refusal(
        write_rows(path, [{**ROW, "reference": "x"}, {**ROW, "rank": 2, "reference": "y"}])
    )
    assert "field 'reference'" in two_answers
    assert "some results of a list only" in get_refusal(
        write_rows(path, [ROW, {k: ROW[k] for k in ("query_id", "query", "engine", "snippet")}])
    )


@check_each(
    ("content", "words"),
    [
        ('{"query": "q", "snippet": "s"}\n{"query": "q", \n', "d.jsonl:2: is not JSON"),
        (
            "[1, 2]\n",
            "d.jsonl:1: is '[1, 2]', not an object {…}; write one whole object in each line; the name of a"
            " dataset that is one list of objects ends in .json",
        ),
        # The excerpt is the text around the error.
        ('{"query": "q", "snippet": "' + "s" * 90 + '"},\n', "(column 120): '" + "s" * 38 + "\"},'"),
        ('{\n"query": "q",\n"snippet": "s"}\n', "d.jsonl:1: is '{', not an object"),
        ('{"query": "q", "snippet": "s", "engines": {"a": []}}', "has 'engines' and 'snippet'; the engines"),
        ('{"query": "q", "engine": "b", "engines": {"a": []}}', "has 'engines' and 'engine'; the engines"),
        ('{"query": "q", "query": "r", "snippet": "s"}\n', "d.jsonl:1: field 'query' is given twice"),
        (
            '{"query": "q", "url": "u"}\n',
            "d.jsonl:1: field 'snippet' is missing; the row has the fields ['query', 'url']. Rename"
            " the one that holds it (case and spaces matter), or name it: --columns"
            " snippet=NAME",
        ),
        (
            '{"Query": "q", "Snippet": "s", "query_id": "i", "Query_ID": "j", "Rank": 1, "My Url": "u"}\n',
            "--columns query=Query,snippet=Snippet,rank=Rank",
        ),
        (
            '{"查询": "q", "引擎": "a", "排名": 1, "标题": "t", "摘要": "s", "链接": "u", "网址": "v"}\n',
            "--columns query=查询,engine=引擎,rank=排名,title=标题,snippet=摘要,url=链接",
        ),
        (
            '{"query": "q", "text": "s"}\n',
            "d.jsonl:1: field 'snippet' is missing; the row has the fields ['query', 'text']. Rename the one"
            " that holds it (case and spaces matter), or name it: --columns snippet=NAME. If the file holds"
            " queries only, get their results first: judge collect FILE --engine NAME",
        ),
        (
            '{"Query": "q", "snippet": "s"}\n',
            "d.jsonl:1: field 'query' is missing; the row has the fields ['Query', 'snippet']. Rename"
            " the one that holds it (case and spaces matter), or name it: --columns"
            " query=Query",
        ),
        ('{"query": null, "snippet": "s"}\n', "field 'query' is missing or empty; every row needs the"),
        ("", "holds no rows"),
        ("\n\n", "holds no rows"),
        ('{"query": "q", "engines": {}}', "field 'engines'"),
        ('{"query": "q", "engines": {"a": "x"}}', "engine 'a'"),
        ('{"query": "q", "engines": {"a": [{"title": "t"}]}}', "result 1"),
        ("[" * 100_000, "cannot be read as JSON: it nests too deep"),
        ('{"rank": ' + "9" * 5000 + "}", "it nests too deep, or a number has too many digits"),
    ],
)
def test_broken_files_are_refused_with_their_line(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(content)
    assert words in get_refusal(path)


def test_files_that_are_no_datasets(tmp_path: Path) -> None:
    for name in ("absent.jsonl", "absent", "absent.xlsx"):
        assert "no such file" in get_refusal(tmp_path / name)
    (tmp_path / "d.ods").write_text("x")
    assert "unknown file type '.ods'" in get_refusal(tmp_path / "d.ods")
    (tmp_path / "d.ods.gz").write_text("x")
    assert "unknown file type '.ods'" in get_refusal(tmp_path / "d.ods.gz")
    for name in ("d.jsonl.gz", "d.csv.gz.gz"):
        (tmp_path / name).write_bytes(gzip.compress(gzip.compress(b"query,snippet\nq,s\n")))
        assert f"{name}: is not text in UTF-8, or in UTF-16" in get_refusal(tmp_path / name)
    (tmp_path / "dir.jsonl").mkdir()
    assert "is not a file" in get_refusal(tmp_path / "dir.jsonl")
    (tmp_path / "latin.jsonl").write_bytes('{"query": "caf\xe9", "snippet": "s"}\n'.encode("latin-1"))
    assert "latin.jsonl:1: is not UTF-8" in get_refusal(tmp_path / "latin.jsonl")
    (tmp_path / "d.csv").write_text("query,snippet\na,b,c\n")
    assert "d.csv:2: the number of cells is 3, and that of the header 2" in get_refusal(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('query\tsnippet\nq\t"Best" tea\nq\tgreen "tea"\n', ['"Best" tea', 'green "tea"']),
        ('query|snippet\nq|"Best" tea\n', ['"Best" tea']),
        ('query\tsnippet\nq\t"open\nq\tand "closed" here\n', ['"open', 'and "closed" here']),
        ('query\tsnippet\nq\t"two\nlines ""x"""\nq\t"b"\n', ['two lines "x"', "b"]),
        ('sep=\t\n"query"\t"snippet"\n"q"\t"a"\n', ["a"]),
    ],
)
def test_quotation_marks_between_tabs_or_bars_enclose_cells_or_are_text(
    tmp_path: Path, content: str, texts: list[str]
) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(content)
    (ranking,) = load(path).rankings
    assert [" ".join(snippet.text.split()) for snippet in ranking.snippets] == texts


def test_a_row_of_a_quoted_file_that_lacks_a_cell_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text('query\tsnippet\nq\t"two\nlines"\nq\n')
    assert "d.tsv:4: the number of cells is 1, and that of the header 2" in get_refusal(path)


@check_each(
    ("content", "words"),
    [
        ("query,engine,snippet\nq,e\n", "d.csv:2: the number of cells is 2, and that of the header 3"),
        ("query,snippet,snippet\nq,x,y\n", "d.csv:1: column 'snippet' is given twice"),
        ('query,snippet,rank\nq,"two\nlines",1\nq,"two\nlines",0\n', "d.csv:4: field 'rank' is '0'"),
        ('query,snippet\nq,x\nq,"never closed\n', "d.csv:3: is not CSV"),
        ("query,snippet\nq,x\ry\n", "d.csv:2: is not CSV; put cells with quotes or line breaks in quotes,"),
        (b"query,snippet\nq,fine\nq,\xff\xd0\n", "d.csv:3: is not UTF-8 at byte 3"),
    ],
)
def test_broken_tables_are_refused_with_their_line(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert words in get_refusal(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[{"query": "q", "query": "r", "snippet": "s"}]', "field 'query' is given twice"),
        ('[{"query": "q",}]', "d.json:1: is not JSON"),
        ('"text"', "d.json: record 1 is 'text', not an object"),
        ("[" * 100_000, "cannot be read as JSON"),
        ('[{"query": "q", "snippet": "s", "rank": ' + "9" * 5000 + "}]", "cannot be read as JSON"),
        ('[\n{"query": "q"\n"snippet": "s"}]', "d.json:3: is not JSON: Expecting ',' delimiter (column 1)"),
    ],
)
def test_broken_arrays_are_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "d.json"
    path.write_text(content)
    assert words in get_refusal(path)


@check_each("first", [[], [{"snippet": "x"}], {"error": "HTTP 503"}])
@check_each("second", [[], [{"snippet": "y"}], {"error": "HTTP 500"}])
def test_an_engine_answers_a_query_once(tmp_path: Path, first: Any, second: Any) -> None:
    records = [{"query": "q", "engines": {"a": answer}} for answer in (first, second)]
    text = get_refusal(write_rows(tmp_path / "d.jsonl", records))
    assert text.startswith(f"{tmp_path / 'd.jsonl'}:2: engine 'a' answers query")
    assert f"first at {tmp_path / 'd.jsonl'}:1; an engine answers a query once" in text


_FLAT = {"query": "q", "engine": "a", "snippet": "s"}
_NESTED: dict[str, Any] = {"query": "q", "engines": {"a": ["s"]}}
_EMPTY: dict[str, Any] = {"query": "q", "engines": {"a": []}}
_TEST_CASE = {"input": "q", "retrieval_context": ["s"], "engine": "a"}


@check_each(
    ("first", "second"),
    [
        *((_NESTED, _FLAT), (_NESTED, {**_FLAT, "rank": 2}), (_EMPTY, _FLAT), (_TEST_CASE, _FLAT)),
        *((_FLAT, _NESTED), (_FLAT, _EMPTY), (_TEST_CASE, _NESTED), (_TEST_CASE, _TEST_CASE)),
    ],
)
def test_an_answer_has_one_form(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    text = get_refusal(write_rows(tmp_path / "d.jsonl", [first, second]))
    assert text.startswith(f"{tmp_path / 'd.jsonl'}:2: engine 'a' answers query")
    assert f"first at {tmp_path / 'd.jsonl'}:1; an engine answers a query once" in text


def test_metadata_of_a_test_case_that_no_parser_reads_are_left_out(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [{**_TEST_CASE, "metadata": "[" * 100_000}])
    assert [query.text for query in read_dataset(path, lang="en", max_chars=400).queries.values()] == ["q"]


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_a_table_of_test_cases_is_read(tmp_path: Path, suffix: str) -> None:
    import pandas

    path = tmp_path / f"d.{suffix}"
    contexts: list[object] = [["one", "two"], []] if suffix == "parquet" else ["one|two", None]
    table = pandas.DataFrame({"input": ["q", "p"], "retrieval_context": contexts, "engine": ["a", "b"]})
    if suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "xlsx":
        table.to_excel(path, index=False)
    else:
        table.to_csv(path, index=False)
    rankings = [(each.engine, [snippet.text for snippet in each.snippets]) for each in load(path).rankings]
    assert rankings == [("a", ["one", "two"]), ("b", [])]


def test_no_list_of_snippets_is_not_an_empty_one(tmp_path: Path) -> None:
    for case in ({"input": "q", "retrieval_context": None}, {"input": "q", "actual_output": "a"}):
        assert "field 'retrieval_context' is None" in get_refusal(write_rows(tmp_path / "d.jsonl", [case]))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({"retrieval_context": ["x"]}, "field 'input' is missing or empty; every row needs the"),
        ({"input": None, "retrieval_context": ["x"]}, "d.jsonl:1: field 'input' is missing or empty"),
        (
            {"input": [5], "retrieval_context": ["x"]},
            "d.jsonl:1: field 'input' is [5], not text",
        ),
        (
            {"input": " ", "retrieval_context": ["x"]},
            "d.jsonl:1: field 'input' is missing or empty; every row",
        ),
        ({"input": "q", "retrievalContext": None}, "d.jsonl:1: field 'retrievalContext' is None, not a list"),
        (
            {"input": "q", "expectedOutput": [5], "retrieval_context": ["x"]},
            "d.jsonl:1: field 'expectedOutput' is [5], not text",
        ),
        ({"input": "q", "retrieval_context": [1]}, "result 1: is 1; a result is a text, or an object with"),
        ({"input": "q", "retrieval_context": ["x", {"text": "y"}]}, "result 2: is {'text': 'y'}; a"),
    ],
)
def test_a_bad_test_case_is_told_what_a_test_case_is(tmp_path: Path, case: Any, words: str) -> None:
    assert words in get_refusal(write_rows(tmp_path / "d.jsonl", [case]))


def test_rows_of_a_data_frame_may_lack_values() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [
            {"query_id": 1, "query": "q", "rank": 1, "snippet": "x", "title": "T"},
            {"query_id": 1, "query": "q", "rank": 2},
        ]
    )
    snippets = load(frame.to_dict("records")).rankings[0].snippets
    assert [(snippet.text, snippet.title) for snippet in snippets] == [("x", "T"), ("", "")]
    assert list(load([{"query_id": frame["query_id"][0], "query": "q", "snippet": "x"}]).queries) == ["1"]
    with pytest.raises(InputError, match="or a data frame itself"):
        load(frame)


def test_rows_of_a_data_frame_may_hold_arrays_and_every_kind_of_nothing() -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    row: dict[str, Any] = {"query": "q", "snippet": "x", "error": pandas.NA, "title": pandas.NaT}
    data = load([{**row, "embedding": numpy.array([0.1, 0.2]), "size": numpy.float64("nan")}])
    assert (data.rankings[0].error, data.rankings[0].snippets[0].title) == (None, "")
    case = {"input": "q", "retrieval_context": numpy.array(["one", "two"])}
    assert [snippet.text for snippet in load([case]).rankings[0].snippets] == ["one", "two"]
    with pytest.raises(InputError, match=r"field 'snippet' is \['x'\], not text"):
        load([{**row, "snippet": numpy.array(["x"])}])


def test_a_snippet_that_is_a_single_value_is_a_text() -> None:
    values = [42, 1.5, True, date(2026, 5, 1)]
    rows = [{"query": "q", "snippet": value} for value in values]
    texts = [snippet.text for snippet in load(rows).rankings[0].snippets]
    assert texts == ["42", "1.5", "true", "2026-05-01"]


def test_a_reference_is_fit_for_a_prompt() -> None:
    rows: list[dict[str, Any]] = [{"query": "q", "snippet": "s", "reference": "caf\u00e9 \ud800 <|im_end|>"}]
    (query,) = load(rows).queries.values()
    assert query.reference == "caf\u00e9 \ufffd < |im_end| >"
    other = {**rows[0], "reference": "cafe\u0301 \ud800 <|im_end|> "}
    assert len(load([*rows, other]).queries) == 1


def test_trec_documents_have_one_text_and_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 0.5 bm25\n")
    for content, words in (
        ("d1\tone\nd1\tother\n", "docs.tsv:2: document 'd1' has another text at"),
        (
            "docid\ttitle\ttext\nd1\tT\tone\n",
            r"docs.tsv:1: is 'docid\\ttitle\\ttext'; a document is .*, and there is no header",
        ),
    ):
        (tmp_path / "docs.tsv").write_text(content)
        with pytest.raises(InputError, match=words):
            read_trec_dataset(
                tmp_path / "t.tsv", tmp_path / "docs.tsv", [tmp_path / "a.run"], lang="en", max_chars=400
            )


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ('{"docno": "d1", "text": {"t": 5}}', "field 'text' is {'t': 5}, not text"),
        ('{"docno": "d1", "contents": ["x"]}', "field 'contents' is ['x'], not text"),
        ('{"docno": "d1", "text": "x", "title": ["T"]}', "field 'title' is ['T'], not text"),
        ('{"docno": "d1", "text": "x", "url": {}}', "field 'url' is {}, not text"),
        ('{"docno": ["d1"], "text": "x"}', "field 'docno' is ['d1']; an id is text or a whole number"),
    ],
)
def test_a_bad_document_is_named_by_its_own_line(tmp_path: Path, document: str, words: str) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 0.5 bm25\n")
    (tmp_path / "docs.jsonl").write_text('{"docno": "d0", "text": "x"}\n' + document + "\n")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / 'docs.jsonl'}:2: {words}")):
        read_trec_dataset(
            tmp_path / "t.tsv", tmp_path / "docs.jsonl", [tmp_path / "a.run"], lang="en", max_chars=400
        )


@check_each(
    ("topics", "words"),
    [
        ("", "t.tsv: holds no topics; write a line for each topic"),
        ("<topics><item>1</item></topics>\n", "t.tsv: holds no topics; write a line for each topic"),
        ('[{"qid": "1", "query": "x"}]\n', 't.tsv:1: is \'[{"qid": "1", "query": "x"}]\', not an object'),
        ("1\tgreen tea\ten\n", r"t.tsv:1: is '1\tgreen tea\ten'; a topic is an id, a tab, and the query's"),
        ('{"qid": true, "query": "x"}\n', "t.tsv:1: field 'qid' is True; an id is text or a whole number"),
        ('{"qid": null, "id": [1], "query": "x"}\n', "t.tsv:1: field 'id' is [1]; an id is text or a"),
    ],
)
def test_a_file_without_topics_or_with_a_bad_id_is_named(tmp_path: Path, topics: str, words: str) -> None:
    (tmp_path / "t.tsv").write_text(topics)
    (tmp_path / "a.run").write_text("1 Q0 d1 1 0.5 bm25\n")
    (tmp_path / "docs.tsv").write_text("d1\tone\n")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/{words}")):
        read_trec_dataset(
            tmp_path / "t.tsv", tmp_path / "docs.tsv", [tmp_path / "a.run"], lang="en", max_chars=400
        )


def test_whole_numbers_that_pandas_wrote_as_floats_name_topics_and_documents(tmp_path: Path) -> None:
    topics = write_rows(tmp_path / "t.jsonl", [{"qid": 1.0, "query": "x"}, {"qid": "2.0", "query": "y"}])
    docs = write_rows(tmp_path / "d.jsonl", [{"docid": 7.0, "text": "seven"}])
    (tmp_path / "a.run").write_text("1 Q0 7 1 0.5 bm25\n2.0 Q0 7 1 0.5 bm25\n")
    data = read_trec_dataset(topics, docs, [tmp_path / "a.run"], lang="en", max_chars=400)
    assert {id_: query.text for id_, query in data.queries.items()} == {"1": "x", "2.0": "y"}
    assert [ranking.snippets[0].text for ranking in data.rankings] == ["seven", "seven"]


def test_the_words_of_a_document_may_be_numbers_or_missing(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\tx\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 0.5 bm25\n1 Q0 7 2 0.4 bm25\n")
    documents = ({"docno": "d1", "text": None, "title": 1984}, {"docno": 7, "text": "x", "title": None})
    docs = write_rows(tmp_path / "docs.jsonl", documents)
    data = read_trec_dataset(tmp_path / "t.tsv", docs, [tmp_path / "a.run"], lang="en", max_chars=400)
    assert [(each.title, each.text) for each in data.rankings[0].snippets] == [("1984", ""), ("", "x")]


def test_one_bad_snippet_never_ends_a_run(tmp_path: Path) -> None:
    bad = [None, "", "<br>", "\ud83d", "nul \0", "x" * 1_000_000, "line\u2028separator"]
    path = tmp_path / "d.jsonl"
    path.write_text(
        "".join(json.dumps({**ROW, "rank": n, "snippet": text}) + "\n" for n, text in enumerate(bad, 1))
    )
    snippets = load(path).rankings[0].snippets
    assert [snippet.raw_text for snippet in snippets] == [text or "" for text in bad]


def test_with_complete_an_engine_without_a_row_returned_nothing() -> None:
    rows = [
        {"query_id": "1", "query": "p", "engine": "b", "snippet": "x"},
        {"query_id": "2", "query": "q", "engine": "a", "snippet": "y"},
        {"query_id": "2", "query": "q", "engine": "c", "error": "HTTP 503"},
    ]
    nested: list[dict[str, Any]] = [
        {"query_id": "1", "query": "p", "engines": {"a": [], "b": ["x"], "c": []}},
        {"query_id": "2", "query": "q", "engines": {"a": ["y"], "b": [], "c": {"error": "HTTP 503"}}},
    ]
    by_key = itemgetter("query_id", "engine")

    def list_rankings(dataset: Dataset) -> list[dict[str, Any]]:
        return sorted((asdict(ranking) for ranking in dataset.rankings), key=by_key)

    complete = load(rows, is_complete=True)
    assert list_rankings(complete) == list_rankings(load(nested))
    assert complete.warnings == (
        "some of the 2 queries have no row of these engines (in brackets: how many): 'a' (1), 'b' (1), 'c'"
        " (1); with --complete, they count as empty lists, which score 0",
    )
    (warning,) = load(rows).warnings
    assert (
        "run again with --complete (judge run: and with another --out): they then count as empty lists"
        in warning
    )
    assert not load(nested, is_complete=True).warnings


def test_engines_that_differ_in_case_only_are_named() -> None:
    rows = [{"query": "p", "engine": engine, "snippet": engine} for engine in ("bing", "Bing", "b", "BING")]
    assert [text for text in load(rows).warnings if "engines" in text] == [
        "the engines 'BING', 'Bing', 'bing' are different ones, although their names differ in upper and"
        " lower case only; if they are one engine, write its name alike in all rows"
    ]


def test_what_a_reader_should_know_is_a_warning(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"query": "p", "engine": "a", "snippet": "x"},
        {"query": "q", "engine": "a", "rank": 2, "snippet": "y"},
        {"query": "q", "engine": "b", "rank": 1, "snippet": "z"},
        {"query": "r", "engine": "a", "snippet": "x"},
        {"query": "r", "engine": "c", "snippet": "x"},
        {"query": "q", "engine": "c", "snippet": "y"},
    ]
    text = " | ".join(load(rows).warnings)
    # One message for all engines, with the one that lacks most first.
    assert "3 queries have no row of these engines (in brackets: how many): 'b' (2), 'c' (1); such" in text
    assert text.count("no row") == 1
    assert "engine 'a': the ranks of lists skip numbers, first for query 'q-" in text


def test_a_query_or_reference_that_is_cut_is_a_warning() -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "1", "query": "x" * 2000, "snippet": "s", "reference": " " * 9000 + "r"},
        {"query_id": "2", "query": "x" * 2001, "snippet": "s"},
        {"query_id": "3", "query": "y", "snippet": "s"},
        {"query_id": "3", "query": "y", "snippet": "t", "reference": "a b " * 600},
    ]
    data = load(rows)
    (output,) = data.warnings
    assert output == (
        "queries whose text or reference is cut at 2,000 characters in prompts: 2, the first is '2'"
    )
    assert [len(query.text) for query in data.queries.values()] == [2000, 2000, 1]
    assert load(rows[1:2]).warnings[0].endswith("in prompts: 1, the first is '2'")
    assert not load(rows[:1]).warnings


def test_queries_with_one_text_and_several_ids_are_remarked_on() -> None:
    rows = [
        {"query_id": str(number), "query": ["tea", "tea ", "red tea"][number % 3], "snippet": "s"}
        for number in range(6)
    ]
    (warning,) = load(rows).warnings
    assert warning.startswith("queries with the same text as another query: 4, for example '1' and '0'. They")


def test_errors_of_formulas_are_remarked_on_and_kept() -> None:
    texts = ["#N/A", " #REF! ", "#VALUE!", "#NAME?", "#DIV/0!", "Err:502", "#N/A means not available", "#1"]
    rows = [{"query": "tea", "snippet": text} for text in ["leaf", *texts]] + [
        {"query": "#N/A", "snippet": "green"}
    ]
    data = load(rows)
    (warning,) = data.warnings
    assert CHINESE(warning).startswith("7 个文本是公式的错误值，不是内容；第一个是第 2 行的字段 'snippet'，")
    assert warning == (
        "texts that are the error of a formula, not a value: 7, the first one '#N/A' at row 2, field"
        " 'snippet'. They are judged as they are; correct the formulas and write the dataset again"
    )
    assert [snippet.text for snippet in data.rankings[0].snippets[:3]] == ["leaf", "#N/A", "#REF!"]


def test_a_column_that_is_left_out_for_a_few_queries_is_remarked_on() -> None:
    """A column of results, with several values in most queries, is none of queries, and not used."""
    unused = "columns that are not used, because they differ between the results of a query: "
    rows: list[dict[str, Any]] = [
        {"query": f"query {number}", "engine": "a", "snippet": f"{rank}", "kind": "info", "position": rank}
        for number in range(30)
        for rank in range(3)
    ]
    (warning,) = load(rows).warnings
    advice = "if one of them is a field, such as title or url, set the option columns to FIELD=COLUMN"
    assert warning == f"{unused}'position'; {advice}"
    rows[4]["kind"] = "navx"
    data = load(rows)
    assert data.warnings[0].startswith(
        "column 'kind' has several values for 1 of 30 queries, first for query 'q-"
    )
    assert sum("kind" in query.extra for query in data.queries.values()) == 29
    for number in range(4):  # from a tenth of the queries on, it is a column of results
        rows[3 * number + 1]["kind"] = "navx"
    (warning,) = load(rows).warnings
    assert warning.startswith(f"{unused}'kind', 'position'; ")


def test_a_byte_order_mark_inside_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"query": "q", "snippet": "s"}\n\ufeff{"query": "q", "snippet": "t"}\n', "utf-8")
    assert get_refusal(path).startswith(f"{path}:2: is not JSON: Unexpected UTF-8 BOM")


def test_columns_with_several_values_for_one_query_are_named_in_order() -> None:
    rows = [{"query": f"query {number}", "snippet": "s"} for number in range(30)]
    names = ["brand", "city", "kind", "mood", "size", "team"]
    rows = [{**row, "engine": "a", **dict.fromkeys(names, "one")} for row in rows]
    warnings = load([*rows, {**rows[0], **dict.fromkeys(names, "two")}]).warnings
    assert [warning.split("'")[1] for warning in warnings] == names


@check_each(
    ("rows", "message"),
    [
        (
            [{"query_id": "1", "query": "tea"}, {"query_id": "1", "query": "coffee"}],
            "第 2 行：查询 ID '1' 在此处对应 'coffee'，在第 1 行对应 'tea'；请为每条查询指定不同的 ID",
        ),
        (
            [{"query": "tea", "reference": "green"}, {"query": "tea", "reference": "black"}],
            "第 2 行：字段 'reference' 在此处为 'black'，在第 1 行为 'green'；查询 'q-f7555cd1906a' 的",
        ),
        (
            [{"query": "tea"}, {"query": "tea", "error": "HTTP 500"}],
            "第 2 行：引擎 'engine' 有一条结果，但在第 1 行又有错误 'HTTP 500'；",
        ),
        (
            [{"query": "tea", "snippet": None, "error": "HTTP 500"}] * 2,
            "第 2 行：引擎 'engine' 第二次返回查询 'tea' 的结果，第一次在第 1 行；",
        ),
    ],
)
def test_both_places_of_rows_that_do_not_fit_are_in_chinese(
    rows: Sequence[Mapping[str, Any]], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        load([{"snippet": "s", **row} for row in rows])
    assert CHINESE(caught.value.message).startswith(message)


def test_languages_and_further_columns() -> None:
    rows: list[dict[str, Any]] = [
        {"query": query, "snippet": "s", "topic": "pets", "row": number}
        for number, query in enumerate(["小狗贫血", "dog anaemia", "Python 读取大文件", "犬の貧血とは"])
    ]
    data = load([*rows, {**rows[0], "row": 9}])
    assert [query.lang for query in data.queries.values()] == ["zh", "en", "zh", "en"]
    first, second, *_ = data.queries.values()
    assert first.extra == {"topic": "pets"}
    assert second.extra == {"topic": "pets", "row": "1"}
    assert {query.lang for query in read_dataset(rows, lang="zh", max_chars=400).queries.values()} == {"zh"}


@given(st.permutations(range(12)))
def test_the_order_of_ranked_rows_does_not_matter(order: list[int]) -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": "1", "query": "q", "engine": "ab"[n % 2], "rank": n // 2 + 1, "snippet": f"text {n}"}
        for n in range(12)
    ]
    data = load([rows[place] for place in order])
    assert list_texts(data, "a", "1") == [f"text {n}" for n in range(0, 12, 2)]
    assert list_texts(data, "b", "1") == [f"text {n}" for n in range(1, 12, 2)]


def test_a_column_that_may_name_the_engine_is_listed_where_no_field_does(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text("查询,摘要,引擎,名次\n煮蛋,六分钟,必应,1\n煮蛋,十分钟,搜狗,1\n", encoding="utf-8")
    columns = {"query": "查询", "snippet": "摘要"}
    data = load(path, columns=columns)
    assert data.engines == ("engine",)
    assert data.warnings == (
        "no result names an engine, so all count as results of one engine; if one of the columns"
        " '名次', '引擎' names it, set the option columns to engine=COLUMN",
    )
    named = load(path, columns={**columns, "engine": "引擎"})
    assert (named.engines, named.warnings) == (("必应", "搜狗"), ())


def test_whole_numbers_of_a_column_with_a_missing_one_have_no_decimals() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"query": ["tea", "milk", "salt"], "year": [2024, None, 2025], "size": [1.5, 2, 3]}
    rows = pandas.DataFrame({**columns, "snippet": "s"}).to_dict("records")
    assert [query.extra for query in load(rows).queries.values()] == [
        {"year": "2024", "size": "1.5"},
        {"size": "2"},
        {"year": "2025", "size": "3"},
    ]


def test_rows_of_one_engine_without_other_columns_have_no_remark(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": "s"}])
    assert load(path).warnings == ()


def test_a_column_of_dates_stays_with_the_query(tmp_path: Path) -> None:
    import pandas

    rows: list[dict[str, Any]] = [
        {"query": "q", "snippet": "s", "fresh": pandas.Timestamp("2026-02-01"), "seen": date(2026, 2, 3)},
        {"query": "r", "snippet": "t", "fresh": pandas.NaT, "seen": None},
    ]
    pandas.DataFrame(rows).to_parquet(tmp_path / "d.parquet")
    for data in (load(rows), load(tmp_path / "d.parquet")):
        extra = [query.extra for query in data.queries.values()]
        assert extra == [{"fresh": "2026-02-01", "seen": "2026-02-03"}, {}]


def test_lists_objects_and_lengths_of_time_stay_with_the_query(tmp_path: Path) -> None:
    import pandas

    values = {"tags": ["a", "ä"], "about": {"age": 3, "when": None}, "price": Decimal("1.50")}
    rows: list[dict[str, Any]] = [{"query": "q", "snippet": text, **values} for text in ("s", "t")]
    kept = {"tags": '["a", "ä"]', "about": '{"age": 3, "when": null}', "price": "1.50"}
    [query] = load([{**row, "took": pandas.Timedelta("90s"), "no": {1}} for row in rows]).queries.values()
    assert query.extra == {**kept, "took": "0 days 00:01:30"}
    path = write_rows(tmp_path / "d.jsonl", [{**row, "price": 1.5} for row in rows])
    [query] = load(path).queries.values()
    assert query.extra == {**kept, "price": "1.5"}
    [query] = load([rows[0], {**rows[1], "tags": ["a"]}]).queries.values()
    assert query.extra == {"about": kept["about"], "price": "1.50"}


def test_a_column_that_cannot_be_text_is_refused_with_its_row_and_name() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value, why in (
        ({(1, 2): 3}, "keys must be str"),
        (circle, "Circular reference"),
        (deep, "recursion depth"),
        (10**5000, "integer string conversion"),
    ):
        expected = f"row 2: field 'tags' cannot be written as text \\(.*{why}.*\\); make it a text"
        with pytest.raises(InputError, match=expected):
            load([ROW, {**ROW, "tags": value}])


def test_a_field_whose_name_is_neither_text_nor_a_number_is_refused() -> None:
    for name in (("x", "y"), b"x", date(2026, 1, 2)):
        row: dict[Any, Any] = {**ROW, name: 1}
        expected = f"row 1: the field with the value 1 is called {name!r}, which is neither text nor a"
        with pytest.raises(InputError, match=re.escape(expected)):
            load([row])


def test_a_field_whose_name_is_a_number_has_its_digits_as_its_name() -> None:
    row: dict[Any, Any] = {**ROW, 2024: "a", np.int64(7): "b", 1.5: "c", np.float64(2.5): "d", True: "e"}
    (query,) = load([row]).queries.values()
    assert query.extra == {"2024": "a", "7": "b", "1.5": "c", "2.5": "d", "True": "e"}


def test_an_engine_in_some_rows_only_is_refused_with_the_first_row_without_one(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("query,engine,snippet\ntea,a,green\ntea,,black\ntea,b,white\n", "utf-8")
    message = get_refusal(path)
    assert message.startswith(f"{path}:3: field 'engine' is missing, and {path}:2: field 'engine' is given")
    path.write_text("query,engine,snippet\nTotal,,\ntea,a,green\n", "utf-8")
    assert get_refusal(path).startswith(f"{path}:2: field 'engine' is missing, and {path}:3")
    path.write_text("query,engine,snippet\ntea,,green\ntea,,black\n", "utf-8")
    assert load(path).engines == ("engine",)


@check_each("with_id", [1, 2, 3])
def test_a_query_with_and_without_an_id_is_refused(with_id: int) -> None:
    data = [{"query": "Green tea", "engine": "a", "snippet": f"leaf {number}"} for number in range(3)]
    data[with_id - 1]["query_id"] = "q7"
    refused = rf"row {2 if with_id == 1 else 1}: field 'query_id' is missing"
    with pytest.raises(InputError, match=rf"{refused}, and the same query has the id 'q7' at row {with_id}"):
        load(data)


def test_a_blank_cell_among_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("query_id,query,snippet\nq7,green tea,leaf\n,Total,\n,Sum,\n", "utf-8")
    expected = f"{path}:3: field 'query_id' is missing, and {path}:2: field 'query_id' is given; fill it"
    assert get_refusal(path).startswith(expected)
    path.write_text("no,query,snippet\n,green tea,leaf\nq7,tea pot,leaf\n", "utf-8")
    expected = f"{path}:2: field 'no' is missing, and {path}:3: field 'no' is given; fill it"
    assert get_refusal(path, columns={"query_id": "no"}).startswith(expected)
    path.write_text("query_id,query,snippet\n,green tea,leaf\n,tea pot,leaf\n", "utf-8")
    assert len(load(path).queries) == 2
    with_null = [{**ROW, "query": "tea pot", "query_id": None}, ROW]
    for source in (with_null, write_rows(tmp_path / "d.jsonl", with_null)):
        with pytest.raises(InputError, match=r"1: field 'query_id' is missing, and .*2: field 'query_id' is"):
            load(source)


def test_merged_cells_explain_a_blank_field(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{**ROW, "query": "tea"}, {**ROW, "rank": 2}]
    for field in ("query", "query_id", "engine"):
        rows[1] = {**ROW, "query": "tea", "rank": 2, field: None}
        pandas.DataFrame(rows).to_parquet(tmp_path / "d.parquet")
        for path in (write_rows(tmp_path / "d.jsonl", rows), tmp_path / "d.parquet"):
            assert f"field '{field}' is missing" in get_refusal(path)
        path = tmp_path / "d.csv"
        lines = [",".join("" if value is None else str(value) for value in row.values()) for row in rows]
        path.write_text("\n".join([",".join(ROW), *lines]), "utf-8")
        refusal = get_refusal(path)
        assert f"{path}:3: field '{field}' is missing" in refusal
        assert "In a sheet, merged cells have a value in the first row only" in refusal


def test_queries_without_an_id_stand_beside_others_with_one() -> None:
    data = [{"query": "green tea", "query_id": "q7", "snippet": "leaf"}, {"query": "tea pot", "snippet": "x"}]
    assert len(load(data).queries) == 2


def test_a_document_id_that_pandas_made_a_float_is_a_whole_number() -> None:
    rows = [{"query": "tea", "snippet": "leaf", "docno": 11.0, "expected": 11.0}]
    data = read_dataset(rows, lang="auto", max_chars=4000, expected=True)
    assert data.rankings[0].snippets[0].docno == "11"
    assert data.queries[data.rankings[0].query_id].expected == ("11",)


def test_a_row_with_more_values_than_names_is_refused() -> None:
    (row,) = csv.DictReader(["query,snippet", "apple pie,apples, with cream"])
    with pytest.raises(InputError, match=r"row 1: the field with the value \[' with cream'\] is called None"):
        load([row])


def test_a_document_without_text_is_an_empty_snippet(tmp_path: Path) -> None:
    for name, content in (
        ("t.tsv", "1\ttea\n"),
        ("d.tsv", "d1\t\nd2\tleaf\n"),
        ("a.run", "1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n"),
    ):
        (tmp_path / name).write_text(content, "utf-8")
    data = read_trec_dataset(
        tmp_path / "t.tsv", tmp_path / "d.tsv", [tmp_path / "a.run"], lang="auto", max_chars=4000
    )
    assert [snippet.flags for snippet in data.rankings[0].snippets] == [("empty_snippet",), ()]
