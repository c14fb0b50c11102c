"""The same rows in every format and encoding give the same dataset; what is too large is refused."""

import codecs
import csv
import gzip
import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pandas
import pytest

from judge import example, pipeline
from judge.config.run import Config
from judge.dataset import text_files
from judge.errors import InputError
from judge.records import Dataset
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.datasets import read_dataset
from tests.support.factories import write_rows

ROWS = [
    {
        "query_id": str(100 + q),
        "query": ("小狗贫血的表现", "best soup; quick, warm | cheap")[q],
        "engine": engine,
        "rank": str(rank),
        "title": f"标题 {rank}",
        "snippet": f'{engine} {rank}: "狗狗" a;b,c|d\te\nsecond line {q}',
        "url": f"https://a.example/{rank}",
        "date": "2026-01-02",
        "topic": "health",
    }
    for q in range(2)
    for engine in ("bing", "other")
    for rank in range(1, 4)
] + [{"query_id": "100", "query": "小狗贫血的表现", "engine": "bing", "rank": "4", "title": "",
      "snippet": "=1+1", "url": "", "date": "", "topic": "health"}]  # fmt: skip
NAMES = list(ROWS[0])


def write_delimited(delimiter: str, names: Mapping[str, str] | None = None) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow([(names or {}).get(name, name) for name in NAMES])
    writer.writerows([row[name] for name in NAMES] for row in ROWS)
    return stream.getvalue()


