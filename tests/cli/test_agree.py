"""`judge agree` end to end: agreement with labels, bias for an engine, and the corrected order."""

import csv
import io
import json
import random
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import judge
from judge import finished_run
from judge.errors import InputError
from judge.runs.record_json import to_json
from tests.support.cases import check_each
from tests.support.command_line import make_words, run_judge
from tests.support.factories import (
    extract_fenced,
    list_rows,
    make_rows,
    read_judgments,
    read_summary,
    reply_with_grade,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

Judged = Mapping[str, Any]


def make_unfair_rows(queries: int) -> list[dict[str, Any]]:
    """Return rows whose snippets state the grade of people: baidu's are warm, and worse than they seem."""
    rng = random.Random(0)
    return [
        {
            "query_id": f"q{query}",
            "query": f"question {query}",
            "engine": engine,
            "rank": rank,
            "snippet": f"text {query}.{rank} grade={rng.choice(grades)}{tone}",
        }
        for query in range(queries)
        for engine, grades, tone in (("bing", (0, 1, 2, 3), ""), ("baidu", (0, 1, 2), " and warm"))
        for rank in (1, 2, 3)
    ]


def reply_in_favour_of_warmth(request: ChatRequest) -> Reply:
    """Reply with the grade that a snippet states, and one more for a warm tone."""
    shown = extract_fenced(request.prompt)
    grade = int(read_stated_grade(shown)) + ("warm" in shown)
    return Reply(text=json.dumps({"reason": f"it says {grade}", "grade": grade}))


def read_stated_grade(snippet: str) -> str:
    match = re.search(r"grade=(\d)", snippet)
    assert match, snippet
    return match[1]


@pytest.fixture(scope="module")
def unfair_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of 120 queries whose model favours baidu."""
    folder = tmp_path_factory.mktemp("unfair")
    out = folder / "runs" / "x"
    with LoopbackServer(reply_in_favour_of_warmth) as server:
        data = write_rows(folder / "d.jsonl", make_unfair_rows(120))
        result = run_judge(*make_words(data, server), "--out", out, "--depth", 3, "--measures", "nDCG@3 P@3")
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of six queries, two engines and four results each, with the stated grades."""
    folder = tmp_path_factory.mktemp("plain")
    out = folder / "runs" / "x"
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge(
            *make_words(write_rows(folder / "d.jsonl", make_rows(6, 2, 4)), server), "--out", out
        )
    assert result.returncode == 0, result.stderr
    return out


def write_labels(path: Path, judgments: Iterable[Judged], grade: Callable[[Judged], object]) -> Path:
    """Write a CSV with a grade of people for each judgment."""
    rows = [f"{each['query_id']},{each['snippet_id']},{grade(each)}\n" for each in judgments]
    path.write_text("query_id,snippet_id,grade\n" + "".join(rows))
    return path


def make_plan(run: Path, path: Path, count: int, *words: object) -> list[dict[str, str]]:
    """Let `judge agree` write a plan and return its rows."""
    run_agree(run, "--plan", count, "--out", path, *words)
    return read_plan(path)


def read_plan(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def fill_plan(path: Path) -> Path:
    """Fill the grades of people into a plan, in the format of a spreadsheet, and return the path."""
    rows = [{**row, "grade": read_stated_grade(row["snippet"])} for row in read_plan(path)]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        lines = csv.DictWriter(file, list(rows[0]))
        lines.writeheader()
        lines.writerows(rows)
    return path


def read_agreement(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "agreement.json").read_text(encoding="utf-8"))
    return content


def run_agree(*words: object) -> str:
    """Return what `judge agree` prints."""
    result = run_judge("agree", *words)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def run_refused(*words: object) -> str:
    """Return the message of `judge agree` for a refused command."""
    result = run_judge("agree", *words)
    assert (result.returncode, result.stdout) == (2, "")
    return result.stderr.removeprefix("judge: ").removesuffix("\n")


def test_a_run_s_own_grades_agree_with_it_wholly(plain_run: Path) -> None:
    text = run_agree(plain_run, "--qrels", plain_run / "qrels.txt")
    assert "people's grade \\ the assessor's" in text
    assert (
        "Agreement on relevant or not: almost perfect; the same on 100.0% of the pairs, kappa 1.000" in text
    )
    result = read_agreement(plain_run)
    for name in ("kappa", "kappa_quadratic", "alpha", "kappa_relevant"):
        assert result[name] == {"value": 1, "ci95": [1, 1]}
    # Six queries without a difference do not exclude one on other queries.
    assert result["same_grade"] == {"value": 1, "ci95": [pytest.approx(0.025 ** (1 / 6)), 1]}
    assert result["pairs"] == result["labelled_pairs"] == 48
    assert (result["unmatched_labels"], result["unlabelled_pairs"]) == (0, 0)
    assert result["widest_gap"]["difference"]["value"] == 0
    for order in result["orders"].values():
        assert order["swapped"] == []
        assert order["people"] == order["assessor"]


def test_documents_and_snippets_are_two_names_of_one_label(plain_run: Path, tmp_path: Path) -> None:
    by_document = judge.agree(plain_run, plain_run / "qrels.txt")
    path = write_labels(tmp_path / "qrels.txt", read_judgments(plain_run), lambda each: each["grade"])
    assert judge.agree(plain_run, path) == by_document


def test_the_file_holds_what_is_printed(plain_run: Path, tmp_path: Path) -> None:
    path = write_labels(
        tmp_path / "labels.csv", read_judgments(plain_run)[::2], lambda each: (each["grade"] + 1) // 2 + 1
    )
    text = run_agree(plain_run, "--qrels", path)
    result = read_agreement(plain_run)
    assert f"{result['kappa_relevant']['value']:.3f}" in text
    for name in ("kappa", "alpha", "bias", "precision"):
        assert f"{result[name]['value']:.3f}" in text
    assert f"{result['orders']['nDCG@10']['tau']['value']:.4f}" in text
    assert f"24 pairs of {result['queries']} queries" in text
    assert json.loads(run_agree(plain_run, "--qrels", path, "--json")) == result
    assert to_json(judge.agree(plain_run, path)) == result


def test_a_table_by_hand(tmp_path: Path) -> None:
    rows = [
        {"query_id": query, "query": f"about {query}", "engine": "e", "snippet": f"{query}{at} grade={grade}"}
        for query, grades in (("p", "3201"), ("q", "0030"))
        for at, grade in enumerate(grades)
    ]
    run = tmp_path / "runs" / "x"
    with LoopbackServer(reply_with_grade) as server:
        completed = run_judge(*make_words(write_rows(tmp_path / "d.jsonl", rows), server), "--out", run)
    assert completed.returncode == 0, completed.stderr
    people = {"p0": 3, "p1": 3, "p2": 0, "p3": 2, "q0": 1, "q1": "?", "q2": 3, "q3": ""}
    shown = {
        each["snippet_id"]: text
        for each, text in zip(read_judgments(run), list_first_words(run), strict=True)
    }
    path = write_labels(
        tmp_path / "l.csv", read_judgments(run), lambda each: people[shown[each["snippet_id"]]]
    )
    result = to_json(judge.agree(run, path))
    # Rows people, columns assessor: p0 3/3, p1 3/2, p2 0/0, p3 2/1, q0 1/0, q2 3/3; two were not sure.
    assert result["confusion"] == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]]
    assert (result["labelled_pairs"], result["unlabelled_pairs"], result["wholly_labelled_queries"]) == (
        6,
        2,
        1,
    )
    assert result["same_grade"]["value"] == 1 / 2
    assert result["same_verdict"]["value"] == pytest.approx(5 / 6)
    assert result["bias"]["value"] == pytest.approx(-3 / 6)
    # Agreement by chance on the grades: people 1 1 1 3, the assessor 2 1 1 2 of 6.
    rng = (1 * 2 + 1 * 1 + 1 * 1 + 3 * 2) / 36
    assert result["kappa"]["value"] == pytest.approx((1 / 2 - rng) / (1 - rng))


