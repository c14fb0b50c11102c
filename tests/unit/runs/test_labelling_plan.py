"""What people fill in shows what the assessor saw, gives nothing away, and comes back whole."""

import csv
import io
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judge.dataset.label_files import read_labels
from judge.dataset.labels import match_labels, select_labellable
from judge.dataset.pool import build_pool, pool_dataset
from judge.errors import InputError
from judge.records import Dataset, Pool
from judge.runs.labelling_plan import COLUMNS, make_rows, write_plan
from tests.support.cases import count_examples
from tests.support.datasets import read_dataset

HOSTILE = [
    "=HYPERLINK(1)", "'=1+1", " @SUM(A1)", 'a "quote", or; two\ttabs', "two\nlines\r\nthree", "小狗贫血",
    "\ud83d alone", "\ufeffmark", "\x00\x1b[31m", "\u2028", "007", "1-2", "'", '"', "",
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(), max_size=12))
IDS = st.one_of(
    st.sampled_from(["=1", "'=1", "''=1", "-1", "007", "'007", "7", "1e5", "a b", "a%20b", "日本 x", "?"]),
    st.text(st.sampled_from("'=+-@0159.e% ab狗"), min_size=1, max_size=6).filter(
        lambda text: text.strip() not in ("", ".", "..")
    ),
)
ROWS = st.lists(
    st.tuples(IDS, st.sampled_from(["bing", "=other"]), TEXTS, TEXTS, TEXTS), min_size=1, max_size=12
)


def make_dataset(
    given_rows: list[tuple[str, ...]], depth: int = 3, max_chars: int = 400
) -> tuple[Dataset, Pool]:
    """Rows of query id, engine, title, date, snippet; the address tells the engine."""
    names = ("query_id", "engine", "title", "date", "snippet")
    data = read_dataset(
        [
            {
                "query": f"=about {row[0].strip()}",
                "url": f"https://{row[1]}.example/{number}",
                **dict(zip(names, row, strict=True)),
            }
            for number, row in enumerate(given_rows)
        ],
        lang="en",
        max_chars=max_chars,
        dates=True,
    )
    return pool_dataset(data, depth)


def read_table(path: Path) -> list[dict[str, str]]:
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


@settings(max_examples=count_examples(15))
@given(
    ROWS,
    st.integers(0, 3),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
)
def test_every_label_comes_back_to_its_pair(
    given_rows: list[tuple[str, ...]], seed: int, separator: str, end: str, mark: str
) -> None:
    data, pool = make_dataset(given_rows)
    assume(select_labellable(pool))
    query_ids = list(data.queries)
    with tempfile.TemporaryDirectory() as folder:
        path = write_plan(Path(folder) / "plan.csv", make_rows(data, pool, query_ids, seed))
        filled = read_table(path)
        truth = {}
        for number, row in enumerate(make_rows(data, pool, query_ids, seed)):
            truth[row[0], row[3]] = number % 4
            filled[number]["grade"] = str(number % 4)
            filled[number]["comment"] = row[6].encode("utf-8", "replace").decode()
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(mark)
            lines = csv.DictWriter(file, COLUMNS, delimiter=separator, lineterminator=end)
            lines.writeheader()
            lines.writerows(filled)
        result = match_labels(read_labels(path, print), data, pool)
    assert truth.keys() == {(pair.query.id, pair.snippet.id) for pair in select_labellable(pool)}
    assert result.grades == truth
    assert result.unmatched == ()


@settings(max_examples=count_examples(8))
@given(ROWS)
def test_no_cell_is_a_formula_and_every_byte_is_utf8(given_rows: list[tuple[str, ...]]) -> None:
    data, contents = make_dataset(given_rows)
    with tempfile.TemporaryDirectory() as folder:
        path = write_plan(Path(folder) / "plan.csv", make_rows(data, contents, list(data.queries)))
        content = path.read_bytes()
        written = read_table(path)
    assert content.startswith(
        b"\xef\xbb\xbfquery_id,query,reference,snippet_id,title,date,snippet,grade,comment\r\n"
    )
    assert b"\x00" not in content
    assert len(written) == len(select_labellable(contents))
    assert not any(
        cell.lstrip()[:1] in tuple("=+-@") and cell.strip() for row in written for cell in row.values()
    )


def test_people_see_what_the_assessor_saw_and_no_more(tmp_path: Path) -> None:
    data, pool = make_dataset(
        [("q", "bing", "<b>A &amp; B</b>", "2026-05-01", "one<br>two"), ("q", "baidu", "", "", "=3")]
    )
    path = write_plan(tmp_path / "plan.csv", make_rows(data, pool, ["q"]))
    rows = sorted(read_table(path), key=lambda row: row["title"])
    shown = {pair.snippet.text: pair.snippet.id for pair in pool.pairs}
    query = {"query_id": "q", "query": "'=about q", "reference": "", "grade": "", "comment": ""}
    # A date has no apostrophe for people to wonder at: it is not read back.
    dated = {"title": "A & B", "date": "2026-05-01", "snippet": "one\ntwo"}
    assert rows == [
        {**query, "snippet_id": shown["=3"], "title": "", "date": "", "snippet": "'=3"},
        {**query, "snippet_id": shown["one\ntwo"], **dated},
    ]
    text = path.read_text(encoding="utf-8-sig")
    for name in ("bing", "baidu", "example"):
        assert name not in text