def change_workbook(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return a workbook with a changed part."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            xml = old.read(name)
            if name == part:
                assert change(xml) != xml
                xml = change(xml)
            new.writestr(name, xml)
    return changed.getvalue()


def write_workbook(rows: list[list[Any]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    for number, row in enumerate(rows, start=1):
        for column, value in enumerate(row, start=1):
            cell = sheet.cell(number, column, value)
            if isinstance(value, str):
                cell.data_type = "s"
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def write_parquet() -> bytes:
    import pandas as pd

    content = io.BytesIO()
    pd.DataFrame(ROWS).to_parquet(content)
    return content.getvalue()


def write_json_lines() -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


FORMATS: Mapping[str, Callable[[], bytes]] = {
    "d.csv": lambda: write_delimited(",").encode(),
    "semicolon.csv": lambda: write_delimited(";").encode(),
    "tab.csv": lambda: write_delimited("\t").encode(),
    "pipe.csv": lambda: write_delimited("|").encode(),
    "excel.csv": lambda: b"sep=;\r\n" + write_delimited(";").encode(),
    "d.tsv": lambda: write_delimited("\t").encode(),
    "mark.csv": lambda: write_delimited(",").encode("utf-8-sig"),
    "utf16.csv": lambda: write_delimited("\t").encode("utf-16"),
    "utf16be.csv": lambda: codecs.BOM_UTF16_BE + write_delimited(",").encode("utf-16-be"),
    "utf16.jsonl": lambda: write_json_lines().encode("utf-16"),
    "mark.jsonl": lambda: write_json_lines().encode("utf-8-sig"),
    "d.json": lambda: json.dumps(ROWS).encode(),
    "d.xlsx": lambda: write_workbook([NAMES, *([row[name] for name in NAMES] for row in ROWS)]),
    "numbers.xlsx": lambda: write_workbook(
        [NAMES, *([int(row[name]) if name in ("query_id", "rank") else row[name] or None for name in NAMES]
                  for row in ROWS)]
    ),
    "d.parquet": write_parquet,
}  # fmt: skip


def read_file(path: Path, **given: Any) -> Dataset:
    return read_dataset(path, lang="auto", max_chars=4000, **given)


def get_refusal(path: Path, **given: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_file(path, **given)
    return str(caught.value)


def write_content(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.fixture(scope="module")
def expected_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return read_file(write_rows(tmp_path_factory.mktemp("x") / "d.jsonl", ROWS))


@check_each("name", [*FORMATS, *(f"{name}.gz" for name in FORMATS), "d.jsonl.gz"])
def test_the_same_rows_are_the_same_dataset(tmp_path: Path, expected_dataset: Dataset, name: str) -> None:
    content = write_json_lines().encode() if name == "d.jsonl.gz" else FORMATS[name.removesuffix(".gz")]()
    assert read_file(write_content(tmp_path, name, content)) == expected_dataset


def test_a_text_can_begin_as_a_parquet_file_does(tmp_path: Path) -> None:
    path = write_content(tmp_path, "d.csv", b"PAR1,query,snippet\nx,q,s\n")
    assert [query.extra for query in read_file(path).queries.values()] == [{"PAR1": "x"}]


def test_a_time_stamp_is_the_same_text_in_every_table(tmp_path: Path) -> None:
    stamps = [datetime(2026, 5, 1, 12, 30), datetime(2026, 5, 1)]
    rows = [{"query": "q", "rank": rank, "snippet": "s", "date": date} for rank, date in enumerate(stamps, 1)]
    pandas.DataFrame(rows).to_parquet(tmp_path / "d.parquet")
    workbook = write_workbook([[*rows[0]], *([*row.values()] for row in rows)])
    write_content(tmp_path, "d.xlsx", workbook)
    for name in ("d.parquet", "d.xlsx"):
        [ranking] = read_file(tmp_path / name).rankings
        assert [snippet.date for snippet in ranking.snippets] == ["2026-05-01 12:30:00", "2026-05-01"]


@check_each("name", FORMATS)
def test_a_gzip_file_needs_no_name_of_one(tmp_path: Path, expected_dataset: Dataset, name: str) -> None:
    path = write_content(tmp_path, name, gzip.compress(FORMATS[name]()))
    assert read_file(path) == expected_dataset


def test_lines_that_end_with_carriage_returns_alone_can_hold_other_separators(tmp_path: Path) -> None:
    path = write_content(tmp_path, "d.csv", "query,snippet\rq,one\u2028two\x85three\r".encode())
    [ranking] = read_file(path).rankings
    assert [snippet.raw_text for snippet in ranking.snippets] == ["one\u2028two\x85three"]


def test_the_same_rows_give_the_same_bytes_of_judgments(tmp_path: Path) -> None:
    given = {
        "d.jsonl": write_json_lines().encode(),
        **{name: FORMATS[name]() for name in ("d.xlsx", "utf16.csv")},
    }
    judgments = set()
    for name, content in given.items():
        out = tmp_path / "runs" / name
        data = write_content(tmp_path, name, content)
        pipeline.run(Config(data=str(data), model="lexical", out=str(out), store=str(tmp_path / f"{name}.s")))
        judgments.add((out / "judgments.jsonl").read_bytes())
    assert len(judgments) == 1


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.csv.gz"])
def test_chinese_that_is_not_utf8_is_gb18030_and_one_warning_says_so(
    tmp_path: Path, expected_dataset: Dataset, name: str, mark: str
) -> None:
    text = write_json_lines() if "jsonl" in name else write_delimited(",")
    path = write_content(tmp_path, name, (mark + text).encode("gb18030"))
    data = read_file(path)
    assert data == replace(expected_dataset, warnings=data.warnings)
    assert data.warnings == (
        f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong",
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("query,snippet\nété,déjà vu à côté\n".encode("latin-1"), "d.csv:2: is not UTF-8 at byte 1"),
        ("query,snippet\n紅茶的功效,每天喝一杯紅茶\n".encode("big5"), "d.csv:2: is not UTF-8 at byte 1"),
        ("query,snippet\nq,一二三四五六".encode()[:-1], "d.csv:2: is not UTF-8 at byte 18"),
        (codecs.BOM_UTF8 + b"query,snippet\nq,a\nq,\xff\xfe\n", "d.csv:3: is not UTF-8 at byte 3"),
        ("query,snippet\nq,s\n".encode("utf-16")[:-1], "d.csv:2: is not UTF-16 at byte 7"),
        ("query,snippet\nq,\ud800s\n".encode("utf-16", "surrogatepass"), "d.csv:2: is not UTF-16 at byte 5"),
        ("query,snippet\nq,s\n".encode("utf-32"), r"it begins with b'\xff\xfe\x00\x00'; save it as UTF-8"),
        ("query,snippet\nq,s\n".encode("utf-16-le"), r"it begins with b'q\x00u\x00'; save it as UTF-8"),
        ("query,snippet\nq,s\n".encode("utf-16-be"), r"it begins with b'\x00q\x00u'; save it as UTF-8"),
    ],
)
def test_an_encoding_that_is_no_other_one_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in get_refusal(write_content(tmp_path, "d.csv", content))


def test_an_invalid_character_behind_the_first_block_is_named(tmp_path: Path) -> None:
    content = b"query,snippet\n" + b"q,text\n" * 200_000 + b"q,\xff\n"
    path = write_content(tmp_path, "d.csv", content)
    assert "d.csv:200002: is not UTF-8 at byte 3" in get_refusal(path)


def test_columns_give_fields_the_file_s_names(tmp_path: Path, expected_dataset: Dataset) -> None:
    names = {"query": "q", "snippet": "text, cut", "rank": "place"}
    path = write_content(tmp_path, "d.csv", write_delimited(";", names).encode())
    assert read_file(path, columns=names) == expected_dataset
    out = tmp_path / "runs" / "x"
    done = run_judge(
        "run", path, "-m", "lexical", "--out", out, "--columns", "snippet=text, cut,query=q", "--columns",
        "rank=place",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wrong = run_judge("run", path, "-m", "lexical", "--columns", "snipet=text")
    assert (wrong.returncode, "did you mean 'snippet'" in wrong.stderr) == (2, True)


def test_columns_reach_into_nested_rows(tmp_path: Path) -> None:
    record = {
        "q": "tea",
        "engines": {"a": [{"text": "green", "name": "T"}], "b": [], "c": {"error": "down"}},
    }
    path = write_rows(tmp_path / "d.jsonl", [record])
    data = read_file(path, columns={"query": "q", "snippet": "text", "title": "name"})
    assert [
        (each.engine, [(s.title, s.text) for s in each.snippets], each.error) for each in data.rankings
    ] == [
        ("a", [("T", "green")], None),
        ("b", [], None),
        ("c", [], "down"),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("q,text,place\ntea,green,zero\n", "d.csv:2: field 'place' is 'zero'"),
        ("q,txt,place\ntea,green,1\n", "d.csv:1: the header lacks 'text'; its columns are 'q', 'txt',"),
        ("a,b\n", "lacks 'q', 'text' and 'place'; its columns are 'a', 'b'. Rename"),
        ("a,b\n", "--columns query=NAME,snippet=NAME,rank=NAME"),
        ("Results of May\nq,text,place\n", "'Results of May'. The first row must be the header"),
        ("q^text^place\n", "'q^text^place'. The first row must be the header, and commas, semicolons,"),
        ("q，text，place\ntea,green,1\n", "'q，text，place'. Separate the columns with half-width commas"),
        ("q,text，place\n", "'q', 'text，place'. Separate the columns with half-width commas"),
        ("q|text|place\ntea|green|1|2\n", "d.csv:2: the number of cells is 4, and that of the header 3"),
    ],
)  # fmt: skip
def test_errors_name_the_file_s_own_columns(tmp_path: Path, content: str, words: str) -> None:
    path = write_content(tmp_path, "d.csv", content.encode())
    assert words in get_refusal(path, columns={"query": "q", "snippet": "text", "rank": "place"})


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "q.csv",
            "query_id,query\n1,tea\n",
            "q.csv:1: the header lacks 'snippet'; its columns are 'query_id', 'query'. Rename",
        ),
        ("q.csv", "query\ntea\n", "queries only, get their results first: judge collect FILE --engine NAME"),
        ("q.csv", "query,Snippet\ntea,x\n", "or name it: --columns snippet=Snippet"),
        ("q.csv", "query, snippet\ntea,x\n", "holds it (case and spaces matter), or name it: --columns"),
        ("q.csv", "query,摘要\ntea,x\n", "or name it: --columns snippet=摘要"),
        ("q.csv", "query,text,引擎\ntea,x,a\n", "or name it: --columns snippet=NAME,engine=引擎"),
        ("q.jsonl", '{"query": "tea", "SNIPPET": "x"}\n', "or name it: --columns snippet=SNIPPET"),
        ("q.csv", "query,topic\ntea,food\n", "or name it: --columns snippet=NAME. If the file holds"),
        ("q.csv", "query,url\ntea,u\n", "lacks 'snippet'; its columns are 'query', 'url'. Rename the one"),
        ("q.csv", "query,text，url\ntea,green\n", "Separate the columns with half-width commas"),
        ("q.jsonl", '{"query": "tea"}\n', "q.jsonl:1: field 'snippet' is missing; the row has the fields"),
        ("q.txt", "tea\n", "If the file holds queries only, get their results first: judge"),
        (
            "q.csv",
            "query,engines\ntea,{}\n",
            "q.csv:1: the header lacks 'snippet'; its columns are 'query', 'engines'. Rename",
        ),
    ],
)
def test_a_file_without_snippets_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    assert words in get_refusal(write_content(tmp_path, name, content.encode()))


def test_a_formula_counts_as_what_was_saved_with_it(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["query", "snippet"])
    book.active.append(["tea", "=1+1"])
    book.save(tmp_path / "d.xlsx")
    assert "sheet 'Sheet' row 2: cell B2 has a formula without a saved value" in get_refusal(
        tmp_path / "d.xlsx"
    )
    # Excel and LibreOffice write t="str" for a text, which may be empty.
    for cell, value, text in ((b"", b"2", "2"), (b' t="str"', b"two", "two"), (b' t="str"', b"", "")):
        computed = b'<c r="B2"%b><f>1+1</f><v>%b</v>' % (cell, value)
        saved = change_workbook(
            (tmp_path / "d.xlsx").read_bytes(),
            "xl/worksheets/sheet1.xml",
            partial(re.compile(b"<c r=.B2.><f>1.1</f><v(?: /|></v)>").sub, computed),
        )
        (ranking,) = read_file(write_content(tmp_path, "s.xlsx", saved)).rankings
        assert [snippet.text for snippet in ranking.snippets] == [text]


def test_bytes_and_decimals_of_a_parquet_file_are_texts_and_whole_numbers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "query": ["capital"], "query_id": [Decimal(7)], "rank": [Decimal("1.0")],
        "snippet": ["巴黎".encode()], "title": [b"Paris"], "url": [b"https://a.example/1"],
    }  # fmt: skip
    parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
    data = read_dataset(tmp_path / "d.parquet", lang="zh", max_chars=400)
    (snippet,) = data.rankings[0].snippets
    assert list(data.queries) == ["7"]
    assert (snippet.title, snippet.text, snippet.url) == ("Paris", "巴黎", "https://a.example/1")
    with pytest.raises(InputError, match=r"row 1: field 'title' is b'.xff', not text"):
        read_dataset([{"query": "q", "snippet": "s", "title": b"\xff"}], lang="zh", max_chars=400)