def list_first_words(run: Path) -> list[str]:
    """Return the first word of each judgment's snippet, in the order of judgments."""
    content = json.loads((run / "results.json").read_text(encoding="utf-8"))
    shown = {
        snippet["snippet_id"]: snippet["snippet"].split()[0]
        for query in content["queries"]
        for engine in query["engines"].values()
        for snippet in engine["snippets"]
    }
    return [shown[each["snippet_id"]] for each in read_judgments(run)]


def test_labels_about_nothing_are_counted(plain_run: Path, tmp_path: Path) -> None:
    path = write_labels(tmp_path / "labels.csv", read_judgments(plain_run), lambda each: each["grade"])
    with path.open("a") as file:
        file.write("q0,nothing,1\nelsewhere,nothing,2\n")
    text = run_agree(plain_run, "--qrels", path)
    assert "Labels that match no pair of this run are ignored: 2." in text
    assert read_agreement(plain_run)["unmatched_labels"] == 2
    assert read_agreement(plain_run)["kappa"]["value"] == 1


def test_different_labels_of_one_text_are_a_warning(tmp_path: Path) -> None:
    texts = {"d1": "same", "d2": "same", "d3": "other"}
    rows = [{"query_id": "1", "query": "q", "docno": name, "snippet": text} for name, text in texts.items()]
    run = judge_by_lexical(tmp_path, "graded", rows)
    labels = tmp_path / "labels.txt"
    labels.write_text("1 0 d1 3\n1 0 d2 0\n1 0 d3 1\n")
    warning = "pairs whose documents have different labels: 1, the first is of query '1'; the highest label"
    assert warning in " ".join(run_agree(run, "--qrels", labels).split())
    assert judge.agree(run, labels).warnings[0].startswith(warning)


def test_a_guess_at_the_encoding_of_labels_is_a_warning(plain_run: Path, tmp_path: Path) -> None:
    path = write_labels(tmp_path / "labels.csv", read_judgments(plain_run), lambda each: each["grade"])
    with path.open("a", encoding="gb18030") as file:
        file.write("问题,没有,1\n")
    warning = f"{path}: is not UTF-8 and was read as GB18030; save it as UTF-8 if that is wrong"
    for run in (plain_run, path):
        assert warning in " ".join(run_agree(run, "--qrels", path).split())
    assert read_agreement(plain_run)["warnings"] == [warning]
    run_agree(plain_run, "--qrels", plain_run / "qrels.txt")
    assert "warnings" not in read_agreement(plain_run)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("q0 0 d-nothing 1\n", "none of the rows (1) is about this run"),
        ("q0 0 a 1\nq0 0 b\n", "labels:2: is 'q0 0 b'; labels are"),
        ("query_id,snippet_id,grade\nq0,a,1\nq0,b,good\n", "labels:3: field 'grade' is 'good'"),
        ("q0 0 a 1\nq0 0 a 2\n", "labels:2: field 'grade'"),
        ("", "labels: is empty"),
        ("q0 0 \x1b[31m\x07 1\n", r"\x1b[31m\x07"),
    ],
)
def test_labels_that_can_t_be_used_are_refused_by_line(
    plain_run: Path, tmp_path: Path, content: str, says: str
) -> None:
    before = read_files(plain_run)
    path = tmp_path / "labels"
    path.write_text(content)
    text = run_refused(plain_run, "--qrels", path)
    assert says in text
    assert "\x1b" not in text
    assert read_files(plain_run) == before


def read_files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def test_invalid_options_are_refused(plain_run: Path, unfair_run: Path, tmp_path: Path) -> None:
    path = write_labels(tmp_path / "labels.csv", read_judgments(plain_run), lambda each: each["grade"])
    high = write_labels(tmp_path / "high.csv", read_judgments(plain_run), lambda each: each["grade"] + 1)
    assert "--qrels FILE" in run_refused(plain_run)
    for words in (["--qrels", path], ["--qrels", path, "--run", path]):
        refusal = run_refused("gone", *words)
        assert (
            refusal == "gone: no such folder or file; name the folder of a finished run, or a file of grades"
        )
    assert "5.json: no such file" in run_refused(plain_run, "--qrels", path, "--plan", 5)
    assert "--plan is 'x y'" in run_refused(plain_run, "--plan", "x", "--plan", "y")
    top = next(at for at, each in enumerate(read_judgments(plain_run), start=2) if each["grade"] == 3)
    text = run_refused(plain_run, "--qrels", high)
    assert (
        text
        == f"{high}:{top}: has grade 4; the graded scale ends at 3; write grades from 0 to 3 into the file"
    )
    text = run_refused(plain_run, "--qrels", path, "--labels-scale", "binary")
    assert "has grade 2; the binary scale ends at 1" in text
    assert "--labels-scale is 'odd'" in run_refused(plain_run, "--qrels", path, "--labels-scale", "odd")
    assert "no measure 'foo'" in run_refused(plain_run, "--qrels", path, "--measure", "foo")
    assert "measures that do: nDCG@10" in run_refused(plain_run, "--qrels", path, "--measure", "nDCG@7")
    assert "finished run" in run_refused(tmp_path / "none", "--qrels", path)
    text = run_refused(plain_run, "--qrels", path, "--qrels", high)
    assert text == "--qrels takes one file, and there are 2; put all labels in one"
    assert run_refused(plain_run, "--qrels", tmp_path / "none") == f"{tmp_path / 'none'}: no such file"
    for count in (0, -1, 7):
        assert f"cannot draw a plan of {count} queries: the run has 6" in run_refused(
            plain_run, "--plan", count
        )
    assert not (plain_run / "labels.csv").exists()
    assert "none of the rows (48) is about this run" in run_refused(unfair_run, "--qrels", path)


