"""People's labels are read from what their tools write, and land on the pairs they are about."""

import gzip
from pathlib import Path

import pytest

from judge.analysis.judged_run import JudgedRun, RunSpec, score_run
from judge.dataset.label_files import load_label_file, load_labels, read_feedback, read_labels
from judge.dataset.labels import Label, LabelSet, choose_label_scale, match_labels, select_labellable
from judge.dataset.pool import pool_dataset
from judge.errors import InputError
from judge.measure.measures import parse_measures
from judge.messages import cut_value
from judge.records import BINARY, GRADED, Dataset, Judgment, Pool, Scale, ScaleName
from judge.runs.export import format_qrels, iter_query_entries
from tests.support.cases import check_each
from tests.support.datasets import read_dataset

HEADER = "query_id,snippet_id,grade\n"


def read_label_file(folder: Path, content: str | bytes, name: str = "labels") -> tuple[Label, ...]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_labels(path, print)


def get_refusal(folder: Path, content: str | bytes) -> str:
    """What the refusal says, less the folder."""
    with pytest.raises(InputError) as caught:
        read_label_file(folder, content)
    return str(caught.value).replace(f"{folder}/", "")


def describe(result: tuple[Label, ...]) -> list[tuple[str, str, int]]:
    return [(label.query_id, label.item, label.grade) for label in result]


def make_dataset(*rows: dict[str, str]) -> tuple[Dataset, Pool]:
    data = read_dataset(
        [{"query": f"about {row['query_id']}", **row} for row in rows], lang="en", max_chars=400
    )
    return pool_dataset(data, 10)


def make_row(query_id: str, engine: str, snippet: str, docno: str = "") -> dict[str, str]:
    return {"query_id": query_id, "engine": engine, "snippet": snippet, "docno": docno}


def map_ids(content: Pool) -> dict[str, str]:
    """Snippet ids by text."""
    return {pair.snippet.text: pair.snippet.id for pair in content.pairs}


def label(query_id: str, item: str, grade: int) -> Label:
    return Label(query_id, item, grade, "labels:1")


def test_qrels_with_blanks_or_tabs_packed_or_not(tmp_path: Path) -> None:
    text = "q1 0 D1 2\n\nq1\t0\tD/2 \t 0\r\n  q2  Q0 必应#1   1"
    expected = [("q1", "D1", 2), ("q1", "D/2", 0), ("q2", "必应#1", 1)]
    result = read_label_file(tmp_path, text)
    assert describe(result) == expected
    assert [each.location for each in result] == [f"{tmp_path / 'labels'}:{number}" for number in (1, 3, 4)]
    assert describe(read_label_file(tmp_path, gzip.compress(text.encode(), mtime=0), "qrels.csv")) == expected


def test_qrels_of_beir_are_read(tmp_path: Path) -> None:
    text = "query-id\tcorpus-id\tscore\nq1\tD1\t2\nq1\tD2\t0\n"
    assert describe(read_label_file(tmp_path, text, "test.tsv")) == [("q1", "D1", 2), ("q1", "D2", 0)]


@pytest.mark.parametrize(
    ("encoding", "is_guess"), [("utf-8-sig", False), ("utf-16", False), ("gb18030", True)]
)
@pytest.mark.parametrize("text", ["问题 0 文档 2\n", HEADER + "问题,文档,2\n"])
def test_labels_are_read_in_the_encodings_of_datasets(
    tmp_path: Path, text: str, encoding: str, is_guess: bool
) -> None:
    path = tmp_path / "labels"
    path.write_bytes(text.encode(encoding))
    warnings: list[str] = []
    assert describe(read_labels(path, warnings.append)) == [("问题", "文档", 2)]
    assert warnings == is_guess * [
        f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong"
    ]


def test_negative_grades_of_qrels_are_junk_or_not_judged(tmp_path: Path) -> None:
    assert describe(read_label_file(tmp_path, "q 0 spam -2\nq 0 unseen -1\nq 0 fine 1")) == [
        ("q", "spam", 0),
        ("q", "fine", 1),
    ]
    assert "labels:2: field 'grade' is '-1'" in get_refusal(tmp_path, HEADER + "q,s,-1\n")