def test_rows_of_a_table_without_a_text_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("query,snippet,engine\nq,s,a\n,,\n , ,\n", encoding="utf-8")
    assert len(read_dataset(tmp_path / "d.csv", lang="en", max_chars=400).rankings) == 1


def test_the_first_visible_sheet_is_read_and_named_where_there_are_others(tmp_path: Path) -> None:
    import openpyxl

    book, path = openpyxl.Workbook(), tmp_path / "d.xlsx"
    book.active.append(["query", "snippet"])
    book.active.append(["old", "leaf"])
    for name in ("Data", "More"):
        sheet = book.create_sheet(name)
        if name == "Data":
            sheet.append(["query", "snippet"])
            sheet.append(["tea", "leaf"])
    book.active.sheet_state = "hidden"
    book.save(path)
    data = read_file(path)
    assert [query.text for query in data.queries.values()] == ["tea"]
    warning = (
        f"{path}: only its first visible sheet 'Data' is read, not 'More'; to read another one, move it to"
        " the front"
    )
    assert data.warnings[0] == warning
    book["Data"].delete_rows(1)
    book.save(path)
    assert "lacks 'query' and 'snippet'; its columns are 'tea', 'leaf'. Rename" in get_refusal(path)
    assert get_refusal(path).endswith(warning)
    book["Data"].sheet_state = "hidden"
    book.active.sheet_state = "visible"
    book.move_sheet("More", -2)
    book.save(path)
    refusal = get_refusal(path)
    assert refusal.startswith(f"{path}: holds no rows; write one row for each result; {path}: only its first")
    assert "visible sheet 'More' is read, not 'Data'" in refusal