@pytest.fixture(scope="module")
def graded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge_by_lexical(tmp_path_factory.mktemp("graded"), "graded")


@pytest.fixture(scope="module")
def binary_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge_by_lexical(tmp_path_factory.mktemp("binary"), "binary")


def judge_by_lexical(folder: Path, scale: str, rows: list[dict[str, Any]] | None = None) -> Path:
    """Return a run of the lexical model, which counts shared words."""
    judge.run(rows or make_worded_rows(), model="lexical", scale=scale, out=str(folder / "runs" / "x"))
    return folder / "runs" / "x"


def make_worded_rows() -> list[dict[str, Any]]:
    """Return rows whose snippets have more or fewer of the query's words."""
    rng = random.Random(1)
    filler = ["anaemia", "puppy", "signs", "gums", "food", "walk", "cat"]
    return [
        {
            "query_id": f"q{query}", "query": "signs of anaemia in a puppy", "engine": engine, "rank": rank,
            "snippet": " ".join(rng.choices(filler, k=7)),
        }
        for query in range(8) for engine in ("a", "b", "c") for rank in (1, 2, 3, 4)
    ]  # fmt: skip


def test_grades_and_yes_or_no_are_compared_as_relevant_or_not(
    graded_run: Path, binary_run: Path, tmp_path: Path
) -> None:
    """The lexical model says yes from grade 2 on, so that the grades of each run agree with the other."""
    as_grades = write_labels(tmp_path / "grades.csv", read_judgments(graded_run), lambda each: each["grade"])
    as_words = write_labels(
        tmp_path / "words.csv", read_judgments(binary_run), lambda each: "是" if each["grade"] else "no"
    )
    for run, path, theirs in ((binary_run, as_grades, "graded"), (graded_run, as_words, "binary")):
        output = run_agree(run, "--qrels", path)
        result = read_agreement(run)
        assert result["people_scale"] == theirs
        assert result["kappa_relevant"]["value"] == result["same_verdict"]["value"] == 1
        for name in ("same_grade", "kappa_quadratic", "alpha", "bias"):
            assert result[name]["value"] is None
            assert "different scales" in result[name]["why"]
        assert "different scales" in output
        for each in result["engines"].values():
            assert each["bias"]["value"] == 0


def test_the_labels_scale_is_the_run_s_unless_said(graded_run: Path, tmp_path: Path) -> None:
    """Labels of 0 and 1 are grades here, not yes and no."""
    path = write_labels(
        tmp_path / "labels.csv", read_judgments(graded_run), lambda each: min(each["grade"], 1)
    )
    text = run_agree(graded_run, "--qrels", path)
    assert (
        "labels.csv: the grades of the labels are 0, 1, and their scale is assumed to be 0 to 3, relevant"
        " from 2; if that is wrong, write 0 to 3, or yes and no, into the file, or set the option"
        " labels-scale\n"
    ) in text
    result = read_agreement(graded_run)
    assert (result["people_scale"], len(result["confusion"])) == ("graded", 4)
    assert result["bias"]["value"] > 0
    assert result["recall"] == {"value": None, "ci95": None, "why": "people call nothing relevant"}
    agreement = json.loads(run_agree(graded_run, "--qrels", path, "--labels-scale", "binary", "--json"))
    assert (agreement["people_scale"], agreement["bias"]["value"]) == ("binary", None)


def test_a_single_grade_on_both_sides_has_a_result(tmp_path: Path) -> None:
    rows = [{**row, "snippet": f"nothing {row['rank']}{row['engine']}"} for row in make_worded_rows()]
    run = judge_by_lexical(tmp_path, "graded", rows)
    output = run_agree(
        run, "--qrels", write_labels(tmp_path / "labels.csv", read_judgments(run), lambda _: 0)
    )
    assert "both sides gave the same answer to every pair" in output
    assert "they agree on 100%" in output
    assert read_agreement(run)["kappa_relevant"]["value"] is None