@given(st.integers(0, 10_000))
def test_the_order_of_the_rows_says_nothing_of_engines_or_ranks(seed: int) -> None:
    chance = random.Random(seed)
    texts = [f"text {number}" for number in range(8)]
    given_rows: list[tuple[str, ...]] = [("q", engine, "", "", text) for engine in "ab" for text in texts]
    data, pool = make_dataset(given_rows, depth=10)
    chance.shuffle(given_rows)
    renamed = [(row[0], {"a": "z"}.get(row[1], row[1]), *row[2:]) for row in given_rows]
    other, pooled = make_dataset(renamed, depth=10)
    assert list(make_rows(other, pooled, ["q"])) == list(make_rows(data, pool, ["q"]))


def test_the_order_is_shuffled_by_the_seed_within_a_query_alone() -> None:
    texts = [f"text {number:02}" for number in range(30)]
    data, pool = make_dataset([(query, "e", "", "", text) for query in "pqr" for text in texts], depth=50)

    def read_order(seed: int) -> list[tuple[str, str]]:
        return [(row[0], row[6]) for row in make_rows(data, pool, ["r", "p", "r"], seed)]

    assert [query for query, _ in read_order(0)] == ["r"] * 30 + ["p"] * 30
    assert sorted(read_order(0)[:30]) == [("r", text) for text in texts] != read_order(0)[:30]
    assert [text for _, text in read_order(0)[:30]] != [text for _, text in read_order(0)[30:]]
    assert read_order(0) == read_order(0) != read_order(1)
    # The same on every machine and under every hash seed.
    assert [text for _, text in read_order(0)[:4]] == ["text 05", "text 24", "text 10", "text 21"]


def test_only_the_pool_is_asked_about() -> None:
    data, pool = make_dataset([("q", "e", "", "", text) for text in ("one", "two", "three")], depth=2)
    assert {row[6] for row in make_rows(data, pool, ["q"])} == {"one", "two"}
    assert list(make_rows(data, pool, [])) == []


def test_snippets_without_text_are_not_asked_about() -> None:
    data, pool = make_dataset(
        [("q", "e", "", "", "one"), ("q", "e", "", "2026-05-01", " <br> "), ("r", "e", "", "", "")]
    )
    assert [row[:4] for row in make_rows(data, pool, ["q", "r"])] == [
        ("q", "=about q", "", next(pair.snippet.id for pair in pool.pairs if pair.snippet.text))
    ]


def test_people_see_the_known_answer_as_the_assessor_does(tmp_path: Path) -> None:
    rows = [{"query": "how tall?", "engine": "e", "snippet": "very", "reference": "=8,849 m"}]
    data = read_dataset(rows, lang="en", max_chars=400)
    (row,) = read_table(
        write_plan(tmp_path / "plan.csv", make_rows(data, build_pool(data, 3), list(data.queries)))
    )
    assert (row["query"], row["reference"], row["snippet"]) == ("how tall?", "'=8,849 m", "very")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root becomes another user")
def test_a_plan_in_a_read_only_folder_needs_another_path() -> None:
    data, pool = make_dataset([("q", "e", "", "", "one")])
    with tempfile.TemporaryDirectory() as name:
        os.setreuid(65534, 0)
        try:
            with pytest.raises(
                InputError, match="is not a folder that takes files; make it, or name another"
            ):
                write_plan(Path(name) / "plan.csv", make_rows(data, pool, ["q"]))
        finally:
            os.setreuid(0, 0)


def test_labels_are_never_overwritten(tmp_path: Path) -> None:
    data, pool = make_dataset([("q", "e", "", "", "one")])
    with pytest.raises(InputError, match="none' is not a folder that takes files; make it"):
        write_plan(tmp_path / "none" / "plan.csv", make_rows(data, pool, ["q"]))
    assert list(tmp_path.iterdir()) == []
    path = write_plan(tmp_path / "plan.csv", make_rows(data, pool, ["q"]))
    path.write_text("my labels")
    with pytest.raises(InputError, match="exists and may contain labels of people"):
        write_plan(path, make_rows(data, pool, ["q"]))
    assert path.read_text() == "my labels"
    assert list(tmp_path.iterdir()) == [path]


def test_a_cell_fits_a_spreadsheet() -> None:
    data, pool = make_dataset([("q", "e", "", "", "x" * 100_000)], max_chars=100_000)
    with tempfile.TemporaryDirectory() as folder:
        (row,) = read_table(write_plan(Path(folder) / "plan.csv", make_rows(data, pool, ["q"])))
    assert 30_000 < len(row["snippet"]) < 32_767
