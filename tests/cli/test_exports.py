"""Spreadsheets, line readers and trec_eval can read the files of a run, whatever its names contain."""

import csv
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import judge
from judge.dataset.field_values import protect_cell, unescape_candidates
from judge.errors import InputError
from judge.files.json_text import dump_json
from tests.support.cases import check_each
from tests.support.command_line import run_judge

#: Names with a special meaning for a spreadsheet, a path, a column or a file system.
ENGINES = (
    *(
        "=HYPERLINK(1)",
        "+e",
        "-1",
        "@SUM(A1)",
        "＝全角",
        "﹦small",
        "'=quoted",
        "con",
        "Bing",
        "bing",
        "a%2e",
        "a b",
    ),
    *(".hidden", 'a,b "x"', "$(id)", "Straße", "STRASSE", "長" * 66, "n" * 200, "n" * 199 + "N", "007"),
)
QUERIES = ("=cmd|'C calc'!A0", "-2+3", "日本 語", "007")
#: Characters that end a line or a file for some reader, and a lone surrogate.
ODD = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei \x00 \x1a \ud83d half, =1+1"
TEXTS = ("signs of anaemia: pale gums", "a walk in the park", "anaemia in a puppy, signs of it")
#: First characters of a formula.
FORMULA = tuple("=+-@\t\r\n＝＋－＠﹢﹣﹦﹫")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with these names of engines and queries, and such texts."""
    dataset = tmp_path_factory.mktemp("exports")
    rows = (
        {
            "query_id": query,
            "query": f"{ODD} signs of anaemia {number}",
            "engine": engine,
            "rank": rank,
            "snippet": f"=1+1 {text} {ODD}",
            "title": f"@ {ODD}",
            "url": f"https://{rank}.example/{ODD}",
            "docno": f"D {TEXTS.index(text)} \u3000",
            "=1+1": ODD,
        }
        for number, query in enumerate(QUERIES)
        for place, engine in enumerate(ENGINES)
        for rank, text in enumerate(TEXTS[place % 3 :] + TEXTS[: place % 3], start=1)
    )
    data = dataset / "data.jsonl"
    data.write_text("".join(dump_json(row) + "\n" for row in rows), encoding="utf-8")
    result = run_judge("run", data, "-m", "lexical", "--out", dataset / "runs" / "x")
    assert result.returncode == 0, result.stderr
    planned = run_judge("agree", dataset / "runs" / "x", "--plan", len(QUERIES))
    assert planned.returncode == 0, planned.stderr
    return dataset / "runs" / "x"


def read_cells(path: Path) -> list[list[str]]:
    """Return the records of a CSV by Python's own reader."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def remove_apostrophe(text: str) -> str:
    """Return the text of a cell without the apostrophe before a formula."""
    return unescape_candidates(text)[0]


def test_every_file_stays_in_the_run_s_folder_under_a_name_of_its_own(run: Path) -> None:
    dataset = run.parents[1]
    around = {path.relative_to(dataset).parts[0] for path in dataset.rglob("*")}
    assert around == {"data.jsonl", "runs"}
    assert {path.parent for path in run.rglob("*")} == {run}
    lists = list(run.glob("run.*.trec"))
    assert len(lists) == len(ENGINES)
    assert len({path.name.casefold() for path in run.iterdir()}) == len(list(run.iterdir()))
    assert max(len(path.name.encode()) for path in run.iterdir()) <= 255