@check_each("separator", ",;\t")
@check_each("end", ["\n", "\r\n", "\r"])
def test_spreadsheets_of_any_country(tmp_path: Path, separator: str, end: str) -> None:
    rows = [
        ["comment", "Query_ID", " snippet_id ", "grade"],
        [f'"says ""no""{separator}{end} twice"', "q1", "s1", "2"],
        ["", "q1", '"s2"', "0.0"],
        ["", "", "", ""],
        ["", "q2", "s1", ""],
        ["", "q2", "s2"],
        ["", "q2", "s3", "是"],
        ["", "q2", "s4", " No "],
        ["", "q2", "s5", "３"],
    ]
    text = "\ufeff" + end.join(separator.join(cells) for cells in rows) + end
    result = read_label_file(tmp_path, text)
    assert describe(result) == [
        ("q1", "s1", 2), ("q1", "s2", 0), ("q2", "s3", 1), ("q2", "s4", 0), ("q2", "s5", 3)
    ]  # fmt: skip
    assert [each.location.rsplit(":", 1)[1] for each in result] == ["2", "4", "8", "9", "10"]
    assert [each.is_yes_no for each in result] == [False, False, True, True, False]


@check_each("end", ["\n", "\r\n"])
def test_the_line_that_tells_excel_the_separator_is_skipped(tmp_path: Path, end: str) -> None:
    text = end.join(["\ufeffsep=;", "query_id;snippet_id;grade", "q1;s1;2", "q1;s2;0", ""])
    result = read_label_file(tmp_path, text)
    assert describe(result) == [("q1", "s1", 2), ("q1", "s2", 0)]
    assert [each.location.rsplit(":", 1)[1] for each in result] == ["3", "4"]


def test_feedback_may_begin_with_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "feedback.csv"
    path.write_text("sep=\t\nquery_id\tsnippet_id\tfeedback\nq1\ts1\tup\n", encoding="utf-8")
    (label,) = read_feedback(path).labels["thumbs"]
    assert (label.query_id, label.item, label.grade, label.location) == ("q1", "s1", 1, f"{path}:3")


def test_there_is_nothing_to_label_where_there_is_no_text() -> None:
    _, pool = make_dataset(make_row("q", "a", "one"), make_row("q", "b", " <br> "), make_row("r", "a", ""))
    assert [pair.snippet.text for pair in select_labellable(pool)] == ["one"]
    assert len(pool.pairs) == 3


@check_each("unsure", ["", "?", "？", "unsure", "Unsure ", "不确定", '""'])
def test_who_is_not_sure_has_not_labelled(tmp_path: Path, unsure: str) -> None:
    assert describe(read_label_file(tmp_path, HEADER + f"q,a,{unsure}\nq,b,1\n")) == [("q", "b", 1)]
    assert "labels: contains no label" in get_refusal(tmp_path, HEADER + f"q,a,{unsure}\n")


def test_the_most_specific_column_names_the_item(tmp_path: Path) -> None:
    assert describe(read_label_file(tmp_path, "docno,grade,document,query_id\nD1,1,d-7,q\n")) == [
        ("q", "d-7", 1)
    ]
    assert describe(read_label_file(tmp_path, "docno\tgrade\tquery_id\titer\nD1\t1\tq\t0\n")) == [
        ("q", "D1", 1)
    ]


def test_a_label_given_twice_counts_once_and_a_contradiction_is_refused(tmp_path: Path) -> None:
    assert describe(read_label_file(tmp_path, HEADER + "q,a,1\nq,b,0\nq,a,1.0\np,a,2\n")) == [
        ("q", "a", 1), ("q", "b", 0), ("p", "a", 2)
    ]  # fmt: skip
    assert (
        get_refusal(tmp_path, "q 0 a 1\nq 0 b 0\nq 0 a 2\n")
        == "labels:3: field 'grade' of 'a' for query 'q' is 2 here and 1 at labels:1; keep one"
    )