def test_the_cell_of_a_sheet_with_the_error_of_a_formula_is_named(tmp_path: Path) -> None:
    content = write_workbook([["query", "text"], ["tea", "leaf"], ["tea", "#REF!"]])
    path = write_content(tmp_path, "d.xlsx", content)
    (warning,) = read_dataset(path, lang="en", max_chars=400, columns={"snippet": "text"}).warnings
    assert f": 1, the first one '#REF!' at {path}: sheet 'Sheet' row 3, field 'text'. They" in warning


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 no archive"])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    path = write_content(tmp_path, "d.xlsx", content)
    assert get_refusal(path) == (
        f"{path}: is not an XLSX workbook, has a password, or is damaged (File is not a zip file); save it as"
        " XLSX again, without a password"
    )


def test_what_is_no_parquet_or_is_damaged_is_refused(tmp_path: Path) -> None:
    whole = write_parquet()
    for content in (b"", b"query,snippet\n", whole[:100], whole[:-8]):
        path = write_content(tmp_path, "d.parquet", content)
        assert get_refusal(path).startswith(f"{path}: is not a Parquet file, or is damaged (Parquet ")
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path = write_content(tmp_path, "d.parquet", whole[:footer] + b"\xff" * 8 + whole[footer + 8 :])
    assert get_refusal(path).startswith(f"{path}: is not a Parquet file, or is damaged (Couldn't deserialize")