def test_a_plan_is_filled_in_and_read_back(plain_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    rows = make_plan(plain_run, path, 5)
    assert len({row["query_id"] for row in rows}) == 5
    assert len(rows) == 5 * 8
    assert {row["grade"] for row in rows} == {""}
    assert "contains no label" in run_refused(plain_run, "--qrels", path)
    run_agree(plain_run, "--qrels", fill_plan(path))
    result = read_agreement(plain_run)
    assert (result["pairs"], result["wholly_labelled_queries"], result["unmatched_labels"]) == (40, 5, 0)
    assert result["kappa"]["value"] == 1
    filled = path.read_bytes()
    assert "exists and may contain labels of people" in run_refused(plain_run, "--plan", 5, "--out", path)
    assert path.read_bytes() == filled


def test_a_plan_lies_in_the_run_s_folder_unless_said(plain_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "a copy"
    shutil.copytree(plain_run, run)
    output = run_agree(run, "--plan", 2)
    labels = run / "labels.csv"
    assert (
        f"the column 'grade' with 0 to 3, then: judge agree '{run}' --qrels '{labels}'"
        " --labels-scale graded\n" in output
    )
    assert f"Or label on a page: judge annotate '{run}' --plan '{labels}'\n" in output
    assert len(read_plan(run / "labels.csv")) == 2 * 8
    refusal = run_refused(run, "--plan", 2)
    assert refusal == f"{labels}: exists and may contain labels of people; name another file with --out"
    assert "is not a folder that takes files; make it" in run_refused(
        run, "--plan", 2, "--out", tmp_path / "none" / "plan.csv"
    )


def test_a_smaller_plan_is_the_start_of_a_larger_one(unfair_run: Path, tmp_path: Path) -> None:
    ten = make_plan(unfair_run, tmp_path / "ten.csv", 10)
    five = make_plan(unfair_run, tmp_path / "five.csv", 5)
    assert five == ten[: len(five)]
    again = make_plan(unfair_run, tmp_path / "again.csv", 10)
    assert again == ten
    others = make_plan(unfair_run, tmp_path / "others.csv", 10, "--seed", 1)
    assert {row["query_id"] for row in others} != {row["query_id"] for row in ten}


def test_a_plan_has_no_engines_ranks_or_verdicts(unfair_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    rows = make_plan(unfair_run, path, 120)
    assert list(rows[0]) == [
        "query_id",
        "query",
        "reference",
        "snippet_id",
        "title",
        "date",
        "snippet",
        "grade",
        "comment",
    ]
    text = path.read_text(encoding="utf-8-sig")
    for hidden in ("bing", "baidu", "it says", "rank", "http"):
        assert hidden not in text
    given = {(row["query_id"], row["query"], row["snippet"]) for row in make_unfair_rows(120)}
    assert {(row["query_id"], row["query"], row["snippet"]) for row in rows} == given
    assert all(re.fullmatch("'?[0-9a-f]{16}", row["snippet_id"]) for row in rows)
    given_by_nobody = "reference", "title", "date", "grade", "comment"
    assert {row[name] for row in rows for name in given_by_nobody} == {""}
    # The order within a query follows neither engines nor ranks nor grades.
    by_query: dict[str, list[str]] = {}
    for row in rows:
        by_query.setdefault(row["query_id"], []).append(row["snippet"])
    warm_first = sum("warm" in snippets[0] for snippets in by_query.values())
    top_first = sum(".1 " in snippets[0] for snippets in by_query.values())
    assert 45 <= warm_first <= 75
    assert 25 <= top_first <= 55


def test_a_bias_for_an_engine_is_detected_and_corrected(unfair_run: Path, tmp_path: Path) -> None:
    make_plan(unfair_run, tmp_path / "plan.csv", 60)
    text = run_agree(unfair_run, "--qrels", fill_plan(tmp_path / "plan.csv"))
    result = read_agreement(unfair_run)
    assert result["wholly_labelled_queries"] == 60
    assert result["engines"]["bing"]["bias"] == {"value": 0, "ci95": [0, 0]}
    assert result["engines"]["baidu"]["bias"] == {"value": 1, "ci95": [1, 1]}
    assert (result["widest_gap"]["favoured"], result["widest_gap"]["other"]) == ("baidu", "bing")
    assert "The assessor favours baidu over bing" in text
    summary = read_summary(unfair_run)
    (alone,) = [row for row in summary["comparisons"] if row["measure"] == "nDCG@3"]
    assert alone["winner"] == "baidu"
    (pair,) = result["calibration"]["nDCG@3"]["comparisons"]
    assert (pair["a"], pair["b"], pair["outcome"]) == ("baidu", "bing", "reversed")
    assert pair["corrected"] < 0 < pair["assessor"]
    assert pair["ci95"][1] < 0
    assert result["calibration"]["nDCG@3"]["warnings"] == []
    assert "reversed" in text
    assert "People's labels reverse the assessor's order. By their labels: bing > baidu" in text
    assert result["orders"]["nDCG@3"]["swapped"] == [["bing", "baidu"]]
    text = run_agree(unfair_run, "--qrels", tmp_path / "plan.csv", "--measure", "P@3")
    assert "P@3 by people's grades on all 120 queries, estimated from the 60 queries" in text
    assert "This holds if the labelled queries were drawn at random" in text
    text = run_agree(unfair_run, "--qrels", unfair_run / "qrels.txt")
    assert "nDCG@3 by people's grades on all 120 queries, which they labelled:" in text
    assert "estimated" not in text
    assert "drawn at random" not in text


def test_what_shows_no_text_is_neither_drawn_nor_missed(tmp_path: Path) -> None:
    """On each query one snippet is empty, on half of them both are; they cannot be labelled."""
    rows = [
        {
            "query_id": f"q{query:02}", "query": f"question {query}", "engine": engine,
            "snippet": f"{query} grade={query % 4}" if engine == "a" and query % 2 else "",
        }
        for query in range(20) for engine in "ab"
    ]  # fmt: skip
    run = tmp_path / "runs" / "x"
    with LoopbackServer(reply_with_grade) as server:
        completed = run_judge(*make_words(write_rows(tmp_path / "d.jsonl", rows), server), "--out", run)
    assert completed.returncode == 0, completed.stderr
    path = tmp_path / "plan.csv"
    assert "cannot draw a plan of 11 queries: the run has 10 to label" in run_refused(
        run, "--plan", 11, "--out", path
    )
    printed = make_plan(run, path, 10)
    assert len(printed) == 10
    assert all(row["snippet"] for row in printed)
    output = run_agree(run, "--qrels", fill_plan(path))
    result = read_agreement(run)
    assert (result["pairs"], result["wholly_labelled_queries"], result["unlabelled_pairs"]) == (10, 10, 0)
    assert (result["queries_to_label"], result["queries_without_text"], result["empty_pairs"]) == (10, 10, 20)
    order = result["orders"]["P@5"]
    assert (order["queries"], order["people"]) == (10, order["assessor"])
    assert "Pairs without text count as grade 0 on both sides: 20." in output


def test_few_labelled_queries_give_no_correction_or_a_warning(unfair_run: Path, tmp_path: Path) -> None:
    make_plan(unfair_run, tmp_path / "ten.csv", 10)
    text = run_agree(unfair_run, "--qrels", fill_plan(tmp_path / "ten.csv"))
    assert "No correction of nDCG@3" in text
    assert "needs 20" in text
    assert set(read_agreement(unfair_run)["calibration"]["P@3"]) == {"why"}
    make_plan(unfair_run, tmp_path / "thirty.csv", 30)
    text = run_agree(unfair_run, "--qrels", fill_plan(tmp_path / "thirty.csv"))
    (warning,) = read_agreement(unfair_run)["calibration"]["P@3"]["warnings"]
    assert "only 30 labelled queries" in warning
    assert "fewer than 50" in text


def write_trec(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines))
    return path


def test_two_files_of_grades_need_no_run(tmp_path: Path) -> None:
    assessor = write_trec(tmp_path, "gpt.qrels", "q1 0 a 3", "q1 0 b 0", "q2 0 a 2", "q2 0 c 0")
    people = write_trec(tmp_path, "human.qrels", "q1 0 a 2", "q1 0 b 0", "q2 0 a 1", "q2 0 c 0", "q3 0 d 1")
    text = run_agree(assessor, "--qrels", people)
    assert "4 pairs of 2 queries have a grade from people (0 to 3) and one from gpt.qrels" in text
    assert "people's grades are those of human.qrels, and the assessor's those of gpt.qrels" in text
    assert "human.qrels \\ gpt.qrels" in text
    (tmp_path / "people").mkdir()
    same_name = shutil.copy(people, tmp_path / "people" / assessor.name)
    text = run_agree(assessor, "--qrels", same_name)
    assert f"people's grades are those of {same_name}, and the assessor's those of {assessor}." in text
    assert "Labels that match no pair of this run are ignored: 1." in text
    assert "tau-ap" not in text
    assert not list(tmp_path.glob("agreement.json"))
    runs = [
        write_trec(tmp_path, "one.run", "q1 Q0 a 2 9 one", "q1 Q0 b 1 8 one", "q2 Q0 x 1 7 one",
                   "q2 Q0 a 2 6 one", "q9 Q0 a 1 1 one"),
        write_trec(tmp_path, "two.run", "q1 Q0 b 1 9 two", "q2 Q0 a 1 7 two"),
    ]  # fmt: skip
    words = (assessor, "--qrels", people, "--run", runs[0], "--run", runs[1])
    content = json.loads(run_agree(*words, "--measure", "P@1", "--json"))
    assert list(content["orders"]) == ["P@1"]
    assert content["orders"]["P@1"]["people"] == {"one": 0.5, "two": 0}
    assert content["orders"]["P@1"]["assessor"] == {"one": 0.5, "two": 0.5}
    text = run_agree(*words)
    assert "nDCG@10 on 2 queries" in text
    runs.append(write_trec(tmp_path, "three.run", "q1 Q0 b 1 9 three"))
    text = run_agree(assessor, "--qrels", people, "--run", *runs, "--complete")
    assert "(in brackets: how many): 'three' (1); with --complete, they count as empty lists" in text
    assert "nDCG@10 on 2 queries" in text
    turned = run_agree(assessor, "--qrels", people, "--run", runs[1], runs[0], "--json")
    assert turned == run_agree(*words, "--json")
    assert "no measure 'foo'" in run_refused(*words, "--measure", "foo")
    for option in (["--complete"], ["--depth", 5]):
        refusal = run_refused(assessor, "--qrels", people, *option)
        assert refusal == "--depth and --complete are for the engines of --run; add --run FILE, or omit them"
    assert "grade 2; the binary scale ends at 1" in run_refused(*words, "--labels-scale", "binary")


@check_each(
    ("broken", "line", "says"),
    [
        ("people", "q1 0 b good", "people:2: field 'grade' is 'good'"),
        ("assessor", "q1 0 b", "assessor:2: is 'q1 0 b'; labels are"),
        ("run", "q1 Q0 b 2 9", "run:2: the number of columns is 5"),
        ("run", "q1 Q0 b 2 high e", "run:2: field 'rank' is '2' and 'score' 'high'"),
        ("run", "q1 Q0 b 2 nan e", "run:2: field 'rank' is '2' and 'score' 'nan'; both are numbers"),
        ("run", "q1 Q0 b 2 1_0 e", "run:2: field 'rank' is '2' and 'score' '1_0'; both are numbers"),
        ("run", "q1 Q0 b ٣ 1 e", "run:2: field 'rank' is '٣' and 'score' '1'; both are numbers"),
        ("run", f"q1 Q0 b {'x' * 9999} 1 e", f"run:2: field 'rank' is '{'x' * 37}…' and 'score' '1'; both"),
        ("run", "q1 Q0 a 2 1 e", "run:2: document 'a' of topic 'q1' is also at"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, broken: str, line: str, says: str) -> None:
    lines = {"people": "q1 0 a 3", "assessor": "q1 0 a 3", "run": "q1 Q0 a 1 9 e"}
    files = {
        name: write_trec(tmp_path, name, first, *([line] if name == broken else []))
        for name, first in lines.items()
    }
    assert says in run_refused(files["assessor"], "--qrels", files["people"], "--run", files["run"])


def test_files_about_different_queries_have_nothing_to_compare(tmp_path: Path) -> None:
    files = [write_trec(tmp_path, "gpt", "q1 0 a 3"), write_trec(tmp_path, "human", "q2 0 a 3")]
    assert "gpt and human have no query in common" in run_refused(files[0], "--qrels", files[1])


def test_control_sequences_in_run_files_are_escaped(tmp_path: Path) -> None:
    grades = write_trec(tmp_path, "grades", "q1 0 a 3", "q2 0 a 0")
    tags = "\x1b[31mred", "[bold]x[/]", "[/odd]", "\u202eevil"
    runs = [write_trec(tmp_path, f"{at}.run", f"q1 Q0 a 1 1 {tag}") for at, tag in enumerate(tags)]
    output = run_agree(grades, "--qrels", grades, *(word for run in runs for word in ("--run", run)))
    assert "\x1b" not in output
    assert "\u202e" not in output
    for shown in ("\\x1b[31mred", "[bold]x[/]", "[/odd]", "\\x202eevil"):
        assert shown in output


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_rows_and_labels_never_changes_a_byte(
    graded_run: Path, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    sample = rng.sample(read_judgments(graded_run), 60)
    people = {each["snippet_id"]: rng.randrange(4) for each in sample}
    before = write_labels(tmp_path / "labels.csv", sample, lambda each: people[each["snippet_id"]])
    judge.agree(graded_run, before)
    expected = (graded_run / "agreement.json").read_bytes()
    rows = make_worded_rows()
    run = judge_by_lexical(tmp_path, "graded", rng.sample(rows, len(rows)))
    judge.agree(
        run, write_labels(before, rng.sample(sample, len(sample)), lambda each: people[each["snippet_id"]])
    )
    assert (run / "agreement.json").read_bytes() == expected


def test_a_plan_says_how_large_it_is_and_whether_it_is_enough(plain_run: Path, tmp_path: Path) -> None:
    text = run_agree(plain_run, "--plan", 3, "--out", tmp_path / "plan.csv")
    assert "plan.csv: 3 queries (24 pairs); fill in" in text
    assert (
        "Fewer than 20 labelled queries measure agreement, but do not correct the scores of engines." in text
    )


def write_plan_labels(path: Path, grade: Callable[[dict[str, str]], object]) -> Path:
    """Write the labels of a plan to a file of their own."""
    rows = [f"{row['query_id']},{row['snippet_id']},{grade(row)}\n" for row in read_plan(path)]
    target = path.with_name(f"labels-{path.name}")
    target.write_text("query_id,snippet_id,grade\n" + "".join(rows))
    return target


def test_labels_on_drawn_pairs_reverse_an_order_that_warmth_made(unfair_run: Path, tmp_path: Path) -> None:
    before = read_files(unfair_run)
    plan, second = tmp_path / "plan.csv", tmp_path / "second.csv"
    text = run_agree(
        unfair_run, "--plan-pairs", 150, "--engines", "bing", "baidu", "--measure", "P@3", "--out", plan
    )
    assert "150 pairs of" in text
    assert "to compare baidu with bing by P@3" in text
    assert len(read_plan(plan)) == 150
    assert set(read_plan(plan)[0]) == {
        *("query_id", "query", "reference", "snippet_id", "title", "date", "snippet", "grade", "comment")
    }
    queries = [row["query_id"] for row in read_plan(plan)]
    changes = sum(one != other for one, other in pairwise(queries))
    assert changes == len(set(queries)) - 1  # people read each query once
    design = json.loads((tmp_path / "plan.json").read_text())
    assert design["labels"] == 150 == sum(unit["drawn"] for unit in design["units"])
    assert sum(unit["probability"] for unit in design["units"]) == pytest.approx(150)
    # No list repeats another's snippets: each pair weighs a third, for or against baidu.
    assert {weight for unit in design["units"] for weight in unit["weights"]} == {1 / 3, -1 / 3}

    result = judge.decide_order(
        unfair_run, write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"])), plan
    )
    truth = [
        (read_stated_grade(row["snippet"]) >= "2") * (1 if row["engine"] == "baidu" else -1)
        for row in make_unfair_rows(120)
    ]
    (pair,) = result.comparisons
    assert (pair.a, pair.b, pair.labelled, pair.unlabelled) == ("baidu", "bing", 150, 0)
    assert pair.difference is not None
    assert pair.assessor > 0 > pair.difference
    assert pair.ci95
    assert pair.ci95[0] < sum(truth) / 360 < pair.ci95[1] < 0
    assert pair.outcome == "reversed"
    assert result.warnings == ()

    labelled = write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"]))
    text = run_agree(unfair_run, "--qrels", labelled, "--plan", plan)
    assert "People's labels reverse the assessor's order. By their labels: bing > baidu" in text
    assert json.loads(run_agree(unfair_run, "--qrels", labelled, "--plan", plan, "--json")) == to_json(result)

    # A second sample makes the interval narrower; pairs of both samples are labelled once.
    words = ("--engines", "baidu", "bing", "--measure", "P@3", "--seed", 1)
    run_agree(unfair_run, "--half-width", 0.1, *words, "--out", second)
    more = write_plan_labels(second, lambda row: read_stated_grade(row["snippet"])).read_text().splitlines()
    both = tmp_path / "both.csv"
    both.write_text("\n".join(dict.fromkeys([*labelled.read_text().splitlines(), *more])) + "\n")
    later = judge.decide_order(unfair_run, both, [plan, second])
    assert later.comparisons[0].labelled > 150
    assert later.comparisons[0].ci95
    assert later.comparisons[0].ci95[0] < sum(truth) / 360 < later.comparisons[0].ci95[1]
    assert "each of 2 looks has 2.50% of the 5%: intervals are 97.50% intervals" in later.warnings[0]
    assert "made for 1 of these 2 rounds" in later.warnings[1]
    after = read_files(unfair_run)
    assert json.loads(after.pop("labelled_order.json")) == to_json(later)
    assert "by P@3: −0." in after.pop("report.html").decode()
    assert after.items() <= before.items()
    (unfair_run / "labelled_order.json").write_text('{"schema": 2, "measure": 7}')
    with pytest.raises(InputError, match="field 'measure' is 7"):
        finished_run.rewrite_report(unfair_run)
    (unfair_run / "labelled_order.json").unlink()
    finished_run.rewrite_report(unfair_run)


def test_drawn_pairs_without_a_label_are_bounded_and_too_few_are_refused(
    unfair_run: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.csv"
    run_agree(unfair_run, "--plan-pairs", 60, "--measure", "sDCG@3", "--out", plan)
    unsure = {row["snippet_id"] for row in read_plan(plan)[:5]}
    sure = write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"]))
    full = judge.decide_order(unfair_run, sure, [plan]).comparisons[0]
    partly = write_plan_labels(
        plan, lambda row: "?" if row["snippet_id"] in unsure else read_stated_grade(row["snippet"])
    )
    result = judge.decide_order(unfair_run, partly, [plan])
    (pair,) = result.comparisons
    assert (pair.labelled, pair.unlabelled) == (55, 5)
    assert pair.difference is not None
    assert pair.bounds
    assert pair.bounds[0] < pair.difference < pair.bounds[1]
    assert full.bounds == (full.difference, full.difference)
    assert pair.ci95
    assert full.ci95
    assert pair.ci95[1] - pair.ci95[0] > full.ci95[1] - full.ci95[0]
    assert result.warnings[0].endswith(
        "if you look at the result after each draw, each one, also the first, needs --rounds 2"
    )
    assert "5 drawn pairs have no label" in result.warnings[1]
    partly.write_text(partly.read_text() + "q1,nothing,1\nq2,nowhere,1\n")
    warnings = judge.decide_order(unfair_run, partly, [plan]).warnings
    assert any("ignored: 2, the first is 'nothing' of query 'q1'" in warning for warning in warnings)
    few = write_plan_labels(
        plan, lambda row: read_stated_grade(row["snippet"]) if row["snippet_id"] in unsure else ""
    )
    assert "5 of 60 drawn pairs have a label" in run_refused(unfair_run, "--qrels", few, "--plan", plan)
    plan.write_bytes(sure.read_bytes())
    command = f"judge agree {unfair_run} --qrels {plan} --plan {plan}"
    assert f"are no random sample; for the order of the engines by these labels: {command}\n" in run_agree(
        unfair_run, "--qrels", plan
    )
    assert command not in run_agree(unfair_run, "--qrels", sure)


def test_a_run_of_one_engine_has_no_plan_of_pairs(tmp_path: Path) -> None:
    rows = [{"query": f"capital {number}", "snippet": "Paris"} for number in range(3)]
    run = tmp_path / "runs" / "x"
    run_judge("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "lexical", "--out", run)
    text = run_refused(run, "--plan-pairs", 60)
    assert text == ("pairs are drawn to compare two or more engines of the run ('engine'), not 'engine'")


def test_a_plan_of_pairs_that_cannot_be_is_refused(unfair_run: Path, plain_run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    for measure in ("nDCG@3", "AP@3", "RR@3", "ERR@3", "Success@3"):
        text = run_refused(unfair_run, "--plan-pairs", 60, "--measure", measure)
        assert f"{measure} is not a sum over ranks" in text
    assert "one of --plan N" in run_refused(unfair_run, "--plan-pairs", 60, "--half-width", 0.1)
    assert "not 'bing'" in run_refused(unfair_run, "--plan-pairs", 60, "--engines", "bing")
    assert "not 'bing' and 'yahoo'" in run_refused(
        unfair_run, "--plan-pairs", 60, "--engines", "bing", "yahoo"
    )
    assert "a plan of 49 pairs is too small" in run_refused(
        unfair_run, "--plan-pairs", 49, "--measure", "P@3"
    )
    assert "needs more queries" in run_refused(unfair_run, "--half-width", 0.001, "--measure", "P@3")
    for rounds in (51, 10**23):
        refused = run_refused(unfair_run, "--plan-pairs", 60, "--measure", "P@3", "--rounds", rounds)
        assert f"--rounds is '{rounds}'; it must be at most 50" in refused
    assert "--seed" in run_refused(unfair_run, "--plan-pairs", 60, "--seed", -1)
    assert "/.json: no such file" in run_refused(
        unfair_run, "--qrels", unfair_run / "qrels.txt", "--plan", "/"
    )
    assert not (unfair_run / "labels.csv").exists()
    run_agree(unfair_run, "--plan-pairs", 60, "--measure", "P@3", "--out", plan)
    assert "plan.json: exists" in run_refused(
        unfair_run, "--plan-pairs", 60, "--measure", "P@3", "--out", plan
    )
    labelled = write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"]))
    others = write_labels(tmp_path / "plain.csv", read_judgments(plain_run), lambda each: each["grade"])
    assert "plan.json: engines is ('baidu', 'bing'), but it must name" in run_refused(
        plain_run, "--qrels", others, "--plan", plan
    )
    assert "are not rounds of one draw" in run_refused(
        unfair_run, "--qrels", labelled, "--plan", plan, "--plan", plan
    )


@check_each(
    ("words", "line"),
    [
        (
            ("--plan", 2, "--measure", "P@3", "--labels-scale", "graded", "--json", "--engines", "bing"),
            "RUN --plan N takes --plan, --seed and --out, and not --engines, --labels-scale, --measure and"
            " --json",
        ),
        (
            ("--plan-pairs", 60, "--depth", 5, "--json"),
            "RUN --plan-pairs N takes --plan-pairs, --engines, --rounds, --seed, --out and --measure, and not"
            " --depth and --json",
        ),
        (
            ("--half-width", 0, "--complete"),
            "RUN --half-width W takes --half-width, --engines, --rounds, --seed, --out and --measure, and not"
            " --complete",
        ),
        (
            ("--qrels", "labels", "--seed", 0, "--depth", 5),
            "RUN --qrels FILE takes --qrels, --labels-scale, --measure and --json, and not --seed"
            " and --depth",
        ),
        (
            ("--qrels", "labels", "--plan", "plan", "--measure", "P@3"),
            "RUN --qrels FILE --plan PLAN takes --qrels, --plan, --labels-scale and --json, and not"
            " --measure",
        ),
    ],
)
def test_an_option_that_a_form_of_the_command_does_not_take_is_refused(
    unfair_run: Path, words: tuple[object, ...], line: str
) -> None:
    assert run_refused(unfair_run, *words) == f"judge agree {line}; omit what it does not take"


@pytest.fixture(scope="module")
def design(unfair_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a plan of 60 pairs and its labels."""
    plan = tmp_path_factory.mktemp("design") / "plan.csv"
    run_agree(unfair_run, "--plan-pairs", 60, "--measure", "P@3", "--out", plan)
    write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"]))
    return plan


@check_each(
    "path, value, expected",
    [
        (["measure"], "nDCG@3", "measure is 'nDCG@3', but nDCG@3 is not a sum over ranks"),
        (["measure"], "P@5", "measure is 'P@5', but P@5 needs more ranks"),
        (["measure"], "P(rel=9)@3", "measure is 'P(rel=9)@3', but "),
        (["engines"], ["baidu", "baidu"], "engines is ('baidu', 'baidu')"),
        (["lists"], "x", "lists is 'x'"),
        (["queries", 0], "nobody", "queries is ('nobody', "),
        (["means"], [0.5], "means is (0.5,)"),
        (["rounds"], 0, "rounds is 0"),
        (["rounds"], 10**400, "rounds is 1000"),
        (["labels"], 0, "labels is 0, but 60 units are drawn"),
        (["labels"], -5, "labels is -5"),
        (["units", 3, "probability"], 0, "units[3].probability is 0"),
        (["units", 3, "probability"], 5e-324, "units[3].probability is 5e-324"),
        (["units", 3, "grade"], 10**9, "units[3].grade is 1000000000, but grades are from 0 to 3"),
        (["units", 3, "grade"], -1, "units[3].grade is -1"),
        (["units", 3, "query_id"], "nobody", "units[3] is ('nobody', "),
        (["units", 3, "weights"], [1e308], "units[3].weights is (1e+308,), but the lists give "),
        (["units", 3, "weights"], [], "units[3].weights is ()"),
        (["units"], [], "units is 0"),
    ],
)
def test_a_damaged_plan_is_refused_by_file_and_field(
    unfair_run: Path, design: Path, tmp_path: Path, path: list[Any], value: object, expected: str
) -> None:
    plan = tmp_path / "plan.csv"
    record = json.loads(design.with_suffix(".json").read_text())
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    plan.with_suffix(".json").write_text(json.dumps(record))
    result = run_refused(unfair_run, "--qrels", design.with_name("labels-plan.csv"), "--plan", plan)
    assert f"plan.json: {expected}" in " ".join(result.split())


def test_a_repeated_unit_is_refused(unfair_run: Path, design: Path, tmp_path: Path) -> None:
    record = json.loads(design.with_suffix(".json").read_text())
    record["units"][4] = record["units"][3]
    (tmp_path / "plan.json").write_text(json.dumps(record))
    words = ("--qrels", design.with_name("labels-plan.csv"), "--plan", tmp_path / "plan.csv")
    assert "plan.json: units[4] is (" in run_refused(unfair_run, *words)


def test_several_engines_are_compared_with_the_best_by_holm(tmp_path: Path) -> None:
    from statsmodels.stats.multitest import multipletests

    shares = {"best": 0.7, "good": 0.65, "fair": 0.55, "poor": 0.3}
    rng = random.Random(3)
    rows = list_rows(
        {
            f"q{query}": {
                engine: [
                    f"text {query}.{engine}.{rank} grade={3 * (rng.random() < share)}" for rank in (1, 2, 3)
                ]
                for engine, share in shares.items()
            }
            for query in range(50)
        }
    )
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(write_rows(tmp_path / "d.jsonl", rows), server)
        assert run_judge(*words, "--out", tmp_path / "run", "--depth", 3).returncode == 0
    outcomes = []
    for seed in range(3):
        plan = tmp_path / f"plan{seed}.csv"
        run_agree(
            tmp_path / "run",
            "--plan-pairs",
            100 + 40 * seed,
            "--seed",
            seed,
            "--measure",
            "P@3",
            "--out",
            plan,
        )
        result = judge.decide_order(
            tmp_path / "run", write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"])), [plan]
        )
        assert result.labels == 100 + 40 * seed
        assert {row.a for row in result.comparisons} == {"best"}
        p = [row.p for row in result.comparisons]
        # The best is chosen by the same queries: the three pairs that are not compared count, too.
        assert [row.p_adjusted for row in result.comparisons] == pytest.approx(
            multipletests([*p, 1, 1, 1], method="holm")[1][:3]
        )
        for row in result.comparisons:
            assert row.ci95
            assert row.p_adjusted is not None
            assert (row.ci95[0] > 0) == (row.p_adjusted < 0.05)
            outcomes.append((row.b, row.outcome))
    assert {("poor", "confirmed"), ("good", "open")} <= set(outcomes)


def run_on_lists(
    folder: Path,
    engines: Mapping[str, Callable[[int, int], str]],
    *words: object,
    reply: Callable[[ChatRequest], Reply] = reply_with_grade,
) -> Path:
    """Make a run over 40 queries; `engines` return the text at a query and a rank."""
    rows = list_rows(
        {
            f"q{query}": {name: [text(query, rank) for rank in (1, 2, 3)] for name, text in engines.items()}
            for query in range(40)
        }
    )
    with LoopbackServer(reply) as server:
        to_ask = make_words(write_rows(folder / "d.jsonl", rows), server)
        assert run_judge(*to_ask, "--out", folder / "run", "--depth", 3, *words).returncode == 0
    return folder / "run"


def test_an_engine_with_the_lists_of_the_best_is_open_with_a_difference_of_0(tmp_path: Path) -> None:
    def make_good_text(query: int, rank: int) -> str:
        return f"text {query}.{rank} grade={3 * (query % 4 > 0)}"

    poor = {"poor": lambda query, rank: f"poor {query}.{rank} grade={3 * (query % 5 == 0)}"}
    run = run_on_lists(tmp_path, {"best": make_good_text, "copy": make_good_text, **poor})
    plan = tmp_path / "plan.csv"
    run_agree(run, "--plan-pairs", 80, "--measure", "P@3", "--out", plan)
    labelled = write_plan_labels(plan, lambda row: read_stated_grade(row["snippet"]))
    copy, other = judge.decide_order(run, labelled, [plan]).comparisons
    assert (copy.b, copy.difference, copy.bounds, copy.ci95, copy.outcome) == (
        "copy",
        0,
        (0, 0),
        None,
        "open",
    )
    assert other.outcome == "confirmed"
    assert "best - copy" in run_agree(run, "--qrels", labelled, "--plan", plan)


def test_labels_on_another_scale_have_the_unit_of_the_run(tmp_path: Path) -> None:
    """A yes is the label 3: with labels on all pairs, people and the assessor agree."""
    engines = {
        name: lambda query, rank, name=name, share=share: (
            f"{name} {query}.{rank} grade={int((7 * query + rank) % 10 < share)}"
        )
        for name, share in (("best", 7), ("poor", 3))
    }
    run = run_on_lists(
        tmp_path,
        engines,
        "--scale",
        "binary",
        reply=lambda request: Reply(
            text=json.dumps(
                {"verdict": "yes" if read_stated_grade(extract_fenced(request.prompt)) == "1" else "no"}
            )
        ),
    )
    plan = tmp_path / "plan.csv"
    run_agree(run, "--plan-pairs", 1000, "--measure", "DCG@3", "--out", plan)
    graded_run = write_plan_labels(plan, lambda row: 3 * int(read_stated_grade(row["snippet"])))
    (pair,) = judge.decide_order(run, graded_run, [plan], "graded").comparisons
    assert pair.difference == pytest.approx(pair.assessor)


def test_unknown_texts_may_have_any_grade(tmp_path: Path) -> None:
    """On 10 of 30 queries a's result has no known text. On the others it is relevant, and b's never is."""
    rows = [
        {"query_id": f"q{query}", "query": "q", "engine": engine, "snippet": None if is_unknown else text}
        for query in range(30)
        for engine in "ab"
        for text, is_unknown in [(f"{engine} {query}", engine == "a" and query < 10)]
    ]
    run, plan = tmp_path / "run", tmp_path / "plan.csv"
    judge.run(rows, "lexical", min_coverage=0.5, out=str(run))
    run_agree(run, "--plan-pairs", 50, "--measure", "P@1", "--out", plan)
    people = write_plan_labels(plan, lambda row: 3 * (row["snippet"][0] == "a"))
    result = judge.decide_order(run, people, plan)
    (pair,) = result.comparisons
    assert (pair.a, pair.labelled, pair.unlabelled) == ("a", 50, 10)
    assert pair.bounds == pytest.approx((20 / 30, 1))
    assert "the intervals: 10" in " ".join(result.warnings)


@check_each(
    ("queries", "reason"),
    [
        (4, "a, b: undecided, because people's labels differ on 4 queries, and an order needs 6"),
        (
            7,
            "a, b: undecided, although every pair that can change their difference has a label: only more"
            " queries can decide the order",
        ),
    ],
)
def test_an_open_order_has_a_reason_where_more_labels_do_not_help(
    queries: int, reason: str, tmp_path: Path
) -> None:
    rows = list_rows(
        {f"q{number}": {"a": (f"a {number}",), "b": (f"b {number}",)} for number in range(queries)}
    )
    run, plan = tmp_path / "run", tmp_path / "plan.csv"
    judge.run(rows, "lexical", out=str(run))
    run_agree(run, "--plan-pairs", 50, "--measure", "P@1", "--out", plan)
    # People prefer a and b in turn.
    people = write_plan_labels(
        plan, lambda row: 3 * ((row["snippet"][0] == "a") == int(row["query_id"][1:]) % 2)
    )
    assert reason in run_agree(run, "--qrels", people, "--plan", plan)