@pytest.mark.parametrize("name", ["scores.csv", "labels.csv"])
def test_no_cell_is_a_formula_and_all_read_back_as_they_were(run: Path, name: str) -> None:
    import pandas as pd

    table = read_cells(run / name)
    assert len({len(row) for row in table}) == 1
    assert [each for row in table for each in row if each.lstrip(" \ufeff").startswith(FORMULA)] == []
    by_pandas = pd.read_csv(run / name, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    assert [list(by_pandas.columns), *by_pandas.to_numpy().tolist()] == table
    queries = {remove_apostrophe(row[table[0].index("query_id")]) for row in table[1:]}
    assert queries == set(QUERIES)
    if "engine" in table[0]:
        assert {remove_apostrophe(row[table[0].index("engine")]) for row in table[1:]} == set(ENGINES)


def test_labels_come_back_to_the_queries_they_were_planned_for(run: Path, tmp_path: Path) -> None:
    header, *rows = read_cells(run / "labels.csv")
    place, filled = header.index("grade"), tmp_path / "filled.csv"
    with filled.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([header, *([*row[:place], "1", *row[place + 1 :]] for row in rows)])
    agreed = run_judge("agree", run, "--qrels", filled, "--json")
    assert agreed.returncode == 0, agreed.stderr
    assert json.loads(agreed.stdout)["pairs"] == len(rows)


def test_a_line_of_json_is_one_line_for_every_reader(run: Path) -> None:
    import pandas as pd

    for path in run.glob("*.jsonl"):
        text = path.read_bytes().decode("utf-8")
        lines = text.splitlines()
        assert len(lines) == text.count("\n") == len(text.split("\n")) - 1
        assert all(isinstance(json.loads(line), dict) for line in lines)
        assert len(pd.read_json(path, lines=True)) == len(lines)


def test_no_file_holds_half_a_character_or_a_control_character(run: Path) -> None:
    for path in run.iterdir():
        text = path.read_bytes().decode("utf-8")  # a lone surrogate would have no bytes
        assert re.findall("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", text) == [], path


def test_trec_eval_reads_every_list(run: Path) -> None:
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (run / "qrels.txt").read_text(encoding="utf-8").splitlines():
        query, _, docno, grade = line.split()
        qrels[query][docno] = int(grade)
    assert len(qrels) == len(QUERIES)
    tags = set()
    for path in run.glob("run.*.trec"):
        with path.open(encoding="utf-8") as file:
            listed = pytrec_eval.parse_run(file)
        tags |= {line.split()[5] for line in path.read_text(encoding="utf-8").splitlines()}
        result = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg"}).evaluate(listed)
        assert result.keys() == qrels.keys()
        assert all(0 < each["ndcg"] <= 1 for each in result.values())
    assert len(tags) == len(ENGINES)


UNBEARABLE = ("../../x", "a/b", "a\\b", "nul\x00", "x" * 300, "", ".", "..", "a\nb", "a\u202eb", "\ud83d")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit for open files")
def test_more_engines_than_files_that_can_be_open(tmp_path: Path) -> None:
    engines, queries = [f"e{number}" for number in range(25)], 4
    rows = [
        {
            "query": f"q {query}",
            "engine": engine,
            "rank": rank,
            "snippet": f"text {rank}",
            "docno": f"D{rank}" + "x" * 2000,
        }
        for query in range(queries)
        for engine in engines
        for rank in range(1, 11)
    ]
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 20, before[1]))
    try:
        judge.run(rows, "lexical", out=str(tmp_path / "run"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    for engine in engines:
        lines = (tmp_path / "run" / f"run.{engine}.trec").read_text(encoding="utf-8").splitlines()
        assert [line.split()[3] for line in lines] == [str(rank) for rank in range(1, 11)] * queries


@pytest.mark.parametrize("field", ["engine", "query_id"])
def test_a_name_that_is_no_file_name_is_refused_before_anything_is_paid(field: str, tmp_path: Path) -> None:
    out = tmp_path / "runs" / "x"
    for name in UNBEARABLE:
        row = {"query": "q", "engine": "e", "snippet": "s", field: name}
        with pytest.raises(InputError, match=f"field '{field}' is"):
            judge.run([row], model="lexical", out=str(out))
    data = tmp_path / "data.jsonl"
    data.write_text(dump_json(row) + "\n", encoding="utf-8")
    result = run_judge("run", data, "-m", "lexical", "--out", out)
    assert result.returncode == 2
    assert f"data.jsonl:1: field {field!r}" in result.stderr.replace("\n", " ")
    assert not out.exists()


@check_each("text", ["\t=1", "\r=1", "\tplain", "﹦1", "﹢1", "﹣1", "﹫a", "\u3000＝1"])
def test_a_cell_that_may_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert protect_cell(text) == "'" + text
    assert unescape_candidates(protect_cell(text))[0] == text