def test_a_small_parquet_file_cannot_unpack_to_a_huge_one(tmp_path: Path) -> None:
    import pyarrow

    parquet = pytest.importorskip("pyarrow.parquet")
    long = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 100), ["x" * 11_000_000])
    at = pyarrow.array(range(101), pyarrow.int32())
    one = {"query": ["q"] * 100, "snippet": ["s"] * 100}
    for columns in (
        {**one, "snippet": long},
        {**one, "tags": pyarrow.ListArray.from_arrays(at, long)},
        {**one, "tags": pyarrow.StructArray.from_arrays([long], ["a"])},
        {**one, "tags": pyarrow.MapArray.from_arrays(at, pyarrow.array(["k"] * 100), long)},
    ):
        path = tmp_path / "d.parquet"
        parquet.write_table(pyarrow.table(columns), path, compression="zstd")
        assert path.stat().st_size < 5_000
        refused = (
            r"d\.parquet: unpacks to more than 1,073,741,824 bytes; if that is intended, save it unpacked"
        )
        assert re.search(refused, get_refusal(path)), columns


def test_a_categorical_column_of_a_parquet_file_has_its_values(tmp_path: Path) -> None:
    import pandas as pd

    pytest.importorskip("pyarrow")
    engines = pd.Categorical(["b", "a", "b"])
    frame = pd.DataFrame({"query": "q", "snippet": ["x", "y", "z"], "engine": engines})
    frame.to_parquet(tmp_path / "d.parquet")
    data = read_dataset(tmp_path / "d.parquet", lang="en", max_chars=400)
    assert {ranking.engine: len(ranking.snippets) for ranking in data.rankings} == {"a": 1, "b": 2}


def test_a_value_of_parquet_that_python_cannot_have_is_refused_with_its_field(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    offsets, latin1 = pyarrow.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0])), pyarrow.py_buffer(b"\xe9")
    for values, why in (
        (pyarrow.array([2**62]).cast(pyarrow.timestamp("us")), "date value out of range"),
        (
            pyarrow.Array.from_buffers(pyarrow.string(), 1, [None, offsets, latin1]),
            "'utf-8' codec can't decode",
        ),
    ):
        table = pyarrow.table({"query": ["q"], "snippet": ["s"], "date": values})
        parquet.write_table(table, tmp_path / "d.parquet")
        prefix = f"{tmp_path / 'd.parquet'}: field 'date' has an unreadable value: {why}"
        assert get_refusal(tmp_path / "d.parquet").startswith(prefix)