@check_each("grade", ["2.5", "1,5x", "good", "1e1", "true", "+1", "½", "9" * 5000, "1 2", "nan"])
def test_a_grade_that_is_none_is_refused_by_name(tmp_path: Path, grade: str) -> None:
    message = get_refusal(tmp_path, HEADER + f'q,a,1\nq,b,"{grade}"\n')
    assert message.startswith(
        f"labels:3: field 'grade' is {cut_value(repr(grade), 80)}, not a whole number from 0; write one"
    )
    if " " not in grade:
        assert get_refusal(tmp_path, f"q 0 a {grade}\n").startswith("labels:1: field 'grade' is ")


@check_each(
    ("content", "message"),
    [
        ("", "labels: is empty; labels are TREC qrels"),
        (" \r\n\n", "labels: is empty"),
        ("q 0 a\n", "labels:1: is 'q 0 a'; labels are TREC qrels (query_id, iteration"),
        ("q 0 a 1\nq 0 a 1 0.5 tag\n", "labels:2: is 'q 0 a 1 0.5 tag'; labels"),
        ("qid,docno,grade\nq,a,1\n", "labels:1: is 'qid,docno,grade'; labels are TREC qrels"),
        ("query_id,grade\nq,1\n", "labels:1: the header lacks snippet_id or document or docno; its"),
        ("query_id,docno,rel\nq,a,1\n", "labels:1: the header lacks grade; its columns are 'query_id',"),
        ("query_id,docno,grade,grade\nq,a,1,2\n", "labels:1: column 'grade' is given twice"),
        (HEADER + "q,a,1,b\n", "labels:2: the number of cells is 4, and that of the header 3; quote"),
        (HEADER + "q,,1\n", "labels:2: field 'snippet_id' is empty and the row has the grade '1'"),
        (HEADER + ",a,1\n", "labels:2: field 'query_id' is empty and the row has the grade '1'"),
        (HEADER + 'q,a,1\nq,"b,1\n', "labels:3: is not CSV"),
        (HEADER, "labels: contains no label"),
        ("q 0 a -1\n", "labels: contains no label"),
        (gzip.compress(b"q 0 a 1", mtime=0)[:-9], "labels: cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_label_file_is_refused_where_it_is_wrong(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    assert get_refusal(tmp_path, content).startswith(message)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "none.csv", print)
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path, print)


def test_a_document_s_label_goes_to_every_snippet_that_shows_it() -> None:
    data, pool = make_dataset(
        make_row("q", "a", "one", "D1"), make_row("q", "a", "two", "D2"),
        make_row("q", "b", "other excerpt", "D1"), make_row("p", "a", "one", "D1"),
    )  # fmt: skip
    result = match_labels([label("q", "D1", 2), label("q", "D9", 1), label("x", "D1", 1)], data, pool)
    of = map_ids(pool)
    assert result.grades == {("q", of["one"]): 2, ("q", of["other excerpt"]): 2}
    assert result.unmatched == (("q", "D9"), ("x", "D1"))


def test_documents_without_a_docno_go_by_the_pool_s_name() -> None:
    rows = [
        {**make_row("q", engine, text), "url": "https://site.example/p"}
        for engine, text in (("a", "x"), ("b", "y"))
    ]
    data, pool = make_dataset(*rows, make_row("q", "b", "z"))
    (document,) = data.rankings[0].documents
    result = match_labels([label("q", document, 1)], data, pool)
    assert result.grades == {("q", map_ids(pool)["x"]): 1, ("q", map_ids(pool)["y"]): 1}


def test_a_snippet_s_own_label_comes_first_and_then_the_best_document() -> None:
    data, pool = make_dataset(
        make_row("q", "a", "same", "D1"), make_row("q", "b", "same", "D2"), make_row("q", "b", "more", "D1"),
    )  # fmt: skip
    same, more = map_ids(pool)["same"], map_ids(pool)["more"]
    documents = [label("q", "D1", 1), label("q", "D2", 3)]
    for given in (documents, documents[::-1]):
        matched = match_labels(given, data, pool)
        assert matched.grades == {("q", same): 3, ("q", more): 1}
        assert matched.warnings == (
            "pairs whose documents have different labels: 1, the first is of query 'q'; the highest label"
            " counts, because equal texts are one pair",
        )
        assert not match_labels([label("q", same, 0), *given], data, pool).warnings
        assert match_labels([label("q", same, 0), *given], data, pool).grades == {
            ("q", same): 0,
            ("q", more): 1,
        }
        assert match_labels([*given, label("q", same, 0)], data, pool).grades == {
            ("q", same): 0,
            ("q", more): 1,
        }


def test_names_are_known_as_they_are_as_trec_files_and_as_spreadsheets_write_them() -> None:
    data, pool = make_dataset(
        make_row("日本 x", "a", "one", "http://a/b c"), make_row("=1+1", "a", "two", "-x")
    )
    one, two = map_ids(pool)["one"], map_ids(pool)["two"]
    for query_id, item in (("日本 x", "http://a/b c"), ("日本%20x", "http:%2F%2Fa%2Fb%20c"), ("日本 x", one)):
        assert match_labels([label(query_id, item, 1)], data, pool) == LabelSet(
            {("日本 x", one): 1}, BINARY, ""
        )
    for query_id, item in (("=1+1", "-x"), ("'=1+1", "'-x"), ("=1+1", "'-x"), ("'=1+1", two)):
        assert match_labels([label(query_id, item, 1)], data, pool) == LabelSet(
            {("=1+1", two): 1}, BINARY, ""
        )


def test_a_name_as_it_is_comes_before_an_escaped_one() -> None:
    data, pool = make_dataset(
        make_row("a b", "e", "one", "D 1"),
        make_row("a%20b", "e", "two", "D 1"),
        make_row("a%20b", "e", "3", "D%201"),
    )
    of = map_ids(pool)
    assert match_labels([label("a%20b", "D%201", 1)], data, pool).grades == {("a%20b", of["3"]): 1}
    assert match_labels([label("a b", "D%201", 1)], data, pool).grades == {("a b", of["one"]): 1}


def test_the_dataset_s_spelling_of_an_id_is_found(tmp_path: Path) -> None:
    data, pool = make_dataset(make_row("cafe\u0301", "e", "one", "D1"))
    assert len(match_labels(read_label_file(tmp_path, "cafe\u0301 0 D1 1"), data, pool).grades) == 1


def test_the_run_s_own_qrels_can_be_read_back(tmp_path: Path) -> None:
    names = ["D/1", "=D", "a b", "'x", "100%", "必应，1", "half \ud800", "\u3000"]
    queries = ["q 1", "=q", "100%", "小狗"]
    data, pool = make_dataset(
        *(make_row(query, "e", f"text of {name}", name) for query in queries for name in names)
    )
    graded = {(pair.query.id, pair.snippet.id): number % 4 for number, pair in enumerate(pool.pairs)}
    judgments = [
        Judgment(query_id, snippet_id, 1, grade, "", None, "", "", {}, "", None)
        for (query_id, snippet_id), grade in graded.items()
    ]
    run = JudgedRun(data, pool, judgments, RunSpec("assessor", GRADED, 1, parse_measures("P@5")))
    entries = iter_query_entries(run, score_run(run, run.spec.measures))
    text = "".join(format_qrels(entry, ()) for entry in entries)
    assert match_labels(read_label_file(tmp_path, text), data, pool) == LabelSet(graded, GRADED, "")


def test_snippets_below_the_depth_are_no_pairs() -> None:
    data, _ = make_dataset(make_row("q", "e", "one", "D1"), make_row("q", "e", "two", "D2"))
    data, shallow = pool_dataset(data, 1)
    result = match_labels([label("q", "D1", 1), label("q", "D2", 1)], data, shallow)
    assert list(result.grades) == [("q", map_ids(shallow)["one"])]
    assert result.unmatched == (("q", "D2"),)


def test_labels_of_another_run_are_refused_with_an_example_of_each_side() -> None:
    data, pool = make_dataset(make_row("q", "e", "one", "D1"))
    with pytest.raises(InputError) as caught:
        match_labels([label("q", "X", 1), label("z", "D1", 0)], data, pool)
    for part in ("labels:1", "none of the rows (2)", "'q'", "'X'", repr(map_ids(pool)["one"]), "'D1'"):
        assert part in str(caught.value)
    with pytest.raises(InputError, match="nothing to compare"):
        match_labels([], data, pool)


@pytest.mark.parametrize(
    ("grades", "scale", "says"),
    [
        (
            (1, 0, 1),
            GRADED,
            "are 0, 1, and their scale is assumed to be 0 to 3, relevant from 2; if that",
        ),
        (
            (2, 0, 1),
            GRADED,
            "are 0, 1, 2, and their scale is assumed to be 0 to 3, relevant from 2; if that",
        ),
        ((2,), GRADED, "are 2, and their scale is assumed"),
        ((0, 3), GRADED, ""),
        ((0,), BINARY, ""),
    ],
)
def test_a_scale_that_the_grades_leave_open_is_a_remark(
    tmp_path: Path, grades: tuple[int, ...], scale: Scale, says: str
) -> None:
    texts = [f"text {number}" for number in range(len(grades))]
    data, pool = make_dataset(*(make_row("q", "e", text, text[-1]) for text in texts))
    path = tmp_path / "labels"
    path.write_text("".join(f"q 0 {number} {grade}\n" for number, grade in enumerate(grades)))
    for labels in (load_labels(path, data, pool, scale), load_label_file(path)):
        is_open = labels.scale == GRADED and max(grades) < 3
        assert [warning.partition(" the labels ")[2][: len(says)] for warning in labels.warnings] == (
            [says] if is_open else []
        )
    assert load_labels(path, data, pool, scale, scale.name).warnings == ()


def test_the_text_of_one_query_is_its_name_where_no_id_is() -> None:
    rows = [("1", "贫血 症状"), ("2", "same"), ("3", "same"), ("same4", "1"), ("5", "caf\u00e9")]
    data, pool = make_dataset(
        *({**make_row(query_id, "e", "a", "D"), "query": text} for query_id, text in rows)
    )
    for name, query_id in (("贫血 症状", "1"), ("1", "1"), ("caf\u00e9", "5")):
        assert [key[0] for key in match_labels([label(name, "D", 1)], data, pool).grades] == [query_id]
    with pytest.raises(InputError) as caught:
        match_labels([label("same", "D", 1), label("贫血", "D", 1)], data, pool)
    assert str(caught.value) == (
        "labels:1: none of the rows (2) is about this run. This one has query 'same' and 'D'; the run has,"
        f" for example, query '1' with snippet '{pool.pairs[0].snippet.id}' of document 'D'. Write the ids of"
        " the run, or the exact texts of its queries. Is the file of another run?"
    )
    both = [label("1", "D", 1), label("贫血 症状", "D", 1)]
    assert list(match_labels(both, data, pool).grades.values()) == [1]
    with pytest.raises(InputError, match="field 'grade' of 'D' for query '贫血 症状' is 2 here and 1 at"):
        match_labels([both[0], label("贫血 症状", "D", 2)], data, pool)


def test_yes_is_no_grade_of_the_graded_scale(tmp_path: Path) -> None:
    """It would be the grade 1, which is not relevant there."""
    words = read_label_file(tmp_path, HEADER + "q,a,yes\nq,b,no\n")
    assert choose_label_scale([1, 0], GRADED, None, words) == BINARY
    with_no = read_label_file(tmp_path, HEADER + "q,a,3\nq,b,no\n")
    assert choose_label_scale([3, 0], GRADED, None, with_no) == GRADED
    graded: ScaleName = "graded"
    for text, name in (("q,a,3\nq,b,yes\n", None), ("q,b,no\nq,c,2\nq,a,yes\n", None), ("q,a,yes\n", graded)):
        labels = read_label_file(tmp_path, HEADER + text)
        with pytest.raises(InputError, match=r"labels:\d: the grade is yes, and other grades"):
            choose_label_scale([label.grade for label in labels], GRADED, name, labels)


@pytest.mark.parametrize("name", ["labels.csv", "labels.xlsx"])
def test_a_workbook_is_no_label_file_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\x03\x04\x14\x00\x06\x00")
    with pytest.raises(InputError, match="a table as CSV"):
        read_labels(path, print)