def test_a_workbook_with_a_password_says_what_to_do(tmp_path: Path) -> None:
    path = write_content(tmp_path, "d.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    refusal = get_refusal(path)
    assert refusal.startswith(f"{path}: is not an XLSX workbook, has a password, or is damaged (")
    assert refusal.endswith("; save it as XLSX again, without a password")


def test_a_damaged_workbook_is_refused_and_never_a_crash(tmp_path: Path) -> None:
    content, refused = FORMATS["d.xlsx"](), []
    for at in range(0, len(content), 97):
        path = write_content(tmp_path, "d.xlsx", content[:at] + b"\xff" + content[at + 1 :])
        try:
            read_file(path)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(message.startswith(str(tmp_path / "d.xlsx")) for message in refused)


SHEET, STYLES = "xl/worksheets/sheet1.xml", "xl/styles.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"


@check_each(
    ("part", "old", "new"),
    [
        (RELATIONS, b"/worksheet", b"/none"),  # no sheet
        (SHEET, b"<row", b"<row<"),
        (SHEET, b'r="A2"', b'r="ZZZZ1"'),
        (STYLES, b'numFmtId="0"', b'numFmtId="99999999999"'),
        (STYLES, b"<", b"<<"),
        (STYLES, b'rgb="00', b'rgb="zz'),  # openpyxl's message has three lines
        (STYLES, b'fontId="0"', b'fontId="x"'),
        ("docProps/core.xml", b"<", b"<<"),
    ],
)
def test_a_damaged_part_of_a_workbook_is_refused_on_one_line(part: str, old: bytes, new: bytes) -> None:
    content = change_workbook(FORMATS["d.xlsx"](), part, lambda xml: xml.replace(old, new))
    with tempfile.TemporaryDirectory() as folder:
        path = write_content(Path(folder), "d.xlsx", content)
        message = get_refusal(path)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1


def test_no_warning_of_openpyxl_reaches_the_reader_of_a_workbook(tmp_path: Path) -> None:
    content = change_workbook(
        FORMATS["d.xlsx"](), STYLES, lambda xml: re.sub(rb"<cellStyles.*</cellStyles>", b"", xml)
    )
    assert read_file(write_content(tmp_path, "d.xlsx", content)).queries


def test_a_row_beyond_the_end_of_a_sheet_is_refused(tmp_path: Path) -> None:
    row = b'<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>'
    content = change_workbook(
        FORMATS["d.xlsx"](), SHEET, lambda xml: xml.replace(b"</sheetData>", row + b"</sheetData>")
    )
    message = get_refusal(write_content(tmp_path, "d.xlsx", content))
    assert message.endswith("d.xlsx: sheet 'Sheet' has more than 1,048,576 rows; save it as CSV")


@pytest.mark.parametrize(
    ("byte", "value", "words"), [(4, 99, "zip file version"), (6, 1, "encrypted"), (6, 32, "patched")]
)
def test_an_archive_of_another_kind_is_refused(tmp_path: Path, byte: int, value: int, words: str) -> None:
    """Byte 4 and 6 of the entries are the version of the archive and its flags (APPNOTE 4.3.7 and 4.3.12)."""
    content = bytearray(FORMATS["d.xlsx"]())
    for start, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = -1
        while (at := content.find(start, at + 1)) >= 0:
            content[at + byte + shift] = value
    message = get_refusal(write_content(tmp_path, "d.xlsx", bytes(content)))
    assert "d.xlsx: is not an XLSX workbook" in message
    assert words in message


def test_a_packed_file_may_not_unpack_without_end(tmp_path: Path) -> None:
    path = write_content(tmp_path, "d.csv.gz", b"query,snippet\n" + b"q,s\n" * 10_000)
    with pytest.raises(InputError, match=r"d\.csv\.gz: unpacks to more than 1,000 bytes"), \
            text_files.open_bytes(path, 1000) as file:  # fmt: skip
        file.read()
    assert len(text_files.open_bytes(path, 40_014).read()) == 40_014


@check_each("end", [b"", b"\xff"])
def test_a_line_without_an_end_is_refused_in_bounded_memory(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "d.jsonl"
    with path.open("wb") as file:
        file.seek(300 << 20)  # a hole of 300 MiB
        file.write(end)
        file.truncate()
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (300 << 20, 300 << 20));"
        "from judge.cli.main import main; sys.exit(main(['run', sys.argv[1], '-m', 'lexical']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert f"{path}:1: the line has more than 67,108,864 characters" in done.stderr


def test_very_many_columns_are_read_in_linear_time(tmp_path: Path) -> None:
    def measure_seconds(columns: int) -> float:
        names = ["query", "snippet", *(f"c{number}" for number in range(columns))]
        path = write_content(tmp_path, "d.csv", (",".join(names) + "\n").encode())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        assert "holds no rows" in get_refusal(path)
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before

    # What takes quadratic time takes 100 times as long for 10 times as many.
    assert measure_seconds(300_000) < 50 * max(measure_seconds(30_000), 0.01)


@check_each(
    "words",
    [
        ("run", "x" * 300 + ".csv", "-m", "lexical"),
        ("score", "x" * 300),
        ("run", example.find_dataset(), "-m", "lexical", "--out", "x" * 300),
        ("run", example.find_dataset(), "-m", "lexical", "--config", "x" * 300),
        ("run", example.find_dataset(), "-m", "lexical", "--prompts", "x" * 300),
    ],
)
def test_a_name_that_is_too_long_is_one_clear_line(words: tuple[object, ...]) -> None:
    done = run_judge(*words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "File name too long" in done.stderr


def test_an_engine_s_name_that_is_too_long_is_named(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d.jsonl", [{"query": "q", "snippet": "s", "engine": "e" * 300}])
    assert "d.jsonl:1: field 'engine' is 'eeee" in get_refusal(path)
